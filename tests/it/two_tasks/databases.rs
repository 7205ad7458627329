//! Connections to databases, their statements and results.

use testkit::service::{MariaDb, Postgres, Redis};

use super::{SLOW_FILES, assert_refused, first_with, shared};
use crate::support::{let_go, ok, until_handled};

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
            ("/new", "new mysqli_stmt($c, 'SELECT 3'); return 'made';"),
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
        "/new",
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

/// What type or table a column is of is asked for on the connection; the rows are the result's own.
#[test]
fn a_connection_of_ext_pgsql_and_its_results() {
    let server = shared(
        "$c = pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'));
        $far = pg_query($c, \"SELECT oid, relname FROM pg_class WHERE relname = 'pg_class'\");",
        "return pg_fetch_result(pg_query($c, \"SELECT 'mine' FROM pg_sleep(0.5)\"), 0, 0);",
        &[
            ("/table", "return pg_field_table($far, 1);"),
            ("/type", "return pg_field_type($far, 1);"),
            ("/row", "return pg_fetch_result($far, 0, 1);"),
        ],
    )
    .env("PORT", Postgres::shared().port.to_string())
    .start();
    let answer = first_with(&server, &["/table", "/type"], || {
        assert_eq!(ok(&server.get("/row")), "pg_class");
    });
    assert_eq!(answer, "mine");
    assert_eq!(ok(&server.get("/table")), "pg_class");
    assert_eq!(ok(&server.get("/type")), "name");
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

/// `foreach` asks the extension for the next row without a call.
#[test]
fn a_statement_whose_rows_a_task_goes_over() {
    let server = shared(
        "$c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });
        $statement = $c->query(\"SELECT 'early' UNION ALL SELECT waits()\");",
        "$rows = []; foreach ($statement as $row) { $rows[] = $row[0]; } return implode(', ', $rows);",
        &[
            ("/close", "$statement->closeCursor(); return 'closed';"),
            ("/query", "$c->query('SELECT 2'); return 'asked';"),
        ],
    )
    .start();
    let answer = first_with(&server, &["/close", "/query"], || let_go(&server));
    assert_eq!(answer, "early, late");
    assert_eq!(ok(&server.get("/close")), "closed");
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
            ("/backup", "(new SQLite3(':memory:'))->backup($c); return 'overwritten';"),
        ],
    )
    .start();
    let refused = [
        "/query",
        "/statement",
        "/result",
        "/finish",
        "/close",
        "/backup",
    ];
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
