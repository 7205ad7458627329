//! Children that end without their function having returned or thrown: `exit()`, a fatal error.

use testkit::Server;

use crate::support::{ok, one_worker};

/// `/CALL/HOW`: what the caller gets, as JSON; an `Error` as its message.
const APP: &str = r"
return function (Hearth\Request $request) {
    [, $call, $how] = explode('/', $request->path);
    $end = match ($how) {
        'exit' => function () { usleep(2000); exit; },
        'exit-at-once' => function () { exit; },
        'exit-slowly' => function () {
            Hearth\Internal\onTaskEnd(Hearth\Internal\taskId(), fn () => usleep(20000));
            usleep(2000);
            exit;
        },
        'fatal' => function () { usleep(2000); return strlen(str_repeat('x', 1 << 30)); },
        'fatal-at-once' => fn () => strlen(str_repeat('x', 1 << 30)),
        'fatal-in-class' => function () { usleep(2000); eval('class A {} class A {}'); },
    };
    try {
        switch ($call) {
            case 'await': $task = Hearth\async($end); return [$task->await(), $task->isDone(), $task->await()];
            case 'background': $task = Hearth\background($end); return [$task->await(), $task->isDone(), $task->await()];
            case 'is-done': $task = Hearth\async($end); usleep(100000); return json_encode($task->isDone());
            case 'parallel': return Hearth\parallel(['a' => $end, 'b' => function () { usleep(5000); return 'b'; }]);
            case 'limit': return Hearth\parallel([$end, $end, $end], 1);
            case 'race': return [Hearth\race([$end, fn () => sleep(20)])];
            case 'timeout': return [Hearth\timeout(15, $end)];
            case 'nested': return Hearth\parallel([fn () => Hearth\timeout(15, $end)]);
        }
    } catch (Error $error) {
        return get_class($error) . ': ' . $error->getMessage();
    }
};";

const CALLS: [&str; 8] = [
    "await",
    "background",
    "is-done",
    "parallel",
    "limit",
    "race",
    "timeout",
    "nested",
];

fn app() -> Server {
    one_worker(APP)
        .args(["--ini", "memory_limit=64M", "--request-timeout", "10"])
        .start()
}

#[test]
fn the_caller_goes_on_when_its_child_calls_exit() {
    let server = app();
    let pid = server.workers();
    for call in CALLS {
        for how in ["exit", "exit-at-once", "exit-slowly"] {
            let expected = match call {
                "await" | "background" => "[null,true,null]",
                "is-done" => "true",
                "parallel" => r#"{"a":null,"b":"b"}"#,
                "limit" => "[null,null,null]",
                _ => "[null]",
            };
            let text = ok(&server.get(&format!("/{call}/{how}")));
            assert_eq!(text, expected, "{call}, {how}");
        }
    }
    assert_eq!(server.workers(), pid, "the worker was replaced");
    server.stop();
}

#[test]
fn the_caller_gets_an_error_when_a_fatal_error_ends_its_child() {
    for call in CALLS {
        // Workers that keep breaking are restarted with back-off.
        let server = app();
        for (how, message) in [
            ("fatal", "Allowed memory size of 67108864 bytes exhausted"),
            (
                "fatal-at-once",
                "Allowed memory size of 67108864 bytes exhausted",
            ),
            // "declare", in 8.4 "redeclare".
            ("fatal-in-class", "Cannot "),
        ] {
            // PHP sets the status of the request to 500 at any fatal error in it.
            let text = server.get(&format!("/{call}/{how}")).text();
            if call == "is-done" {
                assert_eq!(text, "true", "{how}");
            } else {
                let expected = format!("Error: the task was ended by a fatal error: {message}");
                assert!(text.starts_with(&expected), "{call}, {how}: {text}");
            }
        }
        server.stop();
    }
}
