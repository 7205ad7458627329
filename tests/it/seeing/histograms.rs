//! How long requests took, in `/metrics`.

use testkit::Server;

use super::BOTH;
use crate::support::{admin, eventually, example, hearth, ok, one_worker, until_handled};

const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/slow/1': usleep(30000); break;
        case '/gone': return new Hearth\Response('gone', 410);
        case '/wait': sleep(20);
    }
    return 'ok';
};"#;

/// A number of the histograms.
#[track_caller]
fn number(page: &str, series: &str) -> f64 {
    let prefix = format!("hearth_request_seconds_{series} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&prefix));
    let value = value.unwrap_or_else(|| panic!("no {prefix} in {page}"));
    value.parse().expect("a number")
}

#[test]
fn times_are_counted_by_pattern_and_class() {
    for dispatch in BOTH {
        let server = one_worker(APP)
            .args(["--dispatch", dispatch, "--admin", "127.0.0.1:0"])
            .args(["--metrics-route", "/slow/{n}", "--metrics-route", "/api/*"])
            .start();
        for target in ["/slow/1", "/slow/2?x", "/api/a/b", "/gone", "/other"] {
            server.get(target);
        }
        let mut leaves = server.connect();
        leaves.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        drop(leaves);
        let mut page = String::new();
        eventually("all are counted", || {
            page = ok(&admin(&server, "/metrics"));
            page.contains("class=\"aborted\"")
        });
        let slow = r#"route="/slow/{n}",class="2xx""#;
        assert_eq!(number(&page, &format!("count{{{slow}}}")), 2.0);
        assert_eq!(
            number(&page, &format!("bucket{{{slow},le=\"0.025\"}}")),
            1.0
        );
        assert_eq!(number(&page, &format!("bucket{{{slow},le=\"+Inf\"}}")), 2.0);
        let sum = number(&page, &format!("sum{{{slow}}}"));
        assert!((0.03..2.0).contains(&sum), "{sum}");
        for (series, count) in [
            (r#"count{route="/api/*",class="2xx"}"#, 1.0),
            (r#"count{route="other",class="2xx"}"#, 1.0),
            (r#"count{route="other",class="4xx"}"#, 1.0),
            (r#"count{route="other",class="aborted"}"#, 1.0),
        ] {
            assert_eq!(number(&page, series), count, "{dispatch}: {series}");
        }
        server.stop();
    }
}

#[test]
fn the_routes_of_the_guide() {
    let routes = example("docs/guide/monitoring.md", "routes");
    let server = Server::script(APP)
        .file("hearth.toml", routes)
        .args(["--admin", "127.0.0.1:0"])
        .start();
    for target in ["/", "/blog/a", "/api/b/c", "/d"] {
        server.get(target);
    }
    for route in ["/", "/blog/{slug}", "/api/*", "other"] {
        let one = format!("hearth_request_seconds_count{{route=\"{route}\",class=\"2xx\"}} 1\n");
        eventually(&one, || ok(&admin(&server, "/metrics")).contains(&one));
    }
    server.stop();
}

#[test]
fn counts_outlive_a_reload() {
    for dispatch in BOTH {
        let server = one_worker(APP)
            .args(["--dispatch", dispatch, "--admin", "127.0.0.1:0"])
            .start();
        ok(&server.get("/"));
        let output = hearth(&server, &["reload", "app.php"]);
        assert!(output.status.success(), "{output:?}");
        ok(&server.get("/"));
        let both = r#"hearth_request_seconds_count{route="other",class="2xx"} 2"#;
        eventually("both are counted", || {
            ok(&admin(&server, "/metrics")).contains(both)
        });
        server.stop();
    }
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    for (pattern, why) in [
        ("blog", "does not begin with /"),
        ("/a*", "has {name} for a whole part, or * at its end"),
        ("/*/b", "has {name} for a whole part, or * at its end"),
        ("/{}", "has {name} for a whole part, or * at its end"),
    ] {
        let stopped = Server::script(APP)
            .args(["--metrics-route", pattern])
            .try_start();
        let stopped = stopped.expect_err("it ends");
        assert!(stopped.log.contains(why), "{}", stopped.log);
        assert_eq!(stopped.status.code(), Some(2));
    }
}
