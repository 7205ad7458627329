//! The slow log: the calls that a slow request is in.

use rustix::process::Signal;
use testkit::Server;

use super::BOTH;
use crate::front::metric;
use crate::support::{eventually, ok, one_worker};

const APP: &str = r#"final class Report {
    public static function make(callable $work): void { $work(); }
    public function read(): void {
        usleep(600000);
    }
}
function compute(): void {
    for ($end = microtime(true) + 0.6; microtime(true) < $end;) { $x = sqrt(2); }
}
return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/waits': Report::make([new Report(), 'read']); break;
        case '/computes': Report::make('compute'); break;
        case '/fiber': (new Fiber(fn () => (new Report())->read()))->start(); break;
        case '/children': Hearth\parallel([fn () => usleep(600000), fn () => (new Report())->read()]); break;
        case '/generator': foreach ((function () { yield 1; usleep(600000); })() as $x); break;
    }
    return 'ok';
};"#;

/// The line about this path, unfolded.
#[track_caller]
fn logged_trace(server: &Server, path: &str) -> String {
    let line = server.expect_log(&format!("route={path} "));
    assert!(
        line.contains(" WARN worker[0]: request is slow: at "),
        "{line}"
    );
    let line = line
        .replace("\\n", "\n")
        .replace(&format!("{}/", server.directory().display()), "");
    without_closures_places(line)
}

/// PHP 8.4 says where a closure is, and for one inside another that of both.
fn without_closures_places(mut text: String) -> String {
    const MARK: &str = "\u{1}";
    while let Some(at) = text.rfind("{closure:") {
        let end = at + text[at..].find('}').expect("its end");
        text.replace_range(at..=end, MARK);
    }
    text.replace(MARK, "{closure}")
}

#[test]
fn the_log_has_the_calls_that_a_slow_request_is_in() {
    for dispatch in BOTH {
        let server = one_worker(APP)
            .args(["--dispatch", dispatch, "--slow-after", "0.2"])
            .args(["--admin", "127.0.0.1:0"])
            .start();
        ok(&server.get("/quick"));
        for (path, expected) in [
            (
                "/waits",
                "app.php(4)|#0 app.php(4): usleep()|#1 app.php(2): Report->read()|#2 app.php(12): Report::make()|#3 [internal function]: {closure}()|#4 {main}",
            ),
            (
                "/computes",
                "app.php(8)|: compute()|: Report::make()|{main}",
            ),
            (
                "/fiber",
                "app.php(4)|: usleep()|: Report->read()|: {closure}()|: Fiber->start()|{main}",
            ),
            ("/generator", "app.php(16)|: usleep()|: {closure}()|{main}"),
            (
                "/children",
                "Hearth\\parallel()|Task beside it: |app.php(15): usleep()|app.php(4): usleep()",
            ),
        ] {
            ok(&server.get(&format!("{path}?secret=1")));
            let trace = logged_trace(&server, path);
            let mut rest = trace.as_str();
            for part in expected.split('|') {
                let at = rest
                    .find(part)
                    .unwrap_or_else(|| panic!("no {part} in {trace}"));
                rest = &rest[at + part.len()..];
            }
            assert!(
                trace.contains("method=GET") && !trace.contains("secret"),
                "{trace}"
            );
            assert!(rest.contains(" request="), "{trace}");
        }
        assert_eq!(metric(&server, "hearth_slow_total"), 5);
        let logged = server.log().text().matches("request is slow").count();
        assert_eq!(logged, 5, "each once");
        server.stop();
    }
}

/// As php-fpm's `slowlog`; what rotates logs renames it.
#[test]
fn it_may_be_a_file_of_its_own() {
    let server = Server::script(APP)
        .args(["--workers", "1", "--slow-after", "0.2"])
        .args(["--slow-file", "slow.log"])
        .start();
    let file = server.directory().join("slow.log");
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    ok(&server.get("/waits?secret=1"));
    let text = read().replace(&format!("{}/", server.directory().display()), "");
    let (event, calls) = text.split_once('\n').expect("lines");
    let (_, event) = event.split_once(' ').expect("a time");
    assert!(
        event.starts_with(
            "WARN worker[0]: request is slow: at app.php(4) method=GET route=/waits seconds=0."
        ) && event.contains(" request="),
        "{text}"
    );
    assert!(
        calls.starts_with("#0 app.php(4): usleep()\n#1 ") && calls.ends_with("#4 {main}\n\n"),
        "{text}"
    );
    assert!(!server.log().text().contains("is slow"));
    std::fs::rename(&file, file.with_extension("old")).expect("it can be renamed");
    server.signal(Signal::USR1);
    eventually("it is opened again", || file.exists());
    ok(&server.get("/waits"));
    assert_eq!(read().matches("request is slow").count(), 1, "{}", read());
    server.stop();
}

/// Told at the start, not when the first request is slow.
#[test]
fn a_slow_log_that_cannot_be_written_is_told() {
    let refused = Server::script(APP)
        .args(["--slow-after", "1", "--slow-file", "none/slow.log"])
        .try_start()
        .expect_err("no such folder")
        .log;
    assert!(
        refused.contains("cannot write the slow log to ")
            && refused.contains("none/slow.log: No such file or directory"),
        "{refused}"
    );
}

#[test]
fn a_classic_script_too() {
    let server = Server::app("www")
        .args(["--workers", "1", "--slow-after", "0.2"])
        .file("www/index.php", "<?php\ninclude 'slow.inc.php';")
        .file(
            "www/slow.inc.php",
            "<?php\nfunction slow() {\n    usleep(600000);\n}\nslow();",
        )
        .file(
            "www/loop.php",
            "<?php\n$end = microtime(true) + 0.6;\nwhile (microtime(true) < $end) { $x = 1; }",
        )
        .start();
    server.get("/?a");
    let trace = logged_trace(&server, "/");
    let calls = "#0 www/slow.inc.php(3): usleep()\n#1 www/slow.inc.php(5): slow()\n#2 www/index.php(2): include()\n#3 {main}";
    assert!(
        trace.contains("at www/slow.inc.php(3) ") && trace.contains(calls),
        "{trace}"
    );
    server.get("/loop.php");
    let trace = logged_trace(&server, "/loop.php");
    assert!(trace.contains("at www/loop.php(3) "), "{trace}");
    server.stop();
}

/// No interrupt is taken there: another thread looks, and the line about the request follows.
#[test]
fn a_long_call_of_an_extension_is_told_while_it_runs() {
    std::thread::scope(|scope| {
        for classic in [true, false] {
            scope.spawn(move || is_logged_while_it_runs(classic));
        }
    });
}

fn is_logged_while_it_runs(classic: bool) {
    // It ends by itself only after minutes: all of it is one call. (PHP 8.4 calls preg_match() without a frame.)
    const CODE: &str = "function find(): void { preg_match_all('/^(a+)+$/', str_repeat('a', 40) . 'b'); }\n\
        ini_set('pcre.jit', '0'); ini_set('pcre.backtrack_limit', '1000000000');\n";
    let server = match classic {
        true => Server::app("site").file("site/index.php", format!("<?php {CODE} find();")),
        false => Server::script(&format!("{CODE} return fn () => find();")),
    };
    let server = server
        .args(["--workers", "1", "--slow-after", "0.2"])
        .args(["--request-timeout", "3", "--request-grace", "0.1"])
        .start();
    let mut client = server.connect();
    client.send("GET /long?key=secret HTTP/1.1\r\nHost: x\r\n\r\n");
    let line = server.expect_log("request is slow, inside one call: at ");
    for part in [
        " WARN worker[0]: ",
        ".php(1)",
        ": preg_match_all()",
        ": find()",
        " request=",
    ] {
        assert!(line.contains(part), "no {part} in {line}");
    }
    assert!(!line.contains("secret"), "{line}");
    let end = server.expect_log("a request still computes");
    assert!(end.contains(": preg_match_all()"), "{end}");
    server.stop();
}
