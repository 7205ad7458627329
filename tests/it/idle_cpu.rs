//! Nothing spins: a process that waits uses no CPU.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use testkit::{Server, cpu_time, in_session};

use crate::support::{ok, one_of_three, one_worker, until_handled};

/// CPU time of all processes of the server during half a second.
fn used_by(server: &Server) -> Duration {
    let all = || -> Duration {
        in_session(server.pid())
            .into_iter()
            .filter_map(cpu_time)
            .sum()
    };
    let before = all();
    std::thread::sleep(Duration::from_millis(500));
    all().saturating_sub(before)
}

#[track_caller]
fn assert_idle(server: &Server, what: &str) {
    // A process that spins does so all the time; what was begun before may still end in the first half second.
    one_of_three(|| {
        let used = used_by(server);
        if used <= Duration::from_millis(30) {
            return Ok(());
        }
        Err(format!("{what}: {used:?} of CPU in half a second"))
    });
}

/// The entry script makes a pipe with a name; requests open it and wait for what the test writes.
const GO: &str = "posix_mkfifo('go', 0600);";

/// Tells the request that waits for the pipe to go on.
fn go(server: &Server) {
    std::fs::write(server.directory().join("go"), "x\n").expect("it is read");
}

#[test]
fn an_idle_server_uses_no_cpu() {
    let server = Server::script("return fn () => 'x';")
        .args(["--workers", "2"])
        .start();
    assert_idle(&server, "before the first request");
    let mut client = server.connect();
    assert_eq!(ok(&client.get("/")), "x");
    assert_idle(&server, "with an idle connection");
    server.stop();
}

#[test]
fn a_request_that_waits_while_its_client_has_sent_the_next() {
    let server = one_worker(&format!(
        "{GO} return function ($request) {{ if ($request->query('wait')) {{ fread(fopen('go', 'r+'), 1); }} return $request->target; }};"
    ))
    .start();
    let mut client = server.connect();
    client.send("GET /?wait=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    client.send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    std::thread::sleep(Duration::from_millis(100));
    assert_idle(&server, "a pipelined request");
    go(&server);
    assert_eq!(ok(&client.response()), "/?wait=1");
    assert_eq!(ok(&client.response()), "/next");
    server.stop();
}

/// A request that waits in `code` until it is told to go on, and then answers.
#[track_caller]
fn waits_quietly(what: &str, code: &str) {
    let server = one_worker(&format!(
        "{GO} return function () {{ $go = fopen('go', 'r+'); {code} }};"
    ))
    .args(["--request-timeout", "60"])
    .start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    std::thread::sleep(Duration::from_millis(100));
    assert_idle(&server, what);
    assert_eq!(server.in_flight(), 1, "it waits no more");
    go(&server);
    assert_eq!(ok(&client.response()), "done");
    server.stop();
}

#[test]
fn a_pipe_whose_program_closed_its_end_but_still_runs() {
    waits_quietly(
        "proc_open",
        r#"$p = proc_open('exec >&- 2>&-; read line <go', [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes);
        fread($pipes[1], 10); proc_close($p); return 'done';"#,
    );
}

#[test]
fn a_select_on_a_pipe_and_a_silent_one() {
    waits_quietly(
        "stream_select",
        r#"[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $read = [$a, $go]; $none = null;
        stream_select($read, $none, $none, 60); return 'done';"#,
    );
}

#[test]
fn a_socket_whose_peer_shut_down_one_direction() {
    waits_quietly(
        "half-closed socket",
        r#"$listener = stream_socket_server('tcp://127.0.0.1:0'); $a = stream_socket_client('tcp://' . stream_socket_get_name($listener, false));
        $b = stream_socket_accept($listener); stream_socket_shutdown($b, STREAM_SHUT_WR); fread($a, 10);
        $read = [$b, $go]; $none = null; stream_select($read, $none, $none, 60); return 'done';"#,
    );
}

#[test]
fn a_descriptor_that_another_request_would_close_while_one_waits_on_it() {
    let server = one_worker(
        r#"$kept = null;
        return function ($request) use (&$kept) {
            if ($request->path === '/close') { try { fclose($kept); return 'closed'; } catch (Error) { return 'refused'; } }
            [$kept, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            try { fread($kept, 10); return 'read'; } catch (Throwable $e) { return get_class($e); }
        };"#,
    )
    .args(["--request-timeout", "2"])
    .start();
    let mut waiting = server.connect();
    waiting.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/close")), "refused");
    assert_idle(&server, "after the refused close");
    assert_eq!(ok(&waiting.response()), "Hearth\\TimeoutError");
    assert_eq!(ok(&server.get("/close")), "closed");
    assert_eq!(ok(&server.get("/wait")), "Hearth\\TimeoutError");
    server.stop();
}

/// A Unix socket announces room to write whenever its other end reads: a database that takes up a query must not wake us.
#[test]
fn who_waits_for_an_answer_is_not_woken_by_the_reading_of_the_question() {
    const TIMES: u64 = 200;
    let server = one_worker(&format!(
        r#"return function () {{
            $switches = fn () => preg_match('/^voluntary_ctxt_switches:\s+(\d+)/m', file_get_contents('/proc/self/status'), $m) ? (int) $m[1] : 0;
            $peer = stream_socket_client('unix://' . __DIR__ . '/peer');
            for ($i = 0; $i < {TIMES}; ++$i) {{
                fwrite($peer, '?');
                fread($peer, 1);
                $before ??= $switches();
            }}
            return (string) ($switches() - $before);
        }};"#
    ))
    .start();
    let listener = UnixListener::bind(server.directory().join("peer")).expect("a socket");
    let peer = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the app");
        let mut byte = [0];
        while socket.read(&mut byte).is_ok_and(|n| n == 1) {
            std::thread::sleep(Duration::from_millis(2));
            if socket.write_all(b"!").is_err() {
                break;
            }
        }
    });
    let woken: u64 = ok(&server.get("/")).parse().expect("a number");
    assert!(
        // Less often where an answer was there before it came to wait, on a busy machine.
        (TIMES / 4..TIMES + TIMES / 4).contains(&woken),
        "woken {woken} times for {TIMES} answers"
    );
    peer.join().expect("the peer ends");
    server.stop();
}
