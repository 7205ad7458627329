//! A page that runs out of memory, asked for again and again: a fatal error is no crash, and other visitors do not notice.

use std::time::{Duration, Instant};

use testkit::{Server, ServerBuilder};

use super::APP;
use crate::front::metric;
use crate::support::traffic::{Done, meanwhile};
use crate::support::{eventually, let_go, ok, one_worker, until_handled};

/// How long the page is asked for.
const ATTACK: Duration = Duration::from_millis(700);
/// A wait that a busy machine may cause; back-off takes seconds.
const NOTICED: Duration = Duration::from_secs(1);

/// One client asks for the page as fast as it is answered, another for an ordinary one. Answers 500, and the longest wait.
fn attack(server: &Server, page: &str) -> (u32, Duration) {
    let (mut attacks, mut longest) = (0, Duration::ZERO);
    let visit = |_, done: &Done| {
        while !done.is_done() {
            assert_eq!(server.get(page).status, 500);
        }
    };
    meanwhile(1, visit, || {
        let until = Instant::now() + ATTACK;
        while Instant::now() < until {
            let began = Instant::now();
            assert_eq!(ok(&server.get("/")), "fine");
            longest = longest.max(began.elapsed());
            attacks += 1;
        }
    });
    (attacks, longest)
}

#[track_caller]
fn is_not_felt(server: ServerBuilder, page: &str) {
    let server = server
        .args(["--workers", "2", "--ini", "memory_limit=64M"])
        .args(["--admin", "127.0.0.1:0"])
        .start();
    let (visits, longest) = attack(&server, page);
    assert!(longest < NOTICED, "one of {visits} visits took {longest:?}");
    let log = server.log().text();
    assert!(!log.contains("workers keep dying"), "{log}");
    server.stop();
}

#[test]
fn memory_exhaustion_is_not_felt_by_others_in_a_concurrent_worker() {
    is_not_felt(Server::script(APP), "/memory");
}

#[test]
fn a_full_heap_is_not_felt_by_others_in_a_concurrent_worker() {
    is_not_felt(Server::script(APP), "/full");
}

#[test]
fn memory_exhaustion_is_not_felt_by_others_behind_the_front() {
    is_not_felt(Server::script(APP).args(["--concurrency", "1"]), "/memory");
}

#[test]
fn memory_exhaustion_is_not_felt_by_others_one_at_a_time_without_a_front() {
    let server = Server::script(APP).args(["--concurrency", "1", "--dispatch", "direct"]);
    is_not_felt(server, "/full");
}

#[test]
fn memory_exhaustion_is_not_felt_by_others_of_a_classic_site() {
    let site = || {
        Server::app("www")
            .file("www/index.php", "<?php echo 'fine';")
            .file("www/memory.php", "<?php str_repeat('x', 1 << 30);")
    };
    for dispatch in ["balanced", "direct"] {
        is_not_felt(site().args(["--dispatch", dispatch]), "/memory.php");
    }
}

/// The broken worker serves until its successor does: with one worker there is never none.
#[test]
fn a_worker_that_a_fatal_error_broke_serves_until_its_successor_does() {
    let server = Server::script(APP)
        .args(["--workers", "1", "--ini", "memory_limit=64M"])
        .args(["--admin", "127.0.0.1:0"])
        .start();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let before = ok(&server.get("/pid"));
    for _ in 0..5 {
        assert_eq!(server.get("/memory").status, 500);
        assert_eq!(metric(&server, "hearth_healthy"), 1);
        ok(&server.get("/pid"));
    }
    eventually("the worker is replaced", || {
        ok(&server.get("/pid")) != before
    });
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done");
    assert!(metric(&server, "hearth_worker_restarts_total") >= 1);
    assert_eq!(metric(&server, "hearth_workers_recycled_total"), 0);
    drop(slow);
    server.stop();
}

/// The last of the memory goes while a class of the library is compiled, which a static variable names, or a call.
const NAMES_A_CLASS: &str = r#"function named() { static $local = new Hearth\Local(); return 'named'; }
function called() { return Hearth\Response::stream((function () { yield 'called'; })()); }
return function ($request) {
    $large = str_repeat('x', 16 << 20);
    ini_set('memory_limit', (string) memory_get_usage(true));
    $left = (int) $request->query('left');
    $filled = array_fill(0, 2000, null);
    for ($i = 0; memory_get_usage() + $left < memory_get_usage(true); $i++) { $filled[$i] = str_repeat('x', 4000); }
    return ($request->query('how'))();
};"#;

#[test]
fn memory_that_ends_while_a_class_is_loaded_ends_its_request_only() {
    let server = one_worker(NAMES_A_CLASS)
        .args(["--request-timeout", "1", "--request-grace", "1"])
        .start();
    for left in (150..=400).step_by(10) {
        for how in ["named", "called"] {
            let status = server.get(&format!("/?how={how}&left={left}000")).status;
            assert!(
                matches!(status, 200 | 500),
                "{how}, {left} kB left: {status}"
            );
        }
    }
    let log = server.log().text();
    assert!(log.contains("app.php on line 1 "), "{log}");
    assert!(log.contains("app.php on line 2 "), "{log}");
    assert!(!log.contains("still computes"), "{log}");
    server.stop();
}

/// What would run where its variables are freed: none of it does under php, whose fatal error ends everything at once.
const LEAVES: &str = r#"class Dies { function __destruct() { went_on(); } }
function went_on() { error_log('WENT ON'); for ($all = [];; $all[] = str_repeat('x', 100000)); }
function in_finally() { try { Fiber::suspend(); } finally { went_on(); } }
function fiber($fn) { $fiber = new Fiber($fn); $fiber->start(); return $fiber; }
function generator() { try { yield 1; } finally { went_on(); } }
function begun($generator) { $generator->current(); return $generator; }
function cycle() { $fiber = new Fiber(function () use (&$fiber) { in_finally(); }); $fiber->start(); return [$fiber]; }
return function ($request) {
    $what = [
        'fiber' => fn () => fiber(in_finally(...)),
        'fiber-of-fiber' => fn () => fiber(function () { $inner = fiber(in_finally(...)); Fiber::suspend(); }),
        'generator' => fn () => begun(generator()),
        'generator-in-fiber' => fn () => fiber(function () { foreach (generator() as $x) { Fiber::suspend(); } }),
        'generator-of-fiber' => fn () => begun((function () { $inner = fiber(in_finally(...)); yield 1; })()),
        'generator-from' => fn () => begun((function () { yield from generator(); })()),
        'destructor' => fn () => new Dies(),
        'cycle' => fn () => cycle(),
    ][$request->query('what', 'none')] ?? null;
    if (!$what) { return 'fine'; }
    $leave = function () use ($what) { $left = $what(); str_repeat('x', 1 << 30); };
    $request->query('where') === 'task' ? Hearth\async($leave)->await() : $leave();
};"#;

#[test]
fn nothing_that_memory_exhaustion_leaves_behind_runs_on() {
    let server = one_worker(LEAVES)
        .args(["--ini", "memory_limit=64M"])
        .args(["--request-timeout", "1", "--request-grace", "1"])
        .start();
    let all = [
        "fiber",
        "fiber-of-fiber",
        "generator",
        "generator-in-fiber",
        "generator-of-fiber",
        "generator-from",
        "destructor",
        "cycle",
    ];
    for what in all {
        for place in ["request", "task"] {
            let target = format!("/?what={what}&where={place}");
            assert_eq!(server.get(&target).status, 500, "{target}");
            assert_eq!(ok(&server.get("/")), "fine", "{target}");
        }
    }
    let log = server.log().text();
    assert!(!log.contains("WENT ON"), "{log}");
    assert!(!log.contains("still computes"), "{log}");
    server.stop();
}

/// Tasks that have ended keep few of their stacks: these count towards the limit of all requests of the worker.
#[test]
fn a_burst_of_tasks_leaves_the_memory_to_others() {
    let server = one_worker(
        "return function ($request) {
            if ($request->path === '/large') { return strlen(str_repeat('x', 40 << 20)) . ''; }
            $tasks = array_map(fn () => Hearth\\async(fn () => usleep(100000)), range(1, 3000));
            foreach ($tasks as $task) { $task->await(); }
            return 'ended';
        };",
    )
    .args(["--ini", "memory_limit=64M"])
    .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/large")), (40 << 20).to_string());
        assert_eq!(ok(&server.get("/burst")), "ended");
    }
    server.stop();
}

const NO_STACKS: &str = r#"return function ($request) {
    if ($request->path !== '/tasks') { return 'fine'; }
    $used = (int) file_get_contents('/proc/self/statm') * 4096;
    posix_setrlimit(POSIX_RLIMIT_AS, $used + (512 << 20), -1);
    $tasks = $said = [];
    for ($i = 0; $i < 300; $i++) {
        try { $tasks[] = Hearth\async(fn () => usleep(50000)); } catch (Error $error) { $said[] = $error->getMessage(); }
    }
    try { Hearth\parallel([fn () => 1]); } catch (Error $error) { $said[] = $error->getMessage(); }
    posix_setrlimit(POSIX_RLIMIT_AS, -1, -1);
    foreach ($tasks as $task) { $task->await(); }
    return json_encode([count($tasks) > 20, count($said) > 100, array_unique(array_map(fn ($text) => explode(':', $text)[0], $said))]);
};"#;

#[test]
fn a_task_for_whose_stack_there_is_no_memory_is_an_error_and_logged_once() {
    let server = one_worker(NO_STACKS).start();
    assert_eq!(
        ok(&server.get("/tasks")),
        r#"[true,true,["There is no memory for the stack of another task"]]"#
    );
    assert_eq!(ok(&server.get("/")), "fine");
    let log = server.log().text();
    assert_eq!(log.matches("no memory for the stack of a task").count(), 1);
    server.stop();
}

/// pecl/memcache puts each descriptor into a set of `select(2)`, which has room for those below 1024. For others libc would end the process.
#[test]
fn a_descriptor_that_a_library_has_no_room_for_ends_its_request_alone() {
    let server = one_worker(
        r"return function ($request) {
            static $files = [];
            switch ($request->path) {
                case '/wait': while (!file_exists('go')) { usleep(5000); clearstatcache(); } return 'done';
                case '/open': while (count($files) < 1024) { $files[] = fopen('/dev/null', 'r'); } return (string) getmypid();
            }
            $server = stream_socket_server('tcp://127.0.0.1:0');
            $cache = new Memcache();
            $cache->addServer('127.0.0.1', (int) explode(':', stream_socket_get_name($server, false))[1], false, 1, 1);
            return json_encode(@$cache->get('key'));
        };",
    )
    .arg(format!(
        "--ini=extension={}",
        testkit::unpacked_extension("memcache").display()
    ))
    .start();
    let mut waiting = server.connect();
    waiting.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    ok(&server.get("/open"));
    assert_eq!(server.get("/").status, 500);
    server.expect_log("The worker has too many open files for a library that calls select()");
    let_go(&server);
    assert_eq!(ok(&waiting.response()), "done");
    server.stop();
}
