//! Streams, sockets and curl handles.

use testkit::service::Peer;

use super::{SLOW_FILES, assert_refused, first_with, shared};
use crate::support::{let_go, ok, one_worker, until_handled};

#[test]
fn a_stream_that_a_task_reads_from() {
    let server = shared(
        "[$c, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);",
        "return 'got ' . fgets($c);",
        &[
            ("/write", "fwrite($c, 'garbage'); return 'written';"),
            ("/read", "return 'got ' . fread($c, 10);"),
            ("/eof", "return feof($c) ? 'end' : 'not yet';"),
            (
                "/copy",
                "stream_copy_to_stream(fopen('php://memory', 'r'), $c); return 'copied';",
            ),
            ("/contents", "return 'got ' . stream_get_contents($c);"),
            (
                "/receive",
                "return 'got ' . stream_socket_recvfrom($c, 10);",
            ),
            (
                "/send",
                "stream_socket_sendto($c, 'garbage'); return 'sent';",
            ),
            (
                "/shut",
                "stream_socket_shutdown($c, STREAM_SHUT_RDWR); return 'shut';",
            ),
            ("/close", "fclose($c); return 'closed';"),
            ("/called", "(fclose(...))($c); return 'closed';"),
            (
                "/object",
                "(new SplObjectStorage); call_user_func('fclose', $c); return 'closed';",
            ),
            (
                "/look",
                "stream_set_blocking($far, false); return 'far: ' . json_encode(fread($far, 100));",
            ),
            ("/answer", "fwrite($far, \"5\\n\"); return 'answered';"),
        ],
    )
    .start();
    let refused = [
        "/write",
        "/read",
        "/eof",
        "/copy",
        "/contents",
        "/receive",
        "/send",
        "/shut",
        "/close",
        "/called",
        "/object",
    ];
    let answer = first_with(&server, &refused, || {
        assert_eq!(ok(&server.get("/look")), "far: \"\"", "something was sent");
        assert_eq!(ok(&server.get("/answer")), "answered");
    });
    assert_eq!(answer, "got 5\n");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

/// The call that waits is not made on the stream: its descriptor tells.
#[test]
fn a_stream_that_a_task_selects() {
    let server = shared(
        "[$c, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);",
        "$read = [$c]; $none = null; return stream_select($read, $none, $none, 20) . ' ' . fgets($c);",
        &[
            ("/write", "fwrite($c, 'garbage'); return 'written';"),
            ("/read", "return 'got ' . fread($c, 10);"),
            ("/close", "fclose($c); return 'closed';"),
            ("/shut", "stream_socket_shutdown($c, STREAM_SHUT_RDWR); return 'shut';"),
            ("/look", "stream_set_blocking($far, false); return 'far: ' . json_encode(fread($far, 100));"),
            ("/answer", "fwrite($far, \"5\\n\"); return 'answered';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/write", "/read", "/close", "/shut"], || {
        assert_eq!(ok(&server.get("/look")), "far: \"\"", "something was sent");
        assert_eq!(ok(&server.get("/answer")), "answered");
    });
    assert_eq!(answer, "1 5\n");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_stream_of_a_wrapper_written_in_php() {
    let server = shared(
        "class Slow { public $context;
            function stream_open() { return true; } function stream_eof() { return false; } function stream_stat() { return []; }
            function stream_read() { usleep(300000); return \"late\\n\"; } }
        stream_wrapper_register('slow', 'Slow'); $c = fopen('slow://x', 'r');",
        "return 'got ' . fgets($c);",
        &[("/close", "fclose($c); return 'closed';")],
    )
    .start();
    let answer = first_with(&server, &["/close"], || {});
    assert_eq!(answer, "got late\n");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_socket_that_a_task_reads_from() {
    let server = shared(
        "socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair); [$c, $far] = $pair;",
        "return 'got ' . socket_read($c, 10);",
        &[
            ("/write", "socket_write($c, 'garbage'); return 'written';"),
            ("/close", "socket_close($c); return 'closed';"),
            ("/answer", "socket_write($far, '5'); return 'answered';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/write", "/close"], || {
        assert_eq!(ok(&server.get("/answer")), "answered");
    });
    assert_eq!(answer, "got 5");
    server.stop();
}

#[test]
fn a_socket_that_a_task_selects() {
    let server = shared(
        "socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair); [$c, $far] = $pair; $statement = [$c];",
        "$none = null; return socket_select($statement, $none, $none, 20) . ' ' . socket_read($c, 10);",
        &[
            ("/close", "socket_close($c); return 'closed';"),
            // The array is by reference: the one that waits goes on with what stood in it.
            ("/drop", "$statement = []; return 'dropped';"),
            ("/answer", "socket_write($far, '5'); return 'answered';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/close"], || {
        assert_eq!(ok(&server.get("/drop")), "dropped");
        assert_eq!(ok(&server.get("/answer")), "answered");
    });
    assert_eq!(answer, "1 5");
    server.stop();
}

#[test]
fn a_stream_that_is_a_socket_too() {
    let server = shared(
        "[$c, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0); $statement = socket_import_stream($c);",
        "return 'got ' . fgets($c);",
        &[
            ("/close", "socket_close($statement); return 'closed';"),
            ("/read", "return 'got ' . socket_read($statement, 10);"),
            ("/answer", "fwrite($far, \"5\\n\"); return 'answered';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/close", "/read"], || {
        assert_eq!(ok(&server.get("/answer")), "answered");
    });
    assert_eq!(answer, "got 5\n");
    server.stop();
}

#[test]
fn a_lock_on_a_file_that_a_task_waits_for() {
    let server = shared(
        "file_put_contents('locked', ''); $far = fopen('locked', 'r'); flock($far, LOCK_EX); $c = fopen('locked', 'w');",
        "return flock($c, LOCK_EX) ? 'locked' : 'not';",
        &[
            ("/write", "return (string) fwrite($c, 'text');"),
            ("/close", "fclose($c); return 'closed';"),
            ("/unlock", "flock($far, LOCK_UN); return 'unlocked';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/close"], || {
        assert_eq!(ok(&server.get("/write")), "4", "a log is everybody's");
        assert_eq!(ok(&server.get("/unlock")), "unlocked");
    });
    assert_eq!(answer, "locked");
    server.stop();
}

#[test]
fn a_curl_handle() {
    let server = shared(
        "$c = curl_init(getenv('URL')); curl_setopt($c, CURLOPT_RETURNTRANSFER, true);",
        "return curl_exec($c);",
        &[
            ("/exec", "return (string) curl_exec($c);"),
            ("/reset", "curl_reset($c); return 'reset';"),
            (
                "/add",
                "return (string) curl_multi_add_handle(curl_multi_init(), $c);",
            ),
        ],
    )
    .env("URL", Peer::start().url(500))
    .start();
    assert_eq!(
        first_with(&server, &["/exec", "/reset", "/add"], || {}),
        "late\n"
    );
    server.stop();
}

#[test]
fn a_curl_handle_that_a_multi_handle_works_on() {
    let server = shared(
        "$far = curl_multi_init(); $c = curl_init(getenv('URL')); curl_setopt($c, CURLOPT_RETURNTRANSFER, true); curl_multi_add_handle($far, $c);",
        "do { curl_multi_exec($far, $running); curl_multi_select($far); } while ($running); return curl_multi_getcontent($c);",
        &[
            ("/reset", "curl_reset($c); return 'reset';"),
            ("/set", "curl_setopt($c, CURLOPT_URL, 'http://127.0.0.1:1/'); return 'set';"),
            ("/exec", "return (string) curl_exec($c);"),
            ("/add", "return (string) curl_multi_add_handle(curl_multi_init(), $c);"),
            ("/remove", "return (string) curl_multi_remove_handle(curl_multi_init(), $c);"),
        ],
    )
    .env("URL", Peer::start().url(500))
    .start();
    let answer = first_with(
        &server,
        &["/reset", "/set", "/exec", "/add", "/remove"],
        || {},
    );
    assert_eq!(answer, "late\n");
    assert_eq!(ok(&server.get("/reset")), "reset");
    server.stop();
}

#[test]
fn a_curl_handle_whose_callback_waits() {
    let server = shared(
        "$c = curl_init(getenv('URL')); curl_setopt($c, CURLOPT_WRITEFUNCTION, function ($c, $text) { usleep(300000); return strlen($text); });",
        "return curl_exec($c) ? 'read' : 'failed';",
        &[("/reset", "curl_reset($c); return 'reset';")],
    )
    .env("URL", Peer::start().url(1))
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_refused(&server, "/reset");
    assert_eq!(ok(&first.response()), "read");
    assert_eq!(ok(&server.get("/reset")), "reset");
    server.stop();
}

#[test]
fn a_stream_whose_filter_waits() {
    let server = shared(
        "class Waits extends php_user_filter { function filter($in, $out, &$consumed, bool $closing): int {
            UNTIL_GO
            while ($bucket = stream_bucket_make_writeable($in)) { $consumed += $bucket->datalen; stream_bucket_append($out, $bucket); }
            return PSFS_PASS_ON; } }
        stream_filter_register('waits', 'Waits');
        $c = fopen('php://memory', 'w+'); $far = stream_filter_append($c, 'waits', STREAM_FILTER_WRITE);",
        "return 'wrote ' . fwrite($c, 'text');",
        &[
            ("/remove", "stream_filter_remove($far); return 'removed';"),
            ("/append", "stream_filter_append($c, 'string.rot13'); return 'appended';"),
            ("/print", "fprintf($c, '%d', 5); return 'printed';"),
            ("/close", "fclose($c); return 'closed';"),
        ],
    )
    .start();
    let refused = ["/remove", "/append", "/print", "/close"];
    let answer = first_with(&server, &refused, || let_go(&server));
    assert_eq!(answer, "wrote 4");
    assert_eq!(ok(&server.get("/remove")), "removed");
    server.stop();
}

#[test]
fn a_file_object_of_a_wrapper_written_in_php() {
    let server = shared(
        &format!("{SLOW_FILES} $c = new SplFileObject('slow://x');"),
        "return 'got ' . $c->fgets();",
        &[
            ("/read", "return $c->fgets();"),
            ("/eof", "return $c->eof();"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/read", "/eof"], || let_go(&server));
    assert_eq!(answer, "got late\n");
    server.stop();
}

#[test]
fn a_directory_of_a_wrapper_written_in_php() {
    let server = shared(
        &format!("{SLOW_FILES} $c = opendir('slow://x');"),
        "return 'got ' . readdir($c);",
        &[
            ("/read", "return readdir($c);"),
            ("/close", "closedir($c); return 'closed';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/read", "/close"], || let_go(&server));
    assert_eq!(answer, "got late");
    server.stop();
}

#[test]
fn a_hash_of_a_stream_of_a_wrapper_written_in_php() {
    let server = shared(
        "$c = hash_init('crc32b');",
        &format!(
            "{SLOW_FILES} hash_update_stream($c, fopen('slow://x', 'r')); return hash_final($c);"
        ),
        &[("/final", "return hash_final($c);")],
    )
    .start();
    let answer = first_with(&server, &["/final"], || let_go(&server));
    assert_eq!(answer.len(), 8);
    server.stop();
}

#[test]
fn the_directory_that_was_opened_last() {
    let server = one_worker(
        "class Slow { public $context; function dir_opendir() { return true; } function dir_closedir() { return true; }
            function dir_readdir() { usleep(1000); return 'late'; } function dir_rewinddir() { return true; } }
        stream_wrapper_register('slow', 'Slow');
        return function () {
            opendir('slow://x');
            $reads = Hearth\\async(fn () => readdir());
            $said = [];
            foreach (['closedir', 'rewinddir', 'readdir'] as $function) {
                try { $said[] = $function(); } catch (Error $error) { $said[] = strtok($error->getMessage(), ':'); }
            }
            return implode(', ', $said) . '; ' . $reads->await() . (closedir() ?? ', closed');
        };",
    )
    .start();
    let refused = ["Two tasks on one connection"; 3].join(", ");
    assert_eq!(ok(&server.get("/")), format!("{refused}; late, closed"));
    server.stop();
}

#[test]
fn a_writer_of_xml() {
    let server = shared(
        &format!("{SLOW_FILES} $c = new XMLWriter(); $c->openUri('slow://x'); $c->text('x');"),
        "return 'flushed ' . $c->flush();",
        &[
            ("/text", "$c->text('y'); return 'written';"),
            ("/function", "xmlwriter_text($c, 'y'); return 'written';"),
            ("/flush", "return 'flushed ' . $c->flush();"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/text", "/function", "/flush"], || {
        let_go(&server)
    });
    assert_eq!(answer, "flushed 1");
    server.stop();
}
