//! What a request holds when a fatal error ends it is released at once, as under php-fpm, although its worker still has other requests.

use testkit::service::{MariaDb, Postgres};
use testkit::{Server, ServerBuilder};

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

/// `/take?what=` takes something for itself, and gives it back; with `breaks`, a fatal error ends it meanwhile.
const APP: &str = r#"
use Hearth\{Mutex, Semaphore};

final class Shared { static Mutex $mutex; static Semaphore $semaphore; static $kept; }
Shared::$mutex = new Mutex;
Shared::$semaphore = new Semaphore(1);
$key = mt_rand();

function sqlite(): PDO
{
    $database = new PDO('sqlite:' . __DIR__ . '/data.sqlite', null, null, [PDO::ATTR_TIMEOUT => 3]);
    $database->sqliteCreateFunction('meanwhile', function ($meanwhile) { (Shared::$kept)(); return 1; });
    $database->exec('PRAGMA journal_mode=' . ($_GET['journal'] ?? 'delete') . '; CREATE TABLE IF NOT EXISTS t (n)');
    return $database;
}

function sqlite3(): SQLite3
{
    $database = new SQLite3(__DIR__ . '/data.sqlite');
    $database->enableExceptions(true);
    $database->busyTimeout(3000);
    $database->exec('CREATE TABLE IF NOT EXISTS t (n)');
    return $database;
}

function take(string $what, callable $meanwhile, int $key): void
{
    switch ($what) {
        case 'mutex': Shared::$mutex->acquire(3); $meanwhile(); Shared::$mutex->release(); return;
        case 'mutex-with': Shared::$mutex->with($meanwhile); return;
        case 'semaphore': Shared::$semaphore->with($meanwhile); return;
        case 'flock': $file = fopen('lock', 'c'); flock($file, LOCK_EX); $meanwhile(); return;
        case 'flock-kept': $file = Shared::$kept = fopen('lock', 'c'); flock($file, LOCK_EX); $meanwhile(); flock($file, LOCK_UN); return;
        case 'flock-shared': $file = fopen('lock', 'c'); flock($file, LOCK_SH); flock($file, LOCK_EX); $meanwhile(); return;
        case 'flock-object': $file = new SplFileObject('lock', 'c'); $file->flock(LOCK_EX); $meanwhile(); return;
        case 'put-contents': // With LOCK_EX it locks the file for itself.
            $file = fopen('lock', 'c'); flock($file, LOCK_EX); $meanwhile(); flock($file, LOCK_UN); file_put_contents('lock', 'x', LOCK_EX); return;
        case 'sem': $set = sem_get($key); sem_acquire($set); $meanwhile(); sem_release($set); return;
        case 'sem-several': $set = sem_get($key + 1, 2); sem_acquire($set); sem_acquire($set); $meanwhile(); sem_release($set); sem_release($set); return;
        case 'pdo': $database = sqlite(); $database->exec('BEGIN IMMEDIATE'); $database->exec('INSERT INTO t VALUES (1)'); break;
        case 'pdo-transaction': $database = sqlite(); $database->beginTransaction(); $database->exec('INSERT INTO t VALUES (1)'); break;
        case 'pdo-prepared':
            $database = sqlite(); $database->beginTransaction();
            $insert = $database->prepare('INSERT INTO t VALUES (?)'); $database = null; $insert->execute([1]);
            $meanwhile(); $insert = null; return;
        case 'pdo-statement': Shared::$kept = $meanwhile; sqlite()->exec('INSERT INTO t VALUES (meanwhile(1))'); return;
        case 'pdo-reads':
            $database = sqlite(); $database->exec('INSERT INTO t VALUES (1), (2), (3)');
            $rows = $database->query('SELECT * FROM t'); $rows->fetch(); $meanwhile(); return;
        case 'sqlite3': $database = sqlite3(); $database->exec('BEGIN IMMEDIATE'); $database->exec('INSERT INTO t VALUES (1)'); break;
        case 'sqlite3-prepared':
            $database = sqlite3(); $database->exec('BEGIN');
            $insert = $database->prepare('INSERT INTO t VALUES (1)'); $insert->execute(); break;
        case 'child': Hearth\async(fn () => take('flock', $meanwhile, $key))->await(); return;
        case 'of-child': Hearth\async(function () { Shared::$kept = fopen('lock', 'c'); flock(Shared::$kept, LOCK_EX); })->await(); $meanwhile(); flock(Shared::$kept, LOCK_UN); return;
        case 'mysqli':
            $database = new mysqli('127.0.0.1', 'hearth', 'hearth', 'hearth', (int) getenv('MARIADB'));
            $database->query('SET SESSION innodb_lock_wait_timeout = 3'); $database->begin_transaction();
            $database->query('SELECT * FROM held FOR UPDATE'); break;
        case 'mysql-lock':
            $database = new PDO('mysql:host=127.0.0.1;dbname=hearth;port=' . getenv('MARIADB'), 'hearth', 'hearth');
            if ($database->query("SELECT GET_LOCK('held', 3)")->fetchColumn() != 1) { throw new RuntimeException('it is held'); }
            $meanwhile(); return;
        case 'pgsql':
            $database = new PDO(getenv('POSTGRES'));
            $database->exec("SET lock_timeout = '3s'"); $database->beginTransaction(); $database->query('SELECT pg_advisory_xact_lock(77)'); break;
        default: throw new LogicException($what);
    }
    $meanwhile();
    $database->{$database instanceof SQLite3 || $database instanceof PDO ? 'exec' : 'query'}('COMMIT');
}

return function (Hearth\Request $request) use ($key) {
    switch ($request->path) {
        case '/slow': UNTIL_GO return 'slow done';
        case '/remove': return sem_remove(sem_get($key)) && sem_remove(sem_get($key + 1, 2)) ? 'removed' : 'not';
        case '/take':
            $breaks = function () use ($request) {
                touch('has');
                while (!file_exists('asks')) { usleep(1000); clearstatcache(); }
                usleep(5000);
                if ($request->query('breaks') === 'memory') { str_repeat('x', 1 << 30); }
                eval('class A {} class A {}');
            };
            if (!$request->query('breaks')) { touch('asks'); }
            take($request->query('what'), $request->query('breaks') ? $breaks : fn () => usleep(1000), $key);
            return 'taken';
    }
};"#;

fn app() -> ServerBuilder {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO)).args(["--ini", "memory_limit=64M"])
}

/// The worker stays, since a request goes on in it; and no other one takes what the request that breaks holds.
fn assert_released(server: Server, what: &[&str]) {
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    for what in what {
        for breaks in ["compile", "memory"] {
            for name in ["has", "asks"] {
                let _ = std::fs::remove_file(server.directory().join(name));
            }
            let (mut broken, mut waiting) = (server.connect(), server.connect());
            broken.send(format!(
                "GET /take?what={what}&breaks={breaks} HTTP/1.1\r\nHost: x\r\n\r\n"
            ));
            eventually(what, || server.directory().join("has").exists());
            waiting.send(format!("GET /take?what={what} HTTP/1.1\r\nHost: x\r\n\r\n"));
            assert_eq!(broken.response().status, 500, "{what}");
            assert_eq!(
                waiting.response().text(),
                "taken",
                "{what}, which the other waits for, after {breaks}"
            );
            let next = server.get(&format!("/take?what={what}"));
            assert_eq!(next.text(), "taken", "{what} after {breaks}");
        }
    }
    assert_eq!(ok(&server.get("/remove")), "removed");
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done");
    server.stop();
}

#[test]
fn mutexes_and_semaphores() {
    assert_released(app().start(), &["mutex", "mutex-with", "semaphore"]);
}

#[test]
fn locks_on_files() {
    let kinds = [
        "flock",
        "flock-kept",
        "flock-shared",
        "flock-object",
        "put-contents",
        "child",
        "of-child",
    ];
    assert_released(app().start(), &kinds);
}

#[test]
fn semaphores_of_system_v() {
    assert_released(app().start(), &["sem", "sem-several"]);
}

#[test]
fn transactions_of_sqlite() {
    let kinds = [
        "pdo",
        "pdo-transaction",
        "pdo-prepared",
        "pdo-statement",
        "pdo-reads",
        "sqlite3",
        "sqlite3-prepared",
        "pdo&journal=wal",
    ];
    assert_released(app().start(), &kinds);
}

#[test]
fn connections_of_databases() {
    let (mariadb, postgres) = (MariaDb::shared(), Postgres::shared());
    mariadb.run("CREATE TABLE IF NOT EXISTS hearth.held (n INT PRIMARY KEY); REPLACE INTO hearth.held VALUES (1)");
    let server = app()
        .env("MARIADB", mariadb.port.to_string())
        .env("POSTGRES", postgres.dsn())
        .start();
    assert_released(server, &["mysqli", "mysql-lock", "pgsql"]);
}

/// The request that breaks may have the memory of the ended one for its state. The third is in their worker, and goes on after it.
#[test]
fn what_the_app_keeps_of_an_ended_request_stays() {
    let code = r#"final class Kept { static $database; static $lock; }
        return function ($request) {
            switch ($request->path) {
                case '/begin':
                    Kept::$database = new PDO('sqlite:' . __DIR__ . '/kept.sqlite');
                    Kept::$database->exec('CREATE TABLE t (n); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
                    Kept::$lock = (new Hearth\Cache('kept'))->lock('lock', 60);
                    return 'begun';
                case '/break': eval('class A {} class A {}');
                case '/commit':
                    UNTIL_GO
                    Kept::$database->exec('COMMIT');
                    return json_encode([Kept::$database->query('SELECT n FROM t')->fetchColumn(), Kept::$lock->release()]);
            }
        };"#;
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO)).start();
    let mut commits = server.connect();
    commits.send("GET /commit HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/begin")), "begun");
    assert_eq!(server.get("/break").status, 500);
    let_go(&server);
    assert_eq!(ok(&commits.response()), "[1,true]");
    server.stop();
}
