//! Workers that die.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::Server;

use super::{APP, app};
use crate::support::{let_go, ok, one_worker, until_handled};

#[test]
fn a_crashed_worker_is_back_and_the_log_names_its_requests() {
    let server = app().start();
    let mut victim = server.connect();
    victim.send("GET /slow?victim HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let mut crash = server.connect();
    crash.send("GET /segv HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(crash.try_response(false).is_err() && victim.try_response(false).is_err());
    assert_eq!(ok(&server.get("/")), "fine");
    server.expect_log("/segv");
    server.expect_log("/slow");
    server.expect_log("SIGSEGV");
    server.stop();
}

#[test]
fn a_crash_leaves_the_other_workers_alone() {
    let server = Server::script(APP)
        .args(["--workers", "2", "--dispatch", "direct"])
        .start();
    let mut slow: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    until_handled(&server, 16);
    testkit::kill(server.workers()[0], Signal::ABORT);
    server.expect_log("SIGABRT");
    let_go(&server);
    let finished = slow
        .iter_mut()
        .filter_map(|client| client.try_response(false).ok())
        .count();
    assert!(
        (1..16).contains(&finished),
        "{finished} of 16 finished: both workers should have had some"
    );
    for _ in 0..20 {
        assert_eq!(ok(&server.get("/")), "fine");
    }
    server.stop();
}

#[test]
fn workers_that_die_before_they_serve_anything_are_restarted_with_back_off() {
    let code =
        "Hearth\\after(0.02, fn () => posix_kill(getmypid(), SIGKILL)); return fn () => 'never';";
    let server = one_worker(code).start();
    for pause in [100, 200, 400] {
        server.expect_log(&format!(
            "workers keep dying before they serve anything; the next starts in {pause} ms"
        ));
    }
    server.stop();
}

#[test]
fn a_probe_is_not_what_workers_are_there_for() {
    let code = "return function ($request) {
        if (file_exists('dies') && $request->path === '/probe') { posix_kill(getmypid(), SIGKILL); }
        return 'fine';
    };";
    let server = one_worker(code)
        .file("hearth.toml", "[boot]\nprobe = \"/probe\"\n")
        .start();
    std::fs::write(server.directory().join("dies"), "").expect("a file can be written");
    testkit::kill(server.workers()[0], Signal::KILL);
    server.expect_log("workers keep dying before they serve anything; the next starts in 200 ms");
    std::fs::remove_file(server.directory().join("dies")).expect("it was made");
    assert_eq!(ok(&server.get("/")), "fine");
    server.stop();
}

/// Requests, and not workers, are what is bad here: none that asks for something else waits.
#[test]
fn workers_that_served_are_replaced_at_once_however_often() {
    let server = Server::script(APP)
        .args(["--workers", "2", "--dispatch", "direct"])
        .start();
    let (mut longest, began) = (Duration::ZERO, Instant::now());
    for n in 0..40 {
        let mut client = server.connect();
        client.send(format!("GET /segv?{n} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert!(client.try_response(false).is_err());
        let began = Instant::now();
        assert_eq!(ok(&server.get("/")), "fine");
        longest = longest.max(began.elapsed());
    }
    assert!(longest < Duration::from_secs(1), "a visit took {longest:?}");
    assert!(began.elapsed() < Duration::from_secs(18), "back-off");
    let stopped = server.stop();
    assert!(
        !stopped.log.contains("workers keep dying"),
        "{}",
        stopped.log
    );
}

/// What a Fiber's first call leaves is freed when no call is left: the variable that its closure was bound to, a stream here,
/// whose filter has something left that nothing takes.
#[test]
fn a_warning_about_what_the_first_call_of_a_fiber_leaves_ends_no_worker() {
    let server = one_worker(
        r"class Late extends php_user_filter { public $kept;
            public function filter($in, $out, &$consumed, bool $closing): int {
                if ($closing) { stream_bucket_append($out, $this->kept); return PSFS_PASS_ON; }
                $this->kept = stream_bucket_make_writeable($in); return PSFS_FEED_ME; } }
        class Leaves extends php_user_filter { public function filter($in, $out, &$consumed, bool $closing): int { return PSFS_PASS_ON; } }
        return function ($request) {
            if ($request->path === '/pid') { return (string) getmypid(); }
            stream_filter_register('late', 'Late'); stream_filter_register('leaves', 'Leaves');
            $stream = fopen('php://memory', 'w');
            stream_filter_append($stream, 'late', STREAM_FILTER_WRITE); stream_filter_append($stream, 'leaves', STREAM_FILTER_WRITE);
            fwrite($stream, 'x');
            $function = function () use ($stream) {}; unset($stream);
            $fiber = new Fiber($function); unset($function);
            $fiber->start();
            return 'alive';
        };",
    )
    .start();
    let pid = ok(&server.get("/pid"));
    assert_eq!(ok(&server.get("/")), "alive");
    server.expect_log("Unprocessed filter buckets");
    assert_eq!(ok(&server.get("/pid")), pid);
    server.stop();
}
