//! A line for each request, whatever becomes of it.

use serde_json::Value;
use testkit::{Server, ServerBuilder};

use super::{BOTH, lines, logged, occupied};
use crate::front::metric;
use crate::support::{eventually, let_go, ok, until_handled};

pub(super) const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/nap': usleep(100000); break;
        case '/compute': for ($end = microtime(true) + 0.05; microtime(true) < $end;); break;
        case '/until': while (!file_exists('go')) { usleep(5000); clearstatcache(); } break;
        case '/stream': return (function () { yield 'one'; usleep(50000); yield 'three'; })();
        case '/big': return str_repeat('x', 20 << 20);
        case '/fail': throw new Exception('no');
        case '/later': Hearth\defer(function () { usleep(200000); }); break;
    }
    return 'hello';
};"#;

pub(super) fn app(dispatch: &str) -> ServerBuilder {
    logged(Server::script(APP), dispatch, "access.log", "json")
}

/// The lines as values.
pub(super) fn values(server: &Server, count: usize) -> Vec<Value> {
    let lines = lines(server, "access.log", count);
    let parsed = lines.iter().map(|line| serde_json::from_str(line));
    parsed.map(|value| value.expect("JSON")).collect()
}

fn log_of(server: &Server) -> String {
    std::fs::read_to_string(server.directory().join("access.log")).expect("a log")
}

fn seconds(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn each_request_is_a_line_in_either_dispatch() {
    for dispatch in BOTH {
        let server = app(dispatch).args(["--admin", "127.0.0.1:0"]).start();
        let mut client = server.connect();
        let mut sent = Vec::new();
        client.post("/a?b=c", "text/plain", "12345");
        client.get("/fail");
        client.send("HEAD / HTTP/1.1\r\nHost: x\r\nUser-Agent: a \"b\"\r\n\r\n");
        client.response_to_head();
        assert_eq!(client.get("/stream").text(), "onethree");
        for refused in [
            "nonsense\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
        ] {
            let mut client = server.connect();
            client.send(refused);
            sent.push(client.response().body.len() as u64);
        }
        let lines = values(&server, 7);
        let facts = |line: &Value| {
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            let number = |key: &str| line[key].as_u64().expect("a number");
            let request = text("method") + &text("target") + &text("request_line");
            (
                request,
                number("status"),
                number("bytes_in"),
                number("bytes_out"),
            )
        };
        let expected = [
            ("POST/a?b=c", 200, 5, 5),
            ("GET/fail", 500, 0, 22),
            ("HEAD/", 200, 0, 0),
            ("GET/stream", 200, 0, 8),
            ("nonsense", 400, 0, sent[0]),
            ("GET/", 400, 0, sent[1]),
            ("CONNECTh:1", 405, 0, sent[2]),
        ];
        for (line, (request, status, received, sent)) in lines.iter().zip(expected) {
            assert_eq!(
                facts(line),
                (request.to_owned(), status, received, sent),
                "{dispatch}: {line}"
            );
            assert_eq!(
                (&line["client"], &line["complete"]),
                (&"127.0.0.1".into(), &true.into())
            );
        }
        assert_eq!(lines[2]["user_agent"], "a \"b\"");
        let failed = server.expect_log("Uncaught Exception: no");
        let id = lines[1]["request"].as_str().expect("an id");
        assert!(failed.ends_with(&format!("request={id}")), "{failed} {id}");
        assert_eq!(metric(&server, "hearth_bytes_in_total"), 5);
        let all = 5 + 22 + 8 + sent.iter().sum::<u64>();
        assert_eq!(metric(&server, "hearth_bytes_out_total"), all);
        server.stop();
    }
}

#[test]
fn a_line_says_where_the_time_went() {
    for dispatch in BOTH {
        let server = app(dispatch).start();
        let (mut first, mut second) = (server.connect(), server.connect());
        first.send("GET /nap HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        second.send("GET /compute HTTP/1.1\r\nHost: x\r\n\r\n");
        first.response();
        second.response();
        first.get("/stream");
        first.get("/later");
        let lines = values(&server, 4);
        let of = |target: &str| {
            lines
                .iter()
                .find(|line| line["target"] == target)
                .expect("a line")
        };
        let (nap, compute, stream, later) =
            (of("/nap"), of("/compute"), of("/stream"), of("/later"));
        assert!(
            seconds(nap, "php_seconds") >= 0.1 && seconds(nap, "cpu_seconds") < 0.05,
            "{nap}"
        );
        assert!(seconds(nap, "queue_seconds") < 0.05, "{nap}");
        let (queue, cpu) = (
            seconds(compute, "queue_seconds"),
            seconds(compute, "cpu_seconds"),
        );
        assert!(queue > 0.02 && cpu > 0.01, "{dispatch}: {compute}");
        assert!(
            seconds(compute, "seconds") >= queue + seconds(compute, "php_seconds"),
            "{compute}"
        );
        assert!(
            seconds(stream, "php_seconds") >= 0.05,
            "{dispatch}: {stream}"
        );
        assert!(
            seconds(later, "php_seconds") < 0.2,
            "{dispatch}: without what comes after: {later}"
        );
        server.stop();
    }
}

#[test]
fn a_client_that_leaves_has_a_line() {
    for dispatch in BOTH {
        let server = app(dispatch).start();
        let mut early = server.connect();
        early.send("GET /until HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        drop(early);
        let early = &values(&server, 1)[0];
        assert_eq!(
            (&early["status"], &early["bytes_out"]),
            (&499.into(), &0.into()),
            "{early}"
        );
        assert_eq!(early["complete"], false);
        let_go(&server);
        let mut late = server.connect();
        late.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
        late.head().expect("a head");
        drop(late);
        let late = &values(&server, 2)[1];
        let sent = late["bytes_out"].as_u64().expect("a number");
        assert!(late["status"] == 200 && late["complete"] == false, "{late}");
        assert!((1..20 << 20).contains(&sent), "{late}");
        server.stop();
    }
}

#[test]
fn a_request_for_which_there_is_no_worker_has_a_line() {
    for dispatch in BOTH {
        let server = app(dispatch).args(["--queue", "0"]).start();
        let mut busy = occupied(&server, "/until");
        assert_eq!(server.get("/too-many").status, 503);
        eventually("it has a line", || log_of(&server).contains("/too-many"));
        let log = log_of(&server);
        let line = log.lines().find(|line| line.contains("/too-many"));
        let refused: Value = serde_json::from_str(line.expect("found")).expect("JSON");
        assert_eq!(
            (&refused["status"], &refused["target"]),
            (&503.into(), &"/too-many".into())
        );
        assert_eq!(seconds(&refused, "php_seconds"), 0.0, "{refused}");
        let_go(&server);
        ok(&busy.response());
        server.stop();
    }
}

#[test]
fn a_connection_that_is_turned_away_has_a_line() {
    for dispatch in BOTH {
        let server = app(dispatch)
            .args(["--max-connections-per-address", "1"])
            .start();
        let _first = server.connect();
        let mut second = server.connect();
        assert_eq!(second.response().status, 503);
        let line = &values(&server, 1)[0];
        assert_eq!(
            (&line["status"], &line["request_line"]),
            (&503.into(), &"".into())
        );
        server.stop();
    }
}

#[test]
fn files_of_a_site_have_lines_as_nginx_writes_them() {
    let time = r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]";
    let time = regex::Regex::new(time).expect("valid");
    for dispatch in BOTH {
        let server = Server::app("www")
            .args(["--workers", "1", "--dispatch", dispatch])
            .args(["--access-log", "access.log"])
            .file("www/index.php", "<?php echo 'hello';")
            .file("www/a.txt", "twelve bytes")
            .file("www/.env", "secret")
            .start();
        let mut client = server.connect();
        let fields = [
            "Referer: http://h/\r\nUser-Agent: it",
            "Range: bytes=0-3",
            "If-None-Match: *",
        ];
        for field in fields {
            client.send(format!("GET /a.txt HTTP/1.1\r\nHost: x\r\n{field}\r\n\r\n"));
            client.response();
        }
        for target in ["/.env", "/a.php?x=\"y\"", "/%zz"] {
            client.get(target);
        }
        let lines = lines(&server, "access.log", 6);
        let timeless = lines
            .iter()
            .map(|line| time.replace(line, "[]").into_owned());
        let forbidden = server.get("/.env").body.len();
        let malformed = server.get("/%zz").body.len();
        assert_eq!(
            timeless.collect::<Vec<_>>(),
            [
                r#"127.0.0.1 - - [] "GET /a.txt HTTP/1.1" 200 12 "http://h/" "it""#.to_owned(),
                r#"127.0.0.1 - - [] "GET /a.txt HTTP/1.1" 206 4 "-" "-""#.to_owned(),
                r#"127.0.0.1 - - [] "GET /a.txt HTTP/1.1" 304 0 "-" "-""#.to_owned(),
                format!(r#"127.0.0.1 - - [] "GET /.env HTTP/1.1" 403 {forbidden} "-" "-""#),
                r#"127.0.0.1 - - [] "GET /a.php?x=\x22y\x22 HTTP/1.1" 200 5 "-" "-""#.to_owned(),
                format!(r#"127.0.0.1 - - [] "GET /%zz HTTP/1.1" 400 {malformed} "-" "-""#),
            ],
            "{dispatch}"
        );
        server.stop();
    }
}
