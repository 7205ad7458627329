//! A fatal error in a request's own task: what becomes of its children, and of what they have begun in a database.

use std::sync::atomic::{AtomicU32, Ordering};

use testkit::Server;
use testkit::service::MariaDb;

use crate::support::{UNTIL_GO, eventually, let_go, ok, one_worker, until_handled};

/// `/break/WAIT/FATAL/ID`: a child that has a row in an open transaction waits, and would commit; its request breaks meanwhile.
/// `/slow` keeps the worker, and uses the pool at its end.
const APP: &str = r#"
$pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', size: 8, minimumIdle: 0, borrowTimeout: 10);
$waits = [
    'asleep' => fn () => sleep(20),
    'query' => fn ($db) => $db->query('SELECT SLEEP(20)')->fetchAll(),
    'child' => fn () => Hearth\async(fn () => sleep(20))->await(),
    'parallel' => fn () => Hearth\parallel([fn () => sleep(20), fn () => sleep(20)]),
    'channel' => fn () => (new Hearth\Channel())->receive(),
];
$fatal = [
    'class' => fn () => eval('class A {} class A {}'),
    'large' => fn () => strlen(str_repeat('x', 1 << 30)),
    'small' => function () {
        $all = new SplFixedArray(1000000);
        for ($n = 0;;) { $all[$n++] = str_repeat('x', 100); }
    },
    'deferred' => fn () => Hearth\defer(fn () => str_repeat('x', 1 << 30)),
    'shutdown' => fn () => register_shutdown_function(fn () => str_repeat('x', 1 << 30)),
];
return function (Hearth\Request $request) use ($pdo, $waits, $fatal) {
    if ($request->path === '/pid') { return (string) getmypid(); }
    if ($request->path === '/slow') {
        UNTIL_GO
        $pdo->query('SELECT 1')->fetchAll();
        return json_encode($pdo->inTransaction());
    }
    if ($request->path === '/timeout') {
        $session = fn () => (int) $pdo->query('SELECT CONNECTION_ID()')->fetchColumn();
        $before = $session();
        try {
            Hearth\timeout(5, fn () => [usleep(1000), $session(), $fatal['class']()]);
        } catch (Error) {
            return json_encode([$before, $session(), $session()]);
        }
    }
    [, , $wait, $how, $id] = explode('/', $request->path);
    $pdo->beginTransaction();
    $pdo->exec("INSERT INTO orphans VALUES (200 + $id, 'handler')");
    $begun = new Hearth\Channel(2);
    $child = function ($db, $id) use ($wait, $waits, $begun) {
        $db->beginTransaction();
        $db->exec("INSERT INTO orphans VALUES ($id, 'child')");
        $begun->send($id);
        $waits[$wait]($db);
        $db->commit();
        touch("committed-$id");
    };
    $start = function () use ($child, $pdo, $id, $begun) {
        Hearth\async($child, $pdo, $id);
        Hearth\async(fn () => $child(new PDO(getenv('DSN'), 'hearth', 'hearth'), 100 + $id));
        $begun->receive();
        $begun->receive();
    };
    if ($how === 'background') {
        Hearth\background(function () use ($start, $fatal) { $start(); $fatal['large'](); });
        return 'ok';
    }
    if (in_array($how, ['deferred', 'shutdown'], true)) {
        Hearth\defer($start);
    } else {
        $start();
    }
    $fatal[$how]();
    return 'ok';
};"#;

/// Each of the children is where `wait` says, one with the pool and one with a connection of its own; the handler has one of
/// the pool. A query for their rows gets them as soon as the database has noticed, while the worker still has another request.
#[track_caller]
fn nothing_is_committed(wait: &str, fatal: &str) {
    let database = MariaDb::shared();
    database.run("CREATE TABLE IF NOT EXISTS hearth.orphans (id INT PRIMARY KEY, who VARCHAR(20))");
    let id = next_id();
    let server = app();
    let pid = ok(&server.get("/pid"));
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    let response = server.get(&format!("/break/{wait}/{fatal}/{id}"));
    let is_answered = matches!(fatal, "deferred" | "background");
    assert_eq!(response.status, if is_answered { 200 } else { 500 });
    eventually("the worker is replaced", || ok(&server.get("/pid")) != pid);
    for row in [id, 100 + id, 200 + id] {
        let insert = format!("INSERT INTO hearth.orphans VALUES ({row}, 'next')");
        // In SLEEP() the database checks every five seconds whether its client is still connected.
        database.run(&format!("SET innodb_lock_wait_timeout = 15; {insert}"));
        let file = format!("committed-{row}");
        assert!(!server.directory().join(file).exists(), "it went on");
    }
    let_go(&server);
    ok(&slow.response());
    assert!(!server.log().text().contains("died"), "a worker crashed");
    drop(slow);
    server.stop();
}

/// Of a row that no other case uses.
fn next_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

fn app() -> Server {
    one_worker(&APP.replace("UNTIL_GO", UNTIL_GO))
        .args(["--ini", "memory_limit=64M"])
        .env("DSN", MariaDb::shared().dsn())
        .start()
}

#[test]
fn children_are_cancelled_wherever_they_wait() {
    for wait in ["asleep", "query", "child", "parallel", "channel"] {
        nothing_is_committed(wait, "class");
    }
}

#[test]
fn children_are_cancelled_wherever_the_fatal_error_was() {
    for fatal in ["large", "small", "deferred", "shutdown", "background"] {
        nothing_is_committed("asleep", fatal);
    }
}

/// What runs in `timeout()` uses its caller's connection: its state in the protocol is unknown.
#[test]
fn a_connection_that_a_fatal_error_left_is_not_used_again() {
    let server = app();
    let sessions = server.get("/timeout").text();
    let sessions: [u64; 3] = serde_json::from_str(&sessions).expect("three sessions");
    assert_ne!(sessions[0], sessions[1], "the same one");
    assert_eq!(sessions[1], sessions[2], "a new one each time");
    server.stop();
}

/// The tick functions and the superglobals of a request are its children's, too. The memory that the end frees is used at once.
#[test]
fn nothing_is_freed_that_children_use_when_the_end_runs_out_of_memory() {
    let code = r"return function ($request) {
            if ($request->path === '/slow') { UNTIL_GO return 'slow done'; }
            Hearth\async(function () {
                $waits = function () {
                    static $calls = 0;
                    if ($calls++ !== 1) { return; }
                    try { sleep(10); } finally { for ($n = 0; $n < 100; $n++) { $_GET['all'][] = [$n, str_repeat('z', 90)]; } }
                };
                register_tick_function($waits);
                for ($n = 0; $n < 5; $n++) { register_tick_function(function () use ($n) { $n++; }); }
                declare(ticks=1) { $x = 1; $y = 2; $z = 3; }
            });
            set_exception_handler(fn () => str_repeat('x', 1 << 30));
            throw new Exception('for the handler');
        };";
    let server = one_worker(&code.replace("UNTIL_GO", UNTIL_GO))
        .args(["--ini", "memory_limit=64M"])
        .start();
    let mut slow = server.connect();
    slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(server.get("/?a=1").status, 500);
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow done");
    server.stop();
}
