//! Files whose code, outside of functions, waits while another request requires them once.

use testkit::{Server, ServerBuilder};

use super::engine_calls::answers;
use crate::support::{one_worker, until_handled};

/// `/load/NAME` requires a file once and tells what it defines; `/both` has two files that require each other.
const LOADING: &str = r#"
final class Loading { public static array $order = []; }
return function (Hearth\Request $request): string {
    $name = basename($request->path);
    if (dirname($request->path) === '/cancel') {
        $task = Hearth\async(function () use ($name) {
            require_once __DIR__ . "/$name.php";
            usleep(1000);
        });
        $task->cancel();
        try {
            return $task->await() ?? 'not cancelled';
        } catch (Hearth\CancelledError) {
            return 'cancelled';
        }
    }
    if (dirname($request->path) === '/sibling') {
        $task = Hearth\async(function () use ($name) {
            usleep(5000);
            require_once __DIR__ . "/$name.php";
            return defined('WHOLE') && WHOLE;
        });
        require_once __DIR__ . "/$name.php";
        return $task->await() ? 'whole' : 'half';
    }
    if (dirname($request->path) === '/timeout') {
        try {
            return Hearth\timeout(0.02, fn () => require_once __DIR__ . "/$name.php");
        } catch (Throwable $e) {
            return get_class($e);
        }
    }
    try {
        $file = "$name.php";
        $value = dirname($request->path) === '/include' ? include __DIR__ . "/$name.php" : require_once __DIR__ . '/' . $file;
    } catch (LogicException $e) {
        return $e->getMessage();
    }
    return json_encode([$value, defined('WHOLE') && WHOLE, $name === 'left' ? defined('LEFT') : defined('RIGHT')]);
};"#;

fn loading() -> ServerBuilder {
    one_worker(LOADING)
        .file("whole.php", "<?php usleep(50000); define('WHOLE', true); return 'loaded';")
        .file("thrown.php", "<?php usleep(50000); throw new LogicException('not loaded');")
        .file("left.php", "<?php usleep(20000); require_once __DIR__ . '/right.php'; define('LEFT', true);")
        .file("right.php", "<?php usleep(20000); require_once __DIR__ . '/left.php'; define('RIGHT', true);")
        .file(
            "child.php",
            r"<?php return Hearth\async(function () { usleep(10000); require_once __DIR__ . '/child.php'; return 'of a child'; })->await();",
        )
}

#[test]
fn a_file_is_whole_when_another_request_requires_it_once() {
    let server = loading().start();
    let first = r#"["loaded",true,false]"#;
    let later = "[true,true,false]";
    assert_eq!(
        answers(&server, &["/load/whole", "/load/whole", "/load/whole"]),
        [first, later, later]
    );
    server.stop();
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/include/whole", "/load/whole"]),
        [first, later]
    );
    server.stop();
}

/// As in `php`, the file counts as included.
#[test]
fn a_file_that_throws_is_waited_for_too() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/thrown", "/load/thrown"]),
        ["not loaded", "[true,false,false]"]
    );
    server.stop();
}

#[test]
fn two_files_that_require_each_other_are_loaded_by_two_requests() {
    let server = loading().start();
    let answers = answers(&server, &["/load/left", "/load/right"]);
    assert!(
        answers.contains(&"[1,false,true]".to_owned()),
        "{answers:?}"
    );
    server.stop();
}

/// The file waits for a task that requires the file.
#[test]
fn a_task_does_not_wait_for_the_file_that_has_started_it() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/child"]),
        [r#"["of a child",false,false]"#]
    );
    server.stop();
}

/// The task that loads it waits for something else than the other task.
#[test]
fn a_file_is_whole_for_a_task_that_the_loading_one_has_started() {
    let server = loading().start();
    assert_eq!(answers(&server, &["/sibling/whole"]), ["whole"]);
    server.stop();
}

/// What the file waits for comes from the task that requires it, whose wait had begun before.
#[test]
fn a_task_stops_waiting_for_a_file_that_waits_for_it() {
    let code = |waits: &str| {
        format!(
            r#"<?php
            $tasks = [Hearth\async(function () {{ require_once __DIR__ . '/child.php'; return "of a child"; }})];
            $channel = new Hearth\Channel(1);
            $tasks[] = Hearth\async(function () use ($channel) {{ require_once __DIR__ . '/child.php'; $channel->send('of a child'); }});
            usleep(10000);
            return {waits};"#
        )
    };
    for waits in ["$tasks[0]->await()", "$channel->receive()"] {
        let server = loading().file("child.php", code(waits)).start();
        assert_eq!(
            answers(&server, &["/load/child"]),
            [r#"["of a child",false,false]"#]
        );
        let stopped = server.stop();
        assert!(!stopped.log.contains("goes on without"), "{}", stopped.log);
    }
}

/// The request that loads it goes on.
#[test]
fn the_wait_for_a_file_ends_with_a_timeout() {
    let server = loading().start();
    assert_eq!(
        answers(&server, &["/load/whole", "/timeout/whole", "/load/whole"]),
        [
            r#"["loaded",true,false]"#,
            r"Hearth\TimeoutError",
            "[true,true,false]"
        ]
    );
    server.stop();
}

/// The code of the file goes on to its end, and the request ends at its next wait: the file counts as included for all later requests.
#[test]
fn a_file_is_whole_although_the_request_that_loads_it_is_cancelled() {
    let ways: [&dyn Fn(&Server); 3] = [
        &|server| {
            let mut client = server.connect();
            client.send("GET /load/whole HTTP/1.1\r\nHost: x\r\n\r\n");
            until_handled(server, 1);
        },
        &|server| drop(server.get("/timeout/whole")),
        &|server| assert_eq!(answers(server, &["/cancel/whole"]), ["cancelled"]),
    ];
    for way in ways {
        let server = loading().start();
        way(&server);
        assert_eq!(answers(&server, &["/load/whole"]), ["[true,true,false]"]);
        server.stop();
    }
}

/// What the file waits for does not come: the time limit of the request ends it.
#[test]
fn a_file_that_waits_for_ever_ends_with_its_request() {
    let server = loading()
        .file("forever.php", "<?php sleep(9); define('WHOLE', true);")
        .args(["--request-timeout", "1"])
        .start();
    let mut client = server.connect();
    client.send("GET /load/forever HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    // Its own time limit ends this one, hardly later than that of the first.
    drop(server.get("/load/forever"));
    assert_eq!(answers(&server, &["/load/forever"]), ["[true,false,false]"]);
    server.stop();
}

/// The whole loop runs in such a file, where the entry script includes it once.
#[test]
fn a_request_of_a_frankenphp_loop_is_cancelled() {
    let server = one_worker("require_once __DIR__ . '/loop.php';")
        .file(
            "loop.php",
            "<?php while (frankenphp_handle_request(function () { try { sleep(60); } finally { error_log('the wait has ended'); } })) {}",
        )
        .start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    server.expect_log("the wait has ended");
    server.stop();
}
