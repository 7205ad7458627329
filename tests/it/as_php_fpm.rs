//! What a script may expect because php-fpm behind nginx does so: the same lines under it, of a classic site, and in a resident
//! handler, one request at a time and several.

use std::path::Path;

use testkit::http::{Client, Response};
use testkit::service::Fpm;
use testkit::{Server, ServerBuilder};

use crate::support::{eventually, ok, one_worker, until_handled};

const CASES: &str = r#"<?php
switch ($_GET['case']) {
    case 'length': header('Content-Length: 12345'); if ($_SERVER['REQUEST_METHOD'] !== 'HEAD') { echo str_repeat('x', 12345); } break;
    case 'echo': header('Content-Length: 4'); echo 'text'; break;
    case 'not-modified': http_response_code(304); break;
    case 'not-modified-typed': http_response_code(304); header('Content-Type: text/x'); header('ETag: "x"'); break;
    case 'untyped': header('Content-Type:'); header('X-Empty:'); echo 'untyped'; break;
    case 'charset': ini_set('default_charset', 'ISO-8859-1'); echo 'latin'; break;
    case 'plain': ini_set('default_mimetype', 'text/plain'); echo 'plain'; break;
    case 'binary': ini_set('default_mimetype', 'application/x-own'); echo 'binary'; break;
    case 'both': ini_set('default_mimetype', 'text/plain'); header('Content-Type: text/x-own; charset=x'); echo 'own'; break;
    case 'server': echo filter_input(INPUT_SERVER, 'REQUEST_METHOD'); break;
    case 'proxy': echo json_encode([$_SERVER['HTTP_PROXY'] ?? null, getenv('HTTP_PROXY')]); break;
    case 'flushed': header('X-Own: yes'); echo 'out'; flush(); echo implode(preg_grep('/^X-Own/', headers_list())); break;
    case 'autoload': echo json_encode(spl_autoload_functions()); break;
    case 'status': http_response_code(503); eval('class A {} class A {}');
    case 'waits': set_time_limit(1); usleep(1300000); echo 'slept'; break;
}
"#;

fn cases() -> impl Iterator<Item = &'static str> {
    let lines = CASES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("case '"));
    lines.filter_map(|line| line.split('\'').next())
}

fn without_blanks(text: &str) -> String {
    text.to_lowercase().replace(' ', "")
}

/// Status line, what of the fields is the script's, and the body. Of no length means in chunks, which is the server's to choose.
fn seen(response: &Response, is_head: bool) -> String {
    let own = ["content-type", "content-length", "etag", "x-empty", "x-own"];
    let own = own
        .iter()
        .filter(|name| is_head || **name != "content-length");
    let fields = own.filter_map(|name| Some((name, without_blanks(response.header(name)?))));
    // Of a 503 without a body the app of a resident server has a page that says so.
    format!(
        "{} {} {:?} {}",
        response.status,
        response.reason,
        fields.collect::<Vec<_>>(),
        response.text()
    )
}

fn request(address: &str, method: &str, case: &str) -> String {
    let mut client = Client::connect(address);
    client.send(format!(
        "{method} /cases.php?case={case} HTTP/1.1\r\nHost: localhost\r\nProxy: evil\r\n\r\n"
    ));
    let is_head = method == "HEAD";
    let response = client.try_response(is_head).expect("a response");
    seen(&response, is_head)
}

fn resident(root: &Path, concurrency: &str) -> ServerBuilder {
    let code = format!(
        "return function () {{ include '{}/cases.php'; }};",
        root.display()
    );
    Server::script(&code).args(["--concurrency", concurrency])
}

#[test]
fn a_response_is_that_of_php_fpm() {
    let root = testkit::document_root();
    std::fs::write(root.path().join("cases.php"), CASES).expect("a file can be written");
    let fpm = Fpm::start(root.path(), &[], "");
    let servers = [
        ("concurrent", resident(root.path(), "16")),
        ("one at a time", resident(root.path(), "1")),
        ("classic", Server::app(root.path())),
        (
            "classic, direct",
            Server::app(root.path()).args(["--dispatch", "direct"]),
        ),
    ];
    let servers = servers.map(|(name, server)| (name, server.args(["--workers", "2"]).start()));
    let mut differ = Vec::new();
    for (method, case) in cases().flat_map(|case| [("GET", case), ("HEAD", case)]) {
        if case == "waits" && method == "HEAD" {
            continue;
        }
        let expected = request(&fpm.address(), method, case);
        for (name, server) in &servers {
            let found = request(&server.address(), method, case);
            if found != expected {
                differ.push(format!(
                    "{name}, {method} {case}:\n  {found}\n  under php-fpm\n  {expected}"
                ));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    for (_, server) in servers {
        server.stop();
    }
}

/// Time that code computes, and not the time that it waits.
#[test]
fn set_time_limit_counts_what_computes() {
    let code = "return function ($request) {
        try {
            set_time_limit(1);
            for ($n = 0; $n < 8; $n++) {
                usleep(50000);
                for ($until = hrtime(true) + ($request->query('ms') * 1e6); hrtime(true) < $until;) {}
            }
            return 'done';
        } catch (Hearth\\TimeoutError $e) { return $e->getMessage(); }
    };";
    let server = one_worker(code).args(["--request-timeout", "30"]).start();
    assert_eq!(ok(&server.get("/?ms=20")), "done");
    assert_eq!(
        ok(&server.get("/?ms=400")),
        "Maximum execution time of 1 s exceeded (set_time_limit())"
    );
    server.stop();
}

#[test]
fn a_classic_script_that_computes_too_long_ends_as_under_php_fpm() {
    let server = Server::app("www")
        .args(["--workers", "1"])
        .file(
            "www/index.php",
            "<?php
            set_exception_handler(fn () => error_log('an exception'));
            register_shutdown_function(fn () => error_log('status ' . connection_status() . ' ' . error_get_last()['message']));
            set_time_limit(1);
            for (;;) {}",
        )
        .start();
    assert_eq!(server.get("/").status, 500);
    server.expect_log("status 2 Maximum execution time of 1 second exceeded");
    let stopped = server.stop();
    assert!(!stopped.log.contains("an exception"), "{}", stopped.log);
}

#[test]
fn ignore_user_abort_goes_on_without_its_client() {
    let code = "return function ($request) {
        if ($request->path === '/') { return 'fine'; }
        if ($request->path !== '/cancelled') { ignore_user_abort(true); }
        touch('begun');
        try {
            while (!file_exists('left')) { usleep(5000); clearstatcache(); }
            usleep(30000);
            if ($request->path === '/streamed') {
                for ($n = 0; $n < 20; $n++) { echo str_repeat('x', 100000); flush(); usleep(1000); }
            }
            file_put_contents('end', $request->path . ' aborted=' . connection_aborted());
        } catch (Hearth\\CancelledError) { file_put_contents('end', 'cancelled'); }
    };";
    for (path, expected) in [
        ("/plain", "/plain aborted="),
        ("/streamed", "/streamed aborted=1"),
        ("/cancelled", "cancelled"),
    ] {
        for dispatch in ["direct", "balanced"] {
            let server = one_worker(code).args(["--dispatch", dispatch]).start();
            let end = server.directory().join("end");
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
            until_handled(&server, 1);
            eventually("it has begun", || server.directory().join("begun").exists());
            drop(client);
            std::fs::write(server.directory().join("left"), "").expect("a file can be written");
            eventually("it has ended", || {
                std::fs::read_to_string(&end).is_ok_and(|text| !text.is_empty())
            });
            let text = std::fs::read_to_string(&end).expect("it has ended");
            assert!(text.starts_with(expected), "{path} {dispatch}: {text}");
            assert_eq!(ok(&server.get("/")), "fine");
            server.stop();
        }
    }
}

/// F7: the log once showed what lay behind the text in memory.
#[test]
fn the_log_shows_no_more_of_a_lost_text_than_there_is() {
    let code = "return function ($request) {
        $secret = 'password=' . str_repeat('hunter2 ', 26) . $request->query('n');
        unset($secret);
        echo 'ab';
        return 'x';
    };";
    let server = one_worker(code).start();
    for n in 0..20 {
        assert_eq!(ok(&server.get(&format!("/?n={n}"))), "x");
    }
    server.expect_log("Lost: ab ");
    let stopped = server.stop();
    assert!(!stopped.log.contains("unter2"), "{}", stopped.log);
}
