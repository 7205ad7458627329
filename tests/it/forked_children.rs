//! Child processes of `pcntl_fork()` in workers that serve several requests.

use testkit::{Server, ServerBuilder};

use crate::support::{ok, one_worker};

/// Servers of every kind of worker whose handler is this PHP code.
fn workers(code: &str) -> Vec<(&'static str, ServerBuilder)> {
    let handler = || one_worker(&format!("return function () {{ {code} }};"));
    let site = || Server::app(".").args(["--workers", "1"]);
    let script = format!("<?php echo (function () {{ {code} }})();");
    let looping = format!(
        "while (frankenphp_handle_request(function () {{ echo (function () {{ {code} }})(); }})) {{}}"
    );
    vec![
        ("direct", handler().args(["--dispatch", "direct"])),
        ("balanced", handler().args(["--dispatch", "balanced"])),
        ("one at a time", handler().args(["--concurrency", "1"])),
        ("a worker script of FrankenPHP", one_worker(&looping)),
        ("classic", site().file("index.php", script)),
    ]
}

/// What the child does, and its exit code with `php`.
const ENDS: [(&str, &str); 10] = [
    ("exit(7);", "7"),
    ("exit('text');", "0"),
    ("return 'a response';", "0"),
    ("throw new Exception('x');", "255"),
    (
        "set_exception_handler(fn () => null); throw new Exception('x');",
        "0",
    ),
    ("trigger_error('x', E_USER_ERROR);", "255"),
    ("eval('new class implements Iterator {};');", "255"),
    (
        "register_shutdown_function(fn () => exit(3)); exit(7);",
        "3",
    ),
    ("(new Fiber(function () { exit(7); }))->start();", "7"),
    ("posix_kill(posix_getpid(), SIGKILL);", "signal 9"),
];

#[test]
fn the_exit_code_of_a_child_is_that_of_its_code() {
    for (code, expected) in ENDS {
        let code = format!(
            "if (!($child = pcntl_fork())) {{ {code} }}
            pcntl_waitpid($child, $status); return pcntl_wifexited($status) ? (string) pcntl_wexitstatus($status) : 'signal ' . pcntl_wtermsig($status);"
        );
        for (name, server) in workers(&code) {
            if name.contains("FrankenPHP") && code.contains("set_exception_handler") {
                // Such a handler is the script's there, and gets no exception of a request.
                continue;
            }
            let server = server.start();
            assert_eq!(ok(&server.get("/")), expected, "{name}: {code}");
            server.stop();
        }
    }
}

/// The tasks that a child starts are its own; those of its parent do not go on in it.
#[test]
fn a_child_starts_tasks_and_goes_on_after_them() {
    let server = one_worker(
        "return function () {
            $before = Hearth\\async(function () { usleep(1000); touch('by ' . getmypid()); });
            if (!($child = pcntl_fork())) {
                $value = Hearth\\async(fn () => 5)->await();
                try { Hearth\\async(fn () => throw new Exception('x'))->await(); } catch (Exception) { $value++; }
                exit($value);
            }
            pcntl_waitpid($child, $status); $before->await();
            return json_encode([pcntl_wexitstatus($status), file_exists('by ' . getmypid()), file_exists(\"by $child\")]);
        };",
    )
    .start();
    assert_eq!(ok(&server.get("/")), "[6,true,false]");
    server.stop();
}

/// With more than the server keeps in memory for a slow client, and flushed. What was echoed before is the parent's.
#[test]
fn the_client_gets_the_response_of_the_parent_only() {
    let code = r"
        $is_streamed = ($_GET['streamed'] ?? '') === '1';
        echo 'before '; if ($is_streamed) { flush(); }
        if (!($child = pcntl_fork())) {
            echo str_repeat('the child', 100_000); flush();
            header('X-Child: 1'); echo 'more of the child';
            if (function_exists('fastcgi_finish_request')) { fastcgi_finish_request(); }
            return 'a response of the child';
        }
        pcntl_waitpid($child, $status); echo 'after ', pcntl_wifexited($status) ? pcntl_wexitstatus($status) : 'a signal';";
    for (name, server) in workers(code) {
        let server = server.start();
        let mut client = server.connect();
        for target in ["/", "/?streamed=1", "/"] {
            let answer = client.get(target);
            assert_eq!(ok(&answer), "before after 0", "{name} {target}");
            assert_eq!(answer.header("x-child"), None, "{name}");
        }
        server.stop();
    }
}
