//! Two tasks on one connection: the second is refused before anything is sent, received or closed, by an Error that names
//! both, and the first one's conversation goes on.

use testkit::Server;
use testkit::service::{MariaDb, Peer, Postgres, Redis};

use crate::support::{UNTIL_GO, let_go, ok, one_worker, until_handled};

/// A server whose `/first` runs `first` and whose other paths run `second`; `$c` is the connection that `open` makes. `UNTIL_GO`
/// waits for [`let_go`].
fn shared(open: &str, first: &str, second: &[(&str, &str)]) -> testkit::ServerBuilder {
    let others: String = second
        .iter()
        .map(|(path, code)| format!("if ($request->path === '{path}') {{ {code} }}\n"))
        .collect();
    let code = format!(
        "$c = $far = $statement = null;
        return function ($request) use (&$c, &$far, &$statement) {{
            if ($request->path === '/open') {{ {open} return 'open'; }}
            try {{
                if ($request->path === '/first') {{ {first} }}
                {others}
            }} catch (Error $e) {{ return get_class($e) . ': ' . $e->getMessage(); }}
            return 'no such path';
        }};"
    );
    one_worker(&code.replace("UNTIL_GO", UNTIL_GO))
}

#[track_caller]
fn assert_refused(server: &Server, path: &str) {
    let text = ok(&server.get(path));
    assert!(
        text.starts_with("Error: Two tasks on one connection"),
        "{path}: {text}"
    );
    assert!(text.matches("task ").count() >= 2, "{path}: {text}");
    assert!(text.matches("(request ").count() == 2, "{path}: {text}");
    assert!(text.contains("Hearth\\Pool"), "{path}: {text}");
}

/// Has `/first` wait, sees each of `refused` refused, has `let_go` end the wait, and gives the first one's answer.
#[track_caller]
fn first_with(server: &Server, refused: &[&str], let_go: impl FnOnce()) -> String {
    assert_eq!(ok(&server.get("/open")), "open");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(server, 1);
    for path in refused {
        assert_refused(server, path);
    }
    let_go();
    ok(&first.response())
}

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
fn a_redis_object() {
    let server = shared(
        "$c = new Redis(); $c->connect('127.0.0.1', (int) getenv('PORT')); $far = new Redis();",
        "return 'got ' . $c->blPop(['two-tasks'], 20)[1];",
        &[
            ("/get", "return 'got ' . var_export($c->get('x'), true);"),
            ("/close", "$c->close(); return 'closed';"),
            ("/connect", "$c->connect('127.0.0.1', (int) getenv('PORT')); return 'connected';"),
            ("/pipeline", "$c->multi(Redis::PIPELINE); return 'begun';"),
            ("/push", "$far->connect('127.0.0.1', (int) getenv('PORT')); $far->rPush('two-tasks', 'pushed'); return 'pushed';"),
        ],
    )
    .env("PORT", Redis::shared().port.to_string())
    .start();
    let answer = first_with(
        &server,
        &["/get", "/close", "/connect", "/pipeline"],
        || {
            assert_eq!(ok(&server.get("/push")), "pushed");
        },
    );
    assert_eq!(answer, "got pushed");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_pdo_object_and_its_statements() {
    for (service, sleep) in [
        ("mysql", "SELECT SLEEP(0.5), 'mine'"),
        ("pgsql", "SELECT pg_sleep(0.5), 'mine'"),
    ] {
        let dsn = if service == "mysql" {
            MariaDb::shared().dsn()
        } else {
            Postgres::shared().dsn()
        };
        let server = shared(
            "$c = getenv('DSN')[0] === 'm' ? new PDO(getenv('DSN'), 'hearth', 'hearth') : new PDO(getenv('DSN'));
            $statement = $c->prepare('SELECT 1');",
            &format!("return $c->query(\"{sleep}\")->fetchColumn(1);"),
            &[
                ("/query", "return (string) $c->query('SELECT 2')->fetchColumn();"),
                ("/exec", "return (string) $c->exec('DELETE FROM nothing');"),
                ("/begin", "return (string) $c->beginTransaction();"),
                ("/prepare", "$c->prepare('SELECT 3'); return 'prepared';"),
                ("/execute", "$statement->execute(); return 'executed';"),
            ],
        )
        .env("DSN", dsn)
        .start();
        let refused = ["/query", "/exec", "/begin", "/prepare", "/execute"];
        assert_eq!(first_with(&server, &refused, || {}), "mine");
        assert_eq!(ok(&server.get("/query")), "2");
        server.stop();
    }
}

#[test]
fn a_mysqli_object_and_its_statements() {
    let server = shared(
        "$c = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT')); $statement = $c->prepare('SELECT 1');",
        "return $c->query(\"SELECT SLEEP(0.5), 'mine'\")->fetch_row()[1];",
        &[
            ("/query", "return $c->query('SELECT 2')->fetch_row()[0];"),
            ("/function", "return mysqli_query($c, 'SELECT 2')->fetch_row()[0];"),
            ("/execute", "$statement->execute(); return 'executed';"),
            ("/statement", "$statement->close(); return 'closed';"),
            ("/kill", "mysqli_close($c); return 'closed';"),
            ("/close", "$c->close(); return 'closed';"),
        ],
    )
    .env("PORT", MariaDb::shared().port.to_string())
    .start();
    let refused = [
        "/query",
        "/function",
        "/execute",
        "/statement",
        "/kill",
        "/close",
    ];
    assert_eq!(first_with(&server, &refused, || {}), "mine");
    assert_eq!(ok(&server.get("/query")), "2");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_mysqli_object_that_a_task_polls() {
    let server = shared(
        "$c = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));",
        "$c->query(\"SELECT SLEEP(0.5), 'mine'\", MYSQLI_ASYNC);
        $read = $none = $never = [$c];
        return mysqli_poll($read, $none, $never, 20) . ' ' . $c->reap_async_query()->fetch_row()[1];",
        &[
            ("/query", "return $c->query('SELECT 2')->fetch_row()[0];"),
            ("/close", "$c->close(); return 'closed';"),
        ],
    )
    .env("PORT", MariaDb::shared().port.to_string())
    .start();
    assert_eq!(first_with(&server, &["/query", "/close"], || {}), "1 mine");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

/// The stream of `pg_socket()` is the connection's.
#[test]
fn a_connection_of_ext_pgsql_whose_socket_a_task_selects() {
    let server = shared(
        "$c = pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT')); $far = pg_socket($c);",
        "pg_send_query($c, \"SELECT 'mine' FROM pg_sleep(0.5)\"); $read = [$far]; $none = null;
        return stream_select($read, $none, $none, 20) . ' ' . pg_fetch_result(pg_get_result($c), 0, 0);",
        &[("/close", "pg_close($c); return 'closed';")],
    )
    .env("PORT", Postgres::shared().port.to_string())
    .start();
    assert_eq!(first_with(&server, &["/close"], || {}), "1 mine");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_connection_of_ext_pgsql() {
    let server = shared(
        "$c = pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'));",
        "return pg_fetch_result(pg_query($c, \"SELECT 'mine' FROM pg_sleep(0.5)\"), 0, 0);",
        &[
            (
                "/query",
                "return pg_fetch_result(pg_query($c, 'SELECT 2'), 0, 0);",
            ),
            ("/send", "pg_send_query($c, 'SELECT 2'); return 'sent';"),
            ("/close", "pg_close($c); return 'closed';"),
        ],
    )
    .env("PORT", Postgres::shared().port.to_string())
    .start();
    assert_eq!(
        first_with(&server, &["/query", "/send", "/close"], || {}),
        "mine"
    );
    assert_eq!(ok(&server.get("/query")), "2");
    assert_eq!(ok(&server.get("/close")), "closed");
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
        ],
    )
    .env("URL", Peer::start().url(500))
    .start();
    assert_eq!(first_with(&server, &["/exec", "/reset"], || {}), "late\n");
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

/// Both have asked before either waits: whose answer comes first is unknown. So neither gets any.
#[test]
fn a_connection_that_both_have_sent_on_is_of_no_use_to_either() {
    let server = shared(
        "[$c, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);",
        "fwrite($c, \"first\\n\"); usleep(200000); return 'got ' . fgets($c);",
        &[
            (
                "/second",
                "fwrite($c, \"second\\n\"); usleep(400000); return 'got ' . fgets($c);",
            ),
            ("/later", "return 'wrote ' . fwrite($c, 'x');"),
            ("/read", "return 'got ' . fgets($c);"),
            ("/close", "fclose($c); return 'closed';"),
            (
                "/again",
                "fwrite($far, \"fresh\\n\"); return 'got ' . fgets($c);",
            ),
        ],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let (mut first, mut second) = (server.connect(), server.connect());
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    second.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
    for (which, text) in [ok(&first.response()), ok(&second.response())]
        .iter()
        .enumerate()
    {
        assert!(text.starts_with("Error: Two tasks"), "{which}: {text}");
    }
    let text = ok(&server.get("/later"));
    assert!(text.starts_with("Error: Two tasks"), "{text}");
    assert_eq!(ok(&server.get("/read")), "got ", "the stream has ended");
    assert_eq!(ok(&server.get("/close")), "closed");
    assert_eq!(ok(&server.get("/open")), "open");
    assert_eq!(ok(&server.get("/again")), "got fresh\n");
    server.stop();
}

#[test]
fn what_one_task_has_left_unanswered_does_not_spoil_the_next_ones_conversation() {
    let server = shared(
        "[$c, $far] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);",
        "fwrite($c, \"question\\n\"); return 'got ' . fgets($c);",
        &[
            (
                "/log",
                "fwrite($c, \"no answer needed\\n\"); return 'logged';",
            ),
            ("/intruder", "return 'got ' . fgets($c);"),
            ("/answer", "fwrite($far, \"answer\\n\"); return 'answered';"),
        ],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    assert_eq!(ok(&server.get("/log")), "logged");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_refused(&server, "/intruder");
    assert_eq!(ok(&server.get("/answer")), "answered");
    assert_eq!(ok(&first.response()), "got answer\n");
    server.stop();
}

/// Functions of SQL that PHP code is: SQLite calls them in the middle of its own.
#[test]
fn a_pdo_object_whose_own_function_waits() {
    let server = shared(
        "$c = new PDO('sqlite::memory:'); $c->exec('CREATE TABLE t (x)'); $statement = $c->prepare('SELECT 1');
        $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });",
        "return 'got ' . $c->query('SELECT waits()')->fetchColumn();",
        &[
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
            ("/statement", "$statement->execute(); return 'asked';"),
            ("/drop", "$c->exec('DROP TABLE t'); return 'dropped';"),
        ],
    )
    .start();
    let refused = ["/query", "/statement", "/drop"];
    let answer = first_with(&server, &refused, || let_go(&server));
    assert_eq!(answer, "got late");
    assert_eq!(ok(&server.get("/statement")), "asked");
    server.stop();
}

#[test]
fn an_sqlite3_object_its_statements_and_results() {
    let server = shared(
        "$c = new SQLite3(':memory:'); $statement = $c->prepare('SELECT 1'); $far = $c->query('SELECT 2');
        $c->createFunction('waits', function () { UNTIL_GO return 'late'; });",
        "return 'got ' . $c->querySingle('SELECT waits()');",
        &[
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
            ("/statement", "$statement->execute(); return 'asked';"),
            ("/result", "$far->fetchArray(); return 'fetched';"),
            ("/finish", "$far->finalize(); return 'finished';"),
            ("/close", "$c->close(); return 'closed';"),
        ],
    )
    .start();
    let refused = ["/query", "/statement", "/result", "/finish", "/close"];
    let answer = first_with(&server, &refused, || let_go(&server));
    assert_eq!(answer, "got late");
    assert_eq!(ok(&server.get("/finish")), "finished");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_statement_of_sqlite3_whose_collation_waits() {
    let server = shared(
        "$c = new SQLite3(':memory:'); $statement = $c->prepare(\"SELECT 'a' < 'b' COLLATE waits\");
        $c->createCollation('waits', function ($a, $b) { UNTIL_GO return strcmp($a, $b); });
        $statement = $c->prepare(\"SELECT 'a' < 'b' COLLATE waits\");",
        "return 'got ' . $statement->execute()->fetchArray()[0];",
        &[("/close", "$c->close(); return 'closed';")],
    )
    .start();
    let answer = first_with(&server, &["/close"], || let_go(&server));
    assert_eq!(answer, "got 1");
    server.stop();
}

/// A constructor that the driver calls for a row.
#[test]
fn a_pdo_object_that_makes_an_object_of_a_row() {
    let server = shared(
        "final class Row { function __construct() { UNTIL_GO } }
        $c = new PDO('sqlite::memory:');",
        "return json_encode($c->query('SELECT 1 AS x UNION SELECT 2')->fetchAll(PDO::FETCH_CLASS, Row::class));",
        &[("/query", "$c->query('SELECT 2'); return 'asked';")],
    )
    .start();
    let answer = first_with(&server, &["/query"], || let_go(&server));
    assert_eq!(answer, "[{\"x\":1},{\"x\":2}]");
    server.stop();
}

#[test]
fn a_redis_object_that_unserializes_what_waits() {
    let server = shared(
        "final class Wakes { function __unserialize(array $data): void { UNTIL_GO } }
        $c = new Redis(); $c->connect('127.0.0.1', (int) getenv('PORT'));
        $c->set('key', serialize(new Wakes())); $c->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_PHP);",
        "return get_class($c->get('key'));",
        &[
            ("/ping", "$c->ping(); return 'pong';"),
            ("/close", "$c->close(); return 'closed';"),
        ],
    )
    .env("PORT", Redis::shared().port.to_string())
    .start();
    let answer = first_with(&server, &["/ping", "/close"], || let_go(&server));
    assert_eq!(answer, "Wakes");
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

const SLOW_FILES: &str = "class Slow { public $context; private $read = false;
    function stream_open() { return true; } function stream_eof() { return $this->read; } function stream_stat() { return []; }
    function url_stat() { return []; } function stream_read() { if ($this->read) { return ''; } UNTIL_GO $this->read = true; return \"late\\n\"; }
    function dir_opendir() { return true; } function dir_readdir() { UNTIL_GO return 'late'; } function dir_closedir() { return true; } }
    stream_wrapper_register('slow', 'Slow');";

/// `LOAD DATA LOCAL INFILE` reads the file by a wrapper.
#[test]
fn a_mysqli_object_that_reads_from_a_wrapper_written_in_php() {
    let server = shared(
        "$c = mysqli_init(); $c->options(MYSQLI_OPT_LOCAL_INFILE, 1);
        $c->real_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));
        $c->query('CREATE TEMPORARY TABLE t (x TEXT)');",
        &format!("{SLOW_FILES} $c->query(\"LOAD DATA LOCAL INFILE 'slow://x' INTO TABLE t\"); return 'got ' . $c->query('SELECT x FROM t')->fetch_row()[0];"),
        &[
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
            ("/close", "$c->close(); return 'closed';"),
        ],
    )
    .args(["--ini", "mysqli.allow_local_infile=1"])
    .env("PORT", MariaDb::shared().port.to_string())
    .start();
    let answer = first_with(&server, &["/query", "/close"], || let_go(&server));
    assert_eq!(answer, "got late");
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

/// The Fiber stands in the middle of a call on the connection, also while its task runs something else, or has ended.
#[test]
fn a_connection_in_whose_call_a_fiber_is_suspended() {
    let server = shared(
        "$c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('suspends', fn () => Fiber::suspend());
        $statement = new Fiber(fn () => $c->query('SELECT suspends()')->fetchColumn());",
        "$statement->start(); return 'suspended';",
        &[
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
            ("/resume", "$statement->resume('on'); return $statement->getReturn();"),
        ],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    assert_eq!(ok(&server.get("/first")), "suspended");
    let text = ok(&server.get("/query"));
    assert!(
        text.starts_with("Error: Two tasks on one connection"),
        "{text}"
    );
    assert_eq!(ok(&server.get("/resume")), "on");
    assert_eq!(ok(&server.get("/query")), "asked");
    server.stop();
}
