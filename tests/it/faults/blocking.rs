//! Calls that block where a task must not be suspended: nothing else of the worker runs meanwhile, so they end in time.

use std::time::{Duration, Instant};

use crate::support::{UNTIL_GO, let_go, ok, one_worker, until_handled};

/// A destructor runs `$GLOBALS['end']` where PHP 8.2 forbids a switch; in the garbage collector every PHP does. The collector is background
/// work: the time of the request that it runs in is over for both.
const COLLECTED: &str = r#"
class Ends { public $self; function __destruct() { $GLOBALS['end'](); } }
function collected(Closure $end) {
    $GLOBALS['end'] = $end;
    $object = new Ends(); $object->self = $object; unset($object);
    try { gc_collect_cycles(); } catch (Hearth\TimeoutError) { }
}
"#;

#[test]
fn a_lock_that_another_task_of_the_worker_has_is_refused_at_once() {
    let code = r#"return function ($request) {
        $file = fopen(__DIR__ . '/lock', 'c');
        if ($request->path === '/holds') {
            flock($file, LOCK_EX);
            UNTIL_GO
            return 'held';
        }
        $text = 'not refused';
        collected(function () use ($file, $request, &$text) {
            try {
                session_save_path(__DIR__);
                session_id('same');
                $request->path === '/session' ? session_start() : flock($file, LOCK_EX);
            } catch (Error $error) { $text = $error->getMessage(); }
        });
        return $text;
    };"#;
    let server = one_worker(&(COLLECTED.to_owned() + &code.replace("UNTIL_GO", UNTIL_GO)))
        .file("sess_same", "")
        .link("lock", "sess_same")
        .start();
    let mut holder = server.connect();
    holder.send("GET /holds HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    for path in ["/file", "/session"] {
        let text = ok(&server.get(path));
        assert!(
            text.starts_with("A task cannot wait here"),
            "{path}: {text}"
        );
    }
    let_go(&server);
    assert_eq!(ok(&holder.response()), "held");
    server.stop();
}

#[test]
fn a_lock_that_another_process_has_is_waited_for() {
    let code = r#"return function ($request) {
        $file = fopen(__DIR__ . '/lock', 'c');
        if ($request->path === '/holds') {
            flock($file, LOCK_EX);
            UNTIL_GO
            return (string) getmypid();
        }
        $text = '';
        collected(function () use ($file, &$text) { touch('asks'); $text = flock($file, LOCK_EX) ? 'got it' : 'did not'; });
        return $text;
    };"#;
    let app = COLLECTED.to_owned() + &code.replace("UNTIL_GO", UNTIL_GO);
    let server = one_worker(&app).start();
    let mut other = std::process::Command::new("flock")
        .args([
            "lock",
            "sh",
            "-c",
            "touch has; while ! [ -e go ]; do sleep 0.01; done",
        ])
        .current_dir(server.directory())
        .spawn()
        .expect("flock (util-linux) starts");
    crate::support::eventually("it has the lock", || {
        server.directory().join("has").exists()
    });
    let mut client = server.connect();
    client.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
    crate::support::eventually("it is asked for", || {
        server.directory().join("asks").exists()
    });
    let_go(&server);
    assert_eq!(ok(&client.response()), "got it");
    assert!(other.wait().expect("it ends").success());
    server.stop();
}

#[test]
fn a_call_that_blocks_ends_with_the_time_of_its_request() {
    let code = r#"[$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    return function ($request) use ($near, $far) {
        if ($request->path === '/pid') { return (string) getmypid(); }
        $text = 'not cut off';
        collected(function () use ($request, $near, &$text) {
            try {
                match ($request->path) {
                    '/read' => fgets($near),
                    '/select' => (function () use ($near) { [$read, $none] = [[$near], null]; stream_select($read, $none, $none, 60); })(),
                    '/sleep' => sleep(60),
                    '/nap' => usleep(60000000),
                    '/nano' => time_nanosleep(60, 0),
                    '/program' => (function () {
                        $program = proc_open('exec sleep 60', [], $none);
                        try { pcntl_waitpid(proc_get_status($program)['pid'], $status); } finally { proc_terminate($program); }
                    })(),
                    '/child' => (function () {
                        $child = pcntl_fork() ?: exit((int) sleep(60));
                        try { pcntl_wait($status); } finally { posix_kill($child, SIGKILL); }
                    })(),
                };
            } catch (Hearth\TimeoutError) { $text = 'cut off'; }
        });
        return $text;
    };"#;
    let server = one_worker(&(COLLECTED.to_owned() + code))
        .args(["--request-timeout", "0.3", "--request-grace", "10"])
        .start();
    let pid = ok(&server.get("/pid"));
    for path in [
        "/read", "/select", "/sleep", "/nap", "/nano", "/program", "/child",
    ] {
        let start = Instant::now();
        assert_eq!(ok(&server.get(path)), "cut off", "{path}");
        assert!(start.elapsed() < Duration::from_secs(9), "{path}");
    }
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// The server's clock moves on every few milliseconds only: it may say that some time is left when all of it has passed.
#[test]
fn a_call_that_blocks_ends_with_the_time_of_its_request_however_coarse_the_clock_is() {
    let code = r"return function () {
        $text = 'not cut off';
        collected(function () use (&$text) {
            try { usleep(60000000); } catch (Hearth\TimeoutError) { $text = 'cut off'; }
        });
        return $text;
    };";
    // No multiple of a tick, of 4 or 10 ms.
    let server = one_worker(&(COLLECTED.to_owned() + code))
        .args(["--request-timeout", "0.049", "--request-grace", "10"])
        .start();
    for n in 0..20 {
        assert_eq!(ok(&server.get("/")), "cut off", "request {n}");
    }
    server.stop();
}

#[test]
fn a_call_that_blocks_ends_with_the_time_that_the_script_gave_itself() {
    let code = r#"return function ($request) {
        if ($request->path === '/pid') { return (string) getmypid(); }
        $text = 'not cut off';
        set_time_limit(1);
        collected(function () use (&$text) {
            try { sleep(60); } catch (Hearth\TimeoutError) { $text = 'cut off'; }
        });
        return $text;
    };"#;
    let server = one_worker(&(COLLECTED.to_owned() + code))
        .args(["--request-timeout", "60", "--request-grace", "10"])
        .start();
    let pid = ok(&server.get("/pid"));
    let start = Instant::now();
    assert_eq!(ok(&server.get("/")), "cut off");
    assert!(start.elapsed() < Duration::from_secs(9));
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

#[test]
fn code_that_catches_the_end_of_its_time_and_blocks_again_is_told_so_again_within_its_grace() {
    let code = r#"return function ($request) {
        if ($request->path === '/pid') { return (string) getmypid(); }
        $times = 0;
        collected(function () use (&$times) {
            while ($times < 4) {
                try { for (;;) { usleep(20000); } } catch (Hearth\TimeoutError) { $times++; }
            }
        });
        return "cut off $times times";
    };"#;
    let server = one_worker(&(COLLECTED.to_owned() + code))
        .args(["--request-timeout", "0.3", "--request-grace", "4"])
        .start();
    let pid = ok(&server.get("/pid"));
    assert_eq!(ok(&server.get("/")), "cut off 4 times");
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

/// The callback of `apcu_entry()` runs while APCu has its lock.
#[test]
fn a_call_that_blocks_while_a_library_holds_a_lock_ends_with_the_time_of_its_request() {
    let code = r#"return function ($request) {
        if ($request->path === '/pid') { return (string) getmypid(); }
        return apcu_entry('key', function () {
            try { sleep(60); } catch (Hearth\TimeoutError) { return 'cut off'; }
            return 'not cut off';
        }, 1);
    };"#;
    let server = one_worker(code)
        .args(["--request-timeout", "0.3", "--request-grace", "10"])
        .args(["--ini", "apc.enabled=1"])
        .start();
    let pid = ok(&server.get("/pid"));
    let start = Instant::now();
    assert_eq!(ok(&server.get("/")), "cut off");
    assert!(start.elapsed() < Duration::from_secs(9));
    assert_eq!(ok(&server.get("/pid")), pid, "the worker was replaced");
    server.stop();
}

#[test]
fn a_tick_function_that_waits_lets_others_run() {
    let code = r"return function ($request) {
        if ($request->path === '/other') { return 'other'; }
        $calls = 0;
        $tick = function () use (&$calls) { $calls++; UNTIL_GO };
        register_tick_function($tick);
        declare(ticks=1) { $n = 1; $n = 2; }
        unregister_tick_function($tick);
        try {
            register_tick_function($fiber = fn () => Fiber::suspend());
            (new Fiber(function () { declare(ticks=1) { $n = 1; } }))->start();
        } catch (FiberError $error) { $calls .= ' ' . $error->getMessage(); }
        unregister_tick_function($fiber);
        return $calls;
    };";
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO)).start();
    let mut ticks = server.connect();
    ticks.send("GET /ticks HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/other")), "other");
    let_go(&server);
    let text = ok(&ticks.response());
    let (calls, refused) = text.split_once(' ').expect("a Fiber's error");
    assert!(calls.parse::<u32>().expect("a number") >= 2, "{text}");
    assert_eq!(refused, "Cannot switch fibers in current execution context");
    server.stop();
}
