//! A request that killed two workers is not run a third time, and no other request pays for it.

use testkit::{Server, ServerBuilder};

use crate::front::metric;
use crate::support::{UNTIL_GO, hearth, let_go, ok, until_handled};

const APP: &str = r#"
return function (Hearth\Request $request) {
    if ($request->body() === 'die' || $request->path === '/segv' || $request->cookie('user') === 'die') {
        posix_kill(getmypid(), SIGSEGV);
        posix_kill(getmypid(), SIGSEGV);
    }
    switch ($request->path) {
        case '/kill': posix_kill(getmypid(), SIGKILL); break;
        case '/slow': UNTIL_GO return 'slow done';
        case '/sent':
            if (!file_exists('killed')) { touch('killed'); posix_kill(getmypid(), SIGKILL); }
            return 'survived';
    }
    return 'fine';
};"#;

fn app() -> ServerBuilder {
    Server::script(&APP.replace("UNTIL_GO", UNTIL_GO)).args(["--admin", "127.0.0.1:0"])
}

/// Its status; 0 if the connection broke.
fn request(server: &Server, head: &str, body: &str) -> u16 {
    let mut client = server.connect();
    let length = body.len();
    client.send(format!(
        "{head} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}"
    ));
    client.try_response(false).map_or(0, |found| found.status)
}

fn deaths(server: &Server) -> usize {
    server.log().text().matches(" was killed by ").count()
}

#[test]
fn a_request_that_killed_two_workers_is_not_run_a_third_time() {
    let server = app().args(["--workers", "1"]).start();
    let secret = "GET /segv?token=hunter2";
    assert_eq!(
        [request(&server, secret, ""), request(&server, secret, "")],
        [0, 0]
    );
    let line = server.expect_log("request is refused for 60 s: it has killed two workers");
    assert!(
        line.contains(" ERROR supervisor: ")
            && line.contains("method=GET route=/segv hash=")
            && line.contains("signal=SIGSEGV"),
        "{line}"
    );
    for _ in 0..5 {
        let mut client = server.connect();
        client.send(format!(
            "{secret} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        ));
        let refused = client.response();
        assert_eq!(refused.status, 503, "{}", refused.text());
        let seconds = refused.header("retry-after").map(str::parse::<u64>);
        assert!(matches!(seconds, Some(Ok(50..=60))), "{seconds:?}");
        assert_eq!(ok(&client.get("/")), "fine", "the connection goes on");
    }
    assert_eq!(deaths(&server), 2);
    assert_eq!(metric(&server, "hearth_quarantined_total"), 5);
    // New code may well have mended it.
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    assert_eq!(request(&server, secret, ""), 0);
    let stopped = server.stop();
    assert!(!stopped.log.contains("hunter2"), "{}", stopped.log);
}

/// What was only in flight beside it is not to blame, nor is another request of the same route.
#[test]
fn requests_beside_and_like_one_that_killed_workers_are_run() {
    let server = app().args(["--workers", "1"]).start();
    for _ in 0..3 {
        let mut waits = server.connect();
        waits.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        let mut post = server.connect();
        post.send("GET / HTTP/1.1\r\nHost: x\r\nCookie: user=die\r\n\r\n");
        let _ = post.try_response(false);
        if deaths(&server) == 2 {
            break;
        }
    }
    server.expect_log("it has killed two workers method=GET route=/ hash=");
    assert_eq!(ok(&server.get("/")), "fine");
    let_go(&server);
    assert_eq!(ok(&server.get("/slow")), "slow done");
    server.stop();
}

#[test]
fn behind_the_front_it_is_tried_on_two_workers_and_no_more() {
    let server = app().args(["--workers", "3", "--concurrency", "1"]).start();
    for (target, signal) in [("GET /segv", "SIGSEGV"), ("GET /kill", "SIGKILL")] {
        let before = deaths(&server);
        assert_eq!(request(&server, target, ""), 502);
        server.expect_log(&format!("signal={signal}"));
        assert_eq!(request(&server, target, ""), 503);
        assert_eq!(deaths(&server) - before, 2);
    }
    assert_eq!(ok(&server.get("/")), "fine");
    server.stop();
}

#[test]
fn behind_the_front_another_body_is_another_request() {
    let server = app().args(["--workers", "2", "--concurrency", "1"]).start();
    for _ in 0..2 {
        assert_eq!(request(&server, "POST /form", "die"), 502);
    }
    server.expect_log("method=POST route=/form hash=");
    assert_eq!(request(&server, "POST /form", "die"), 503);
    assert_eq!(request(&server, "POST /form", "did"), 200);
    assert_eq!(deaths(&server), 2);
    server.stop();
}

#[test]
fn a_request_that_waited_for_its_turn_is_known_all_the_same() {
    let server = app()
        .args([
            "--workers",
            "1",
            "--concurrency",
            "1",
            "--dispatch",
            "direct",
        ])
        .start();
    for _ in 0..2 {
        let mut first = server.connect();
        first.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        let mut waits = server.connect();
        waits.send("GET /segv HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 2);
        let_go(&server);
        assert_eq!(ok(&first.response()), "slow done");
        assert!(waits.try_response(false).is_err());
        std::fs::remove_file(server.directory().join("go")).expect("it was made");
    }
    server.expect_log("it has killed two workers method=GET route=/segv hash=");
    server.stop();
}

/// A signal from outside hits what happens to compute: one that ends well after that was not the reason.
#[test]
fn a_request_that_ends_well_between_two_deaths_is_not_to_blame() {
    let server = app().args(["--workers", "1"]).start();
    for _ in 0..3 {
        assert_eq!(request(&server, "GET /sent", ""), 0);
        assert_eq!(ok(&server.get("/sent")), "survived");
        assert_eq!(request(&server, "GET /sent", ""), 200);
        std::fs::remove_file(server.directory().join("killed")).expect("it was made");
    }
    assert_eq!(deaths(&server), 3);
    assert_eq!(metric(&server, "hearth_quarantined_total"), 0);
    server.stop();
}

#[test]
fn a_page_of_a_classic_site_that_kills_workers_is_refused_and_others_are_not() {
    for dispatch in ["balanced", "direct"] {
        let server = Server::app("www")
            .args(["--workers", "1", "--dispatch", dispatch])
            .file("www/index.php", "<?php echo 'fine';")
            .file(
                "www/dies.php",
                "<?php for (;;) { posix_kill(getmypid(), SIGABRT); }",
            )
            .start();
        let expected = if dispatch == "balanced" { 502 } else { 0 };
        for _ in 0..2 {
            assert_eq!(
                request(&server, "POST /dies.php", ""),
                expected,
                "{dispatch}"
            );
        }
        server.expect_log("method=POST route=/dies.php hash=");
        assert_eq!(request(&server, "POST /dies.php", ""), 503, "{dispatch}");
        assert_eq!(ok(&server.get("/")), "fine");
        server.stop();
    }
}
