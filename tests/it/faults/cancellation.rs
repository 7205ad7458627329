//! Clients that leave before they have their answer.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use testkit::Server;
use testkit::service::{Nginx, Peer, Redis};

use crate::support::{eventually, ok, one_worker, until_handled};

/// `/long` waits, `/stream` waits after its first piece; what cancels one of them leaves a mark, which `/look` shows.
const CANCELLED_LEAVES_A_MARK: &str = r#"return function ($request) {
    $wait = function () { try { sleep(20); } finally { file_put_contents('mark', 'cancelled'); } };
    return match ($request->path) {
        '/look' => @file_get_contents('mark') ?: 'nothing',
        '/long' => $wait(),
        '/stream' => (function () use ($wait) { yield 'first'; $wait(); })(),
        default => 'at once',
    };
};"#;

#[track_caller]
fn expect_cancelled(server: &Server) {
    eventually("the request of a client that is gone ends", || {
        ok(&server.get("/look")) == "cancelled"
    });
}

#[test]
fn a_client_that_hangs_up_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_a_stream_ends_it() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().expect("a header").status, 200);
    assert_eq!(client.chunk().expect("a chunk"), b"first");
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

#[test]
fn a_client_that_hangs_up_on_a_unix_socket_cancels_its_request() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK)
        .args(["--listen", "127.0.0.1:0", "--listen", "unix:app.sock"])
        .start();
    let path = server.directory().join("app.sock");
    let mut client = UnixStream::connect(path).expect("the Unix socket accepts");
    client
        .write_all(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("the request can be sent");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/look")), "nothing");
    drop(client);
    expect_cancelled(&server);
    server.stop();
}

/// As under nginx: an end of sending is no reason not to answer, unless the answer has to be waited for.
#[test]
fn a_client_that_ends_its_sending_gets_what_is_there_at_once() {
    let server = one_worker(CANCELLED_LEAVES_A_MARK).start();
    let mut client = server.connect();
    client.send("GET /now HTTP/1.1\r\nHost: x\r\n\r\nGET /then HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert_eq!(ok(&client.response()), "at once");
    assert_eq!(ok(&client.response()), "at once");
    assert!(client.is_closed_by_server());
    let mut client = server.connect();
    client.send("GET /long HTTP/1.1\r\nHost: x\r\n\r\n");
    let _ = client.stream().shutdown(Shutdown::Write);
    assert!(
        client.is_closed_by_server(),
        "an answer after 20 s of waiting"
    );
    expect_cancelled(&server);
    server.stop();
}

/// Each path but the last one waits until its client leaves; `/ended` tells how many requests have ended.
const REPORTS_ITS_OWN_ERROR: &str = r"return function ($request) {
    static $ended = 0;
    if ($request->path === '/ended') { return (string) $ended; }
    Hearth\defer(function () use (&$ended) { $ended++; });
    $wrapped = function () {
        touch('waits');
        try { sleep(20); } catch (Hearth\CancelledError $error) { throw new RuntimeException('read error', 0, $error); }
    };
    switch ($request->path) {
        case '/redis':
            $redis = new Redis();
            $redis->connect('127.0.0.1', (int) getenv('PORT'));
            touch('waits');
            return $redis->rawCommand('BLPOP', 'nothing', '20');
        case '/wrapped': return $wrapped();
        case '/awaited': return Hearth\async($wrapped)->await();
        case '/left': $task = Hearth\async($wrapped); return sleep(20);
        case '/cancelled': $task = Hearth\async($wrapped); usleep(1000); $task->cancel(); return $task->await();
    }
};";

/// An extension reports a wait that was ended as an error of its own, in which the engine notes the cancellation.
#[test]
fn an_error_that_a_client_caused_by_leaving_is_not_logged() {
    let server = one_worker(REPORTS_ITS_OWN_ERROR)
        .env("PORT", Redis::shared().port.to_string())
        .start();
    for (before, case) in ["redis", "wrapped", "awaited", "left"].iter().enumerate() {
        let mut client = server.connect();
        client.send(format!("GET /{case} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let mark = server.directory().join("waits");
        eventually("the request waits", || std::fs::remove_file(&mark).is_ok());
        until_handled(&server, 1);
        drop(client);
        eventually("the request of a client that is gone ends", || {
            ok(&server.get("/ended")) == (before + 1).to_string()
        });
    }
    let log = server.log().text();
    assert!(!log.contains("read error"), "{log}");
    // A client that is still there gets an error, so that one is logged.
    assert_eq!(server.get("/cancelled").status, 500);
    eventually("the error is logged", || {
        server
            .log()
            .text()
            .contains("Next RuntimeException: read error")
    });
    server.stop();
}

/// libzmq aborts the process at any other error of poll(2) than EINTR.
#[test]
fn a_cancelled_poll_of_a_library_fails_with_an_error_that_poll_may_have() {
    let server = one_worker(
        r"return function ($request) {
            $c = FFI::cdef('struct entry { int fd; short events, ready; }; int poll(struct entry *, unsigned long, int); int eventfd(unsigned, int);
                int close(int); int *__errno_location(void);');
            $entry = $c->new('struct entry'); $entry->fd = $c->eventfd(0, 0); $entry->events = 1;
            try { $c->poll(FFI::addr($entry), 1, -1); } finally { $error = $c->__errno_location()[0]; $c->close($entry->fd); file_put_contents('error', (string) $error); }
        };",
    )
    .args(["--ini", "ffi.enable=1"])
    .start();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    let file = server.directory().join("error");
    eventually("the poll fails", || file.exists());
    let text = std::fs::read_to_string(file).expect("a file");
    assert_eq!(text, "4", "EINTR");
    server.stop();
}

/// PHP's TLS heeds no error of poll(2), and reads again.
#[test]
fn a_wait_for_tls_that_is_ended_stops_no_other_request() {
    let port = Peer::start().port;
    let peer = Nginx::start_tls(&format!(
        "location / {{ proxy_pass http://127.0.0.1:{port}; }}"
    ));
    let server = one_worker(
        r"$silent = stream_socket_server('tcp://127.0.0.1:0');
        return function ($request) use ($silent) {
            $context = stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]);
            $name = substr(getenv('URL'), strlen('https://'));
            $waits = [
                '/stream' => fn () => file_get_contents(getenv('URL') . '/20000', context: $context),
                '/handshake' => fn () => stream_socket_client('tls://' . stream_socket_get_name($silent, false), context: $context),
                '/read' => function () use ($context, $name) {
                    $stream = stream_socket_client('tls://' . $name, context: $context);
                    fwrite($stream, 'GET /20000 HTTP/1.0' . PHP_EOL . PHP_EOL);
                    return fgets($stream);
                },
            ];
            if ($request->path === '/plain') {
                [$near, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
                try { Hearth\timeout(0.1, fn () => fgets($near)); } catch (Hearth\TimeoutError) {}
                fwrite($far, 'late' . PHP_EOL);
                return fgets($near);
            }
            $wait = $waits[$request->query('wait') ?? $request->path] ?? fn () => 'at once';
            if ($request->query('wait') !== null) { return $wait(); }
            try { return Hearth\timeout(0.1, $wait); } catch (Hearth\TimeoutError) { return 'over'; }
        };",
    )
    .env("URL", peer.url())
    .start();
    for wait in ["/stream", "/handshake", "/read"] {
        let began = Instant::now();
        assert_eq!(ok(&server.get(wait)), "over", "{wait}");
        let mut client = server.connect();
        client.send(format!("GET /?wait={wait} HTTP/1.1\r\nHost: x\r\n\r\n"));
        until_handled(&server, 1);
        drop(client);
        eventually("the client's request ends", || server.in_flight() == 0);
        assert_eq!(ok(&server.get("/")), "at once");
        assert!(began.elapsed() < Duration::from_secs(10), "{wait}");
    }
    assert_eq!(ok(&server.get("/plain")), "late\n", "it is still open");
    let log = server.log().text();
    assert!(!log.contains("SSL"), "{log}");
    server.stop();
}

/// Under `php`, a wrapper that throws there takes all memory.
#[test]
fn scandir_ends_when_a_wrapper_of_php_code_is_cancelled() {
    let server = one_worker(
        r"class Slow {
            public $context; private $names = ['one', 'two'];
            function dir_opendir() { return true; }
            function dir_readdir() { usleep($this->names && !isset($_GET['wait']) ? 1 : 60_000_000); return array_shift($this->names) ?? false; }
            function dir_closedir() {}
        }
        stream_wrapper_register('slow', 'Slow');
        return function ($request) {
            if ($request->path === '/peak') { return memory_get_peak_usage() < 16_000_000 ? 'small' : 'large'; }
            try { return Hearth\timeout(0.1, fn () => scandir('slow://x')); } catch (Hearth\TimeoutError) { return 'over'; }
        };",
    )
    .start();
    assert_eq!(ok(&server.get("/")), "over");
    let mut client = server.connect();
    client.send("GET /?wait HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    drop(client);
    eventually("the client's request ends", || server.in_flight() == 0);
    assert_eq!(ok(&server.get("/peak")), "small");
    server.stop();
}
