//! Child processes of `pcntl_fork()` in workers that serve several requests.

use testkit::http::Client;
use testkit::{Server, ServerBuilder, descriptors};

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, run, until_handled};

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

/// Handlers that wait for a child or a program until the test lets it go, and return its exit code.
const WAITS: [(&str, &str); 5] = [
    ("exec", "exec(\"$until; exit 6\", $lines, $code); return (string) $code;"),
    ("pclose", "return (string) pclose(popen(\"$until; exit 6\", 'r'));"),
    ("proc_close", "return (string) proc_close(proc_open(['sh', '-c', \"$until; exit 6\"], [], $pipes));"),
    ("proc_get_status", "$program = proc_open(['sh', '-c', \"$until; exit 6\"], [], $pipes);
        while (($about = proc_get_status($program))['running']) { usleep(5000); } return (string) $about['exitcode'];"),
    ("pcntl_waitpid", "if (!($child = pcntl_fork())) { while (!file_exists('go')) { usleep(5000); clearstatcache(); } exit(6); }
        file_put_contents('child', $child); pcntl_waitpid($child, $status); return (string) pcntl_wexitstatus($status);"),
];

/// A server whose request for `/waits` waits like this, and whose others run the code of their query.
fn with_waiting(code: &str) -> Server {
    one_worker(&format!(
        "return function ($request) {{
            $until = 'until [ -e go ]; do sleep 0.01; done';
            if ($request->path === '/waits') {{ {code} }}
            return json_encode(eval($request->query('code')));
        }};"
    ))
    .start()
}

/// Linux has no child that such a call could return: `pcntl_get_last_error()` is ECHILD.
#[test]
fn a_wait_for_any_child_takes_none_of_another_request() {
    let calls = [
        "pcntl_wait($status)",
        "pcntl_wait($status, WUNTRACED, $usage)",
        "pcntl_waitpid(-1, $status)",
        "pcntl_waitpid(0, $status)",
        "pcntl_waitpid(-posix_getpgrp(), $status)",
        "pcntl_waitpid(-1, $status, WNOHANG)",
        "pcntl_waitpid(-1, $status, 0, $usage)",
    ];
    for (name, code) in WAITS {
        let server = with_waiting(code);
        let mut waiting = server.connect();
        waiting.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
        until_handled(&server, 1);
        for call in calls {
            let answer = run(
                &server,
                &format!("return [{call}, pcntl_get_last_error()];"),
            );
            assert_eq!(answer, "[-1,10]", "{call} beside {name}");
        }
        let_go(&server);
        for call in calls {
            run(&server, &format!("return {call};"));
        }
        assert_eq!(ok(&waiting.response()), "6", "{name}");
        server.stop();
    }
}

#[test]
fn a_request_cannot_wait_for_a_child_of_another_one() {
    for (name, code) in &WAITS[4..] {
        let server = with_waiting(code);
        let mut waiting = server.connect();
        waiting.send("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n");
        eventually("it has a child", || {
            server.directory().join("child").exists()
        });
        let wait = "return [pcntl_waitpid((int) file_get_contents('child'), $status), pcntl_get_last_error()];";
        assert_eq!(run(&server, wait), "[-1,10]", "{name}");
        let_go(&server);
        assert_eq!(ok(&waiting.response()), "6", "{name}");
        server.stop();
    }
}

/// One that another task of the request makes meanwhile is among them. The program of `proc_open()` is not: it has `proc_close()`.
#[test]
fn a_wait_for_any_child_returns_those_of_its_request_while_others_run() {
    let server = one_worker(&format!(
        "return function ($request) {{
            if ($request->path === '/beside') {{ return 'served'; }}
            $program = proc_open(['sh', '-c', 'exit 9'], [], $pipes); $codes = [];
            $fork = fn ($code, $until) => pcntl_fork() ?: [$until(), exit($code)];
            $fork(3, function () {{ while (!file_exists('4')) {{ usleep(5000); clearstatcache(); }} }});
            Hearth\\async(function () use ($fork) {{ {UNTIL_GO} $fork(4, fn () => 0); }});
            while (pcntl_wait($status) > 0) {{ touch($codes[] = pcntl_wexitstatus($status)); }}
            return json_encode([$codes, pcntl_get_last_error(), proc_close($program)]);
        }};"
    ))
    .start();
    let mut waiting = server.connect();
    waiting.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/beside")), "served");
    let_go(&server);
    assert_eq!(ok(&waiting.response()), "[[4,3],10,9]");
    server.stop();
}

#[test]
fn a_wait_for_a_child_or_a_signal_ends_with_the_time_of_its_request() {
    for wait in [
        "pcntl_wait($status)",
        "pcntl_wait($status, WUNTRACED)",
        "pcntl_sigwaitinfo([SIGUSR2])",
    ] {
        let server = one_worker(&format!(
            "return function () {{
                $child = pcntl_fork() ?: exit(sleep(600));
                try {{ {wait}; return 'ended'; }} catch (Hearth\\TimeoutError) {{ return 'out of time'; }}
                finally {{ posix_kill($child, SIGKILL); pcntl_waitpid($child, $status); }}
            }};"
        ))
        .args(["--request-timeout", "0.3"])
        .start();
        assert_eq!(ok(&server.get("/")), "out of time", "{wait}");
        server.stop();
    }
}

/// The sockets and epoll instances that a process has.
fn sockets(pid: u32) -> Vec<String> {
    let mut open = descriptors(pid);
    open.retain(|open| open.contains("socket:") || open.contains("[eventpoll]"));
    open
}

/// `/fork` makes a child that goes on until the test creates `end`. It has a pair of sockets and a file of the request.
const LASTING_CHILD: &str = "
    if ($_SERVER['REQUEST_URI'] === '/fork') {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $file = fopen('written', 'w');
        stream_set_timeout($pair[1], 0, 1000); fgets($pair[1]); stream_set_timeout($pair[1], 60);
        if (!($child = pcntl_fork())) {
            $got = fgets($pair[1]); fwrite($file, $got . fgets($pair[1])); touch('ready');
            while (!file_exists('end')) { usleep(5000); clearstatcache(); }
            exit(0);
        }
        fwrite($pair[0], \"hello\\n\"); fwrite($pair[0], \"child\\n\"); return (string) $child;
    }";

fn with_lasting_child() -> Vec<(&'static str, ServerBuilder)> {
    workers(&format!(
        "{LASTING_CHILD} if ($_SERVER['REQUEST_URI'] === '/slow') {{ {UNTIL_GO} }} return 'served';"
    ))
}

/// Starts the child; returns its process id once it has what its request has given to it.
fn lasting_child(server: &Server, client: &mut Client) -> u32 {
    let child = ok(&client.get("/fork")).parse().expect("a process id");
    eventually("the child is ready", || {
        server.directory().join("ready").exists()
    });
    let written = std::fs::read_to_string(server.directory().join("written"));
    assert_eq!(written.expect("the child has written"), "hello\nchild\n");
    child
}

fn end_child(server: &Server, child: u32) {
    std::fs::write(server.directory().join("end"), "").expect("a file can be written");
    eventually("the child has ended", || {
        server.get("/");
        !std::path::Path::new(&format!("/proc/{child}/exe")).exists()
    });
}

#[test]
fn a_client_of_another_request_sees_the_end_of_its_connection() {
    for (name, server) in with_lasting_child() {
        if name.contains("classic") || name.contains("one at a time") || name.contains("FrankenPHP")
        {
            continue;
        }
        let server = server.start();
        let (mut slow, mut forking) = (server.connect(), server.connect());
        slow.send("GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        until_handled(&server, 1);
        let child = lasting_child(&server, &mut forking);
        let_go(&server);
        assert_eq!(ok(&slow.response()), "served", "{name}");
        assert!(slow.is_closed_by_server(), "{name}");
        // What the child closes goes on in the parent.
        assert_eq!(ok(&forking.get("/")), "served", "{name}");
        end_child(&server, child);
        assert_eq!(ok(&forking.get("/")), "served", "{name}");
        server.stop();
    }
}

/// Those that it has are the pair that its request made before, for which PHP code has waited there, and a channel whose other
/// end is closed, which the zygote has put in the place of its own.
#[test]
fn a_child_has_no_socket_of_the_server() {
    for (name, server) in with_lasting_child() {
        let server = server.start();
        let mut client = server.connect();
        let child = lasting_child(&server, &mut client);
        let own = sockets(child);
        assert_eq!(
            own.len(),
            3,
            "{name}: {own:#?} of {:#?}",
            sockets(server.workers()[0])
        );
        end_child(&server, child);
        server.stop();
    }
}
