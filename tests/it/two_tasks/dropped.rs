//! Objects of a connection that another task drops, or that the collector of cycles finds in another request, while a task waits in a
//! call on that connection: they are freed when the call has ended.

use testkit::Server;
use testkit::service::{MariaDb, Postgres};

use super::{first_with, shared};
use crate::support::{let_go, ok};

const MYSQLI: &str =
    "$c = mysqli_connect('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('PORT'));";
/// The result does not own its connection. The rows of `$statement` arrive while they are read; one of them is late.
const ROWS: &str = "$statement = $c->query(\"SELECT IF(seq = 2, SLEEP(1), REPEAT('A', 20000)) FROM seq_1_to_50\", MYSQLI_USE_RESULT);";
const READ_ROWS: &str = "$read = 0; while ($row = $statement->fetch_row()) { $read += strlen($row[0]); } $statement = null; return (string) $read;";
const ALL_ROWS: &str = "980001";

/// Puts the variable into a cycle that nothing refers to.
fn garbage(variable: &str) -> String {
    format!(
        "$cycle = new stdClass; $cycle->self = $cycle; $cycle->held = {variable}; $weak = WeakReference::create({variable});
        {variable} = $cycle = null; Made::$cycle = true;"
    )
}

/// The other requests: `/collect` and `/drop`.
const OTHERS: [(&str, &str); 2] = [
    (
        "/collect",
        "while (!Made::$cycle) { usleep(5000); } return 'collected ' . (gc_collect_cycles() > 0);",
    ),
    ("/drop", "$c = null; return 'dropped';"),
];

fn with_others(open: &str, first: &str) -> testkit::ServerBuilder {
    let open = format!("final class Made {{ public static $cycle = false; }} {open}");
    shared(&open, first, &OTHERS)
}

fn on_mariadb(open: &str, first: &str) -> Server {
    with_others(open, first)
        .env("PORT", MariaDb::shared().port.to_string())
        .start()
}

#[track_caller]
fn assert_survives(server: Server, path: &str, answer: &str, expected: &str) {
    let text = first_with(&server, &[], || assert_eq!(ok(&server.get(path)), answer));
    assert_eq!(text, expected);
    server.stop();
}

#[test]
fn a_mysqli_object_whose_rows_another_request_reads() {
    let server = on_mariadb(&format!("{MYSQLI} {ROWS}"), READ_ROWS);
    assert_survives(server, "/drop", "dropped", ALL_ROWS);
}

#[test]
fn a_mysqli_object_that_is_garbage_while_its_rows_are_read() {
    let first = format!("{} {READ_ROWS}", garbage("$c"));
    let server = on_mariadb(&format!("{MYSQLI} {ROWS}"), &first);
    assert_survives(server, "/collect", "collected 1", ALL_ROWS);
}

#[test]
fn a_mysqli_object_that_is_garbage_while_its_statement_is_executed() {
    let open = format!("{MYSQLI} $statement = $c->prepare(\"SELECT SLEEP(0.5), 'mine'\");");
    let first = format!(
        "{} $statement->execute(); $answer = $statement->get_result()->fetch_row()[1] . ($weak->get() ? ' kept' : ' freed');
        $statement = null; (new PDO('sqlite::memory:'))->exec('SELECT 1');
        return $answer . ($weak->get() ? ' kept' : ' freed');",
        garbage("$c")
    );
    assert_survives(
        on_mariadb(&open, &first),
        "/collect",
        "collected 1",
        "mine kept freed",
    );
}

/// The backend is stopped meanwhile, so that the read has to wait.
#[test]
fn a_connection_of_ext_pgsql_that_is_garbage_while_a_large_object_of_it_is_read() {
    let first = format!(
        "pg_query($c, 'BEGIN'); $object = pg_lo_open($c, pg_lo_create($c), 'w+');
        pg_lo_write($object, str_repeat('x', 50000)); pg_lo_seek($object, 0, PGSQL_SEEK_SET);
        $process = pg_get_pid($c);
        exec(\"(kill -STOP $process; sleep 0.6; kill -CONT $process) >/dev/null 2>&1 &\"); usleep(100000); {}
        return (string) strlen((string) pg_lo_read($object, 50000));",
        garbage("$c")
    );
    let server = with_others(
        "$c = pg_connect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'));",
        &first,
    )
    .env("PORT", Postgres::shared().port.to_string())
    .start();
    assert_survives(server, "/collect", "collected 1", "50000");
}

const FINISHED: &str = "$statement = $c->prepare('SELECT ?::int + 1'); $statement->execute([1]); $statement->fetchAll();";
const QUERY_TWICE: &str =
    "$answer = $c->query(\"SELECT 'mine' FROM pg_sleep(0.5)\")->fetchColumn();
    return $answer . ' ' . $c->query(\"SELECT 'second'\")->fetchColumn();";

/// A statement that is freed asks the server to forget it.
#[test]
fn a_statement_of_pdo_pgsql_that_is_garbage() {
    for open in [
        "$c = new PDO(getenv('DSN'));",
        "$c = new Hearth\\Pool\\Pdo(getenv('DSN'), size: 2, minimumIdle: 0);",
        "$far = new Hearth\\Pool\\Pool(factory: fn () => new PDO(getenv('DSN')), size: 2, minimumIdle: 0);",
    ] {
        let first = format!(
            "if ($far) {{ $c = $far->borrow(); }} {FINISHED} {} {QUERY_TWICE}",
            garbage("$statement")
        );
        let server = with_others(open, &first)
            .env("DSN", Postgres::shared().dsn())
            .start();
        assert_survives(server, "/collect", "collected 1", "mine second");
    }
}

#[test]
fn a_statement_of_pdo_pgsql_that_another_task_of_the_request_drops() {
    let server = shared(
        &format!("$c = new PDO(getenv('DSN')); {FINISHED}"),
        "$child = Hearth\\async(fn () => $c->query(\"SELECT 'mine' FROM pg_sleep(0.5)\")->fetchColumn());
        $weak = WeakReference::create($statement); usleep(50000); $statement = null; $kept = (bool) $weak->get();
        return $child->await() . ' ' . $c->query(\"SELECT 'second'\")->fetchColumn() . json_encode([$kept, (bool) $weak->get()]);",
        &[],
    )
    .env("DSN", Postgres::shared().dsn())
    .start();
    let answer = first_with(&server, &[], || {});
    assert_eq!(answer, "mine second[true,false]");
    server.stop();
}

/// A `__destruct()` does not wait.
#[test]
fn an_object_with_a_destructor_of_its_own() {
    let server = shared(
        "class Named extends PDOStatement { public static $calls = 0; function __destruct() { self::$calls++; } }
        $c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });
        $statement = $c->prepare('SELECT 1', [PDO::ATTR_STATEMENT_CLASS => [Named::class]]);",
        "$weak = WeakReference::create($statement); $answer = $c->query('SELECT waits()')->fetchColumn();
        return $answer . ' ' . Named::$calls . ($weak->get() ? ' kept' : ' freed');",
        &[("/drop", "$statement = null; return 'destructed ' . Named::$calls;")],
    )
    .start();
    let answer = first_with(&server, &[], || {
        assert_eq!(ok(&server.get("/drop")), "destructed 1");
        let_go(&server);
    });
    assert_eq!(answer, "late 1 freed");
    server.stop();
}

/// What is dropped in the middle of an iteration is freed at its next step.
#[test]
fn a_statement_that_is_dropped_while_another_one_is_gone_over() {
    let server = shared(
        "$c = new PDO('sqlite::memory:'); $c->sqliteCreateFunction('waits', function () { UNTIL_GO return 'late'; });
        $far = $c->query('SELECT 1 UNION SELECT 2'); $statement = $c->query(\"SELECT 'early' UNION ALL SELECT waits()\");",
        "$weak = WeakReference::create($far); $rows = [];
        foreach ($statement as $row) { $rows[] = $row[0]; }
        return implode(', ', $rows) . ($weak->get() ? ' kept' : ' freed');",
        &[("/drop", "$weak = WeakReference::create($far); $far = null; return $weak->get() ? 'kept' : 'freed';")],
    )
    .start();
    let answer = first_with(&server, &[], || {
        assert_eq!(ok(&server.get("/drop")), "kept");
        let_go(&server);
    });
    assert_eq!(answer, "early, late freed");
    server.stop();
}

/// A fatal error ends the call without its return; nothing is freed twice, and the others go on.
#[test]
fn an_object_that_is_dropped_during_a_call_that_a_fatal_error_ends() {
    let server = shared(
        "$c = new SQLite3(':memory:'); $statement = $c->prepare('SELECT 1');
        $c->createFunction('waits', function () { UNTIL_GO trigger_error('enough', E_USER_ERROR); });",
        "return $c->querySingle('SELECT waits()');",
        &[
            ("/drop", "$statement = null; return 'dropped';"),
            ("/other", "$c = null; return (string) (new PDO('sqlite::memory:'))->query('SELECT 2')->fetchColumn();"),
        ],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    crate::support::until_handled(&server, 1);
    assert_eq!(ok(&server.get("/drop")), "dropped");
    let_go(&server);
    assert_eq!(first.response().status, 500);
    assert_eq!(ok(&server.get("/other")), "2");
    server.stop();
}
