//! What background work and broken requests change of their process.

use crate::support::{UNTIL_GO, let_go, ok, one_worker, until_handled};

/// A fatal error and the end of background work put back too what they have changed.
#[test]
fn what_background_work_and_a_broken_request_change_of_the_process_is_put_back() {
    let server = one_worker(
        &r#"function change() { pcntl_signal(SIGUSR2, SIG_IGN); }
        return function ($request) {
            switch ($request->path) {
                case '/background': Hearth\background('change'); break;
                case '/fatal': change(); eval('class A {} class A {}'); break;
                case '/waits': UNTIL_GO
            }
            return (string) pcntl_signal_get_handler(SIGUSR2);
        };"#
        .replace("UNTIL_GO", UNTIL_GO),
    )
    .start();
    let default = ok(&server.get("/"));
    ok(&server.get("/background"));
    assert_eq!(ok(&server.get("/")), default, "background work");
    let mut beside = server.connect();
    beside.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/fatal").status, 500);
    let_go(&server);
    assert_eq!(ok(&beside.response()), default, "a fatal error");
    server.stop();
}

/// Background work may go on for as long as the process. What a request has changed must not.
#[test]
fn background_work_that_goes_on_does_not_keep_what_a_request_has_changed() {
    let server = one_worker(
        r#"return function ($request) {
            switch ($request->path) {
                case '/kept': Hearth\background(function () { pcntl_signal(SIGUSR1, SIG_IGN); sleep(60); }); break;
                case '/changes': pcntl_signal(SIGUSR2, SIG_IGN); break;
            }
            return (string) pcntl_signal_get_handler(SIGUSR2);
        };"#,
    )
    .args(["--stop-timeout", "0.5"])
    .start();
    let default = ok(&server.get("/kept"));
    assert_ne!(ok(&server.get("/changes")), default);
    assert_eq!(ok(&server.get("/")), default);
    server.stop();
}
