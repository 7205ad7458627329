//! Calls that hand out a connection which another request may have: with several requests in flight they are refused, or
//! give each request its own; one at a time, none carries anything into the next request.

use testkit::Server;
use testkit::service::{MariaDb, Postgres, Redis};

use crate::support::{ok, one_worker};

/// Each call, evaluated in a request of its own; `not refused` if nothing is thrown.
fn outcomes(server: testkit::ServerBuilder, calls: &[&str]) -> Vec<(String, String)> {
    let table: String = calls
        .iter()
        .enumerate()
        .map(|(number, call)| format!("{number} => function () {{ {call}; }},\n"))
        .collect();
    let server = server
        .file("calls.php", format!("<?php class Sub extends PDO {{}} class MySub extends mysqli {{}} class RSub extends Redis {{}} return [{table}];"))
        .start();
    let answers = calls
        .iter()
        .enumerate()
        .map(|(number, call)| {
            (
                (*call).to_owned(),
                ok(&server.get(&format!("/?n={number}"))),
            )
        })
        .collect();
    server.stop();
    answers
}

const CODE: &str = r"$calls = require __DIR__ . '/calls.php';
    return function ($request) use ($calls) {
        try { @$calls[(int) $request->query('n')](); return 'not refused'; }
        catch (Throwable $e) { return get_class($e) . ': ' . $e->getMessage(); }
    };";

fn assert_all_refused(server: testkit::ServerBuilder, calls: &[&str]) {
    for (call, text) in outcomes(server, calls) {
        assert!(
            text.starts_with("Error: ")
                && text.contains("is refused with more than one request in flight"),
            "{call}: {text}"
        );
    }
}

fn assert_none_refused(server: testkit::ServerBuilder, calls: &[&str]) {
    for (call, text) in outcomes(server, calls) {
        assert!(!text.contains("is refused with"), "{call}: {text}");
    }
}

#[test]
fn persistent_connections_of_pdo_in_every_spelling() {
    let database = MariaDb::shared();
    let with = |code| one_worker(code).env("DSN", database.dsn());
    assert_all_refused(
        with(CODE),
        &[
            "new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true])",
            "new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => 'an id'])",
            "new PDO(dsn: getenv('DSN'), options: [PDO::ATTR_PERSISTENT => 1])",
            "$yes = true; $options = [PDO::ATTR_PERSISTENT => &$yes]; $more = &$options; new PDO(getenv('DSN'), 'hearth', 'hearth', $more)",
            "new Sub(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => true])",
            "new class(getenv('DSN')) extends Sub { function __construct($dsn) { parent::__construct($dsn, 'hearth', 'hearth', [12 => true]); } }",
            "(new ReflectionClass('PDO'))->newInstance(getenv('DSN'), 'hearth', 'hearth', [12 => true])",
        ],
    );
    assert_none_refused(
        with(CODE),
        &[
            "new PDO(getenv('DSN'), 'hearth', 'hearth')",
            "new PDO(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_PERSISTENT => false])",
            "new Sub(getenv('DSN'), 'hearth', 'hearth', [])",
        ],
    );
}

#[test]
fn persistent_connections_of_mysqli_in_every_spelling() {
    assert_all_refused(
        one_worker(CODE),
        &[
            "new mysqli('p:127.0.0.1')",
            "new mysqli('P:127.0.0.1')",
            "new MySub('p:127.0.0.1')",
            "mysqli_connect('p:127.0.0.1')",
            "(mysqli_connect(...))('p:127.0.0.1')",
            "call_user_func('mysqli_connect', 'p:127.0.0.1')",
            "(new mysqli())->connect('p:127.0.0.1')",
            "(new mysqli())->real_connect('p:127.0.0.1')",
            "mysqli_init()->real_connect(hostname: 'p:127.0.0.1')",
            "mysqli_real_connect(mysqli_init(), 'p:127.0.0.1')",
        ],
    );
    assert_all_refused(
        one_worker(CODE).args(["--ini", "mysqli.default_host=p:127.0.0.1"]),
        &["mysqli_connect()", "mysqli_init()->real_connect()"],
    );
    assert_none_refused(
        one_worker(CODE),
        &[
            "new mysqli()",
            "new mysqli('127.0.0.1', 'x', 'y', 'z', 1)",
            "mysqli_real_connect(mysqli_init(), '127.0.0.1', 'p:x', '', '', 1)",
        ],
    );
}

#[test]
fn persistent_connections_of_redis_and_memcache() {
    let with = || {
        one_worker(CODE)
            .env("PORT", Redis::shared().port.to_string())
            .arg(format!(
                "--ini=extension={}",
                testkit::unpacked_extension("memcache").display()
            ))
    };
    assert_all_refused(
        with(),
        &[
            "(new Redis())->pconnect('127.0.0.1', (int) getenv('PORT'))",
            "(new Redis())->popen('127.0.0.1', (int) getenv('PORT'))",
            "((new Redis())->popen(...))('127.0.0.1', (int) getenv('PORT'))",
            "(new RSub())->popen('127.0.0.1', (int) getenv('PORT'))",
            "call_user_func([new RSub(), 'pconnect'], '127.0.0.1')",
            "new RedisCluster(null, ['127.0.0.1:1'], 1, 1, true)",
            "new RedisArray(['127.0.0.1:1'], ['pconnect' => true])",
            "new RedisSentinel('127.0.0.1', 1, 1.0, 'id')",
            "memcache_pconnect('127.0.0.1', 1)",
            "(new Memcache())->pconnect('127.0.0.1', 1)",
            "(new Memcache())->addServer('127.0.0.1', 1)",
            "(new Memcache())->addServer('127.0.0.1', 1, true)",
            "memcache_add_server(new Memcache(), '127.0.0.1', 1)",
            "(new MemcachePool())->addServer('127.0.0.1', 1)",
        ],
    );
    assert_none_refused(
        with(),
        &[
            "(new Redis())->connect('127.0.0.1', (int) getenv('PORT'))",
            "new RedisSentinel('127.0.0.1', 1, 1.0)",
            "new RedisArray(['127.0.0.1:1'], ['pconnect' => false])",
            "(new Memcache())->connect('127.0.0.1', 1)",
            "(new Memcache())->addServer('127.0.0.1', 1, false)",
            "memcache_add_server(new Memcache(), '127.0.0.1', 1, false)",
        ],
    );
}

#[test]
fn persistent_streams() {
    assert_all_refused(
        one_worker(CODE),
        &[
            "pfsockopen('127.0.0.1', 1)",
            "(pfsockopen(...))('127.0.0.1', 1)",
            "stream_socket_client('tcp://127.0.0.1:1', $n, $m, 1, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT)",
            "stream_socket_client('tcp://127.0.0.1:1', flags: STREAM_CLIENT_PERSISTENT | STREAM_CLIENT_CONNECT)",
        ],
    );
    assert_none_refused(
        one_worker(CODE),
        &[
            "stream_socket_client('tcp://127.0.0.1:1', $n, $m, 1)",
            "fsockopen('127.0.0.1', 1)",
        ],
    );
}

const PG: &str = "$dsn = 'host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT');";

fn with_postgres(code: &str) -> testkit::ServerBuilder {
    one_worker(code).env("PORT", Postgres::shared().port.to_string())
}

#[test]
fn functions_of_pgsql_that_mean_the_connection_opened_last() {
    let first = format!("{PG} $db = pg_connect($dsn); ");
    let calls: Vec<String> = [
        "pg_query('SELECT 1')",
        "pg_query_params('SELECT $1', [1])",
        "pg_prepare('x', 'SELECT 1')",
        "pg_execute('x', [])",
        "pg_last_error()",
        "pg_escape_string('x')",
        "pg_close()",
        "pg_dbname(null)",
        "pg_lo_create()",
        "call_user_func('pg_query', 'SELECT 1')",
        "(pg_query(...))('SELECT 1')",
        "pg_trace('/dev/null')",
        "pg_pconnect($dsn)",
    ]
    .iter()
    .map(|call| format!("{first}{call}"))
    .collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    assert_all_refused(with_postgres(CODE), &calls);
    let given: Vec<String> = [
        "pg_query($db, 'SELECT 1')",
        "pg_escape_string($db, 'x')",
        "pg_close($db)",
        "pg_dbname(connection: $db)",
    ]
    .iter()
    .map(|call| format!("{first}{call}"))
    .collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    assert_none_refused(with_postgres(CODE), &given);
}

#[test]
fn requests_at_once_have_connections_of_ext_pgsql_of_their_own() {
    let server = with_postgres(&format!(
        "$kept = [];
        return function ($request) use (&$kept) {{
            {PG}
            $flags = $request->query('flags');
            $db = $flags === null ? pg_connect($dsn) : pg_connect($dsn, flags: (int) $flags);
            $kept[] = $db;
            return pg_fetch_result(pg_query($db, 'SELECT pg_backend_pid()'), 0, 0);
        }};"
    ))
    .start();
    let mut pids: Vec<String> = ["/", "/", "/?flags=0", "/?flags=0", "/?flags=2"]
        .iter()
        .map(|target| ok(&server.get(target)))
        .collect();
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len(), 5, "{pids:?}");
    server.stop();
}

/// What is left of a request's connection would stay open, with its transaction, as the connection opened last.
#[test]
fn a_connection_of_ext_pgsql_ends_with_the_request_that_drops_it() {
    let server = with_postgres(&format!(
        "return function ($request) {{
            {PG}
            $db = pg_connect($dsn);
            if ($request->path === '/count') {{
                return pg_fetch_result(pg_query($db, \"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'left-open'\"), 0, 0);
            }}
            pg_query($db, \"SET application_name = 'left-open'\"); pg_query($db, 'BEGIN'); return 'begun';
        }};"
    ))
    .start();
    assert_eq!(ok(&server.get("/")), "begun");
    crate::support::eventually("the connection is closed", || {
        ok(&server.get("/count")) == "0"
    });
    server.stop();
}

fn alone(code: &str) -> Server {
    with_postgres(code).args(["--concurrency", "1"]).start()
}

#[test]
fn one_at_a_time_no_transaction_or_setting_of_ext_pgsql_is_left_to_the_next_request() {
    for keep in ["", "static $kept = []; $kept[] = $db;"] {
        let server = alone(&format!(
            "return function ($request) {{
                {PG}
                $db = pg_connect($dsn);
                {keep}
                $again = pg_connect($dsn);
                $pid = pg_fetch_result(pg_query('SELECT pg_backend_pid()'), 0, 0);
                $same = $pid === pg_fetch_result(pg_query($db, 'SELECT pg_backend_pid()'), 0, 0);
                $state = pg_transaction_status($db) . ' ' . pg_fetch_result(pg_query($db, 'SHOW search_path'), 0, 0);
                pg_query('BEGIN'); pg_query(\"SET search_path = 'elsewhere'\");
                return [$same, $state, $pid];
            }};"
        ));
        let first = ok(&server.get("/"));
        let second = ok(&server.get("/"));
        for text in [&first, &second] {
            assert!(
                text.starts_with(r#"[true,"0 \"$user\", public""#),
                "{keep}: {text}"
            );
        }
        assert_ne!(first, second, "the same connection again");
        server.stop();
    }
}

#[test]
fn one_at_a_time_a_persistent_connection_is_used_again_without_its_transaction() {
    let server = alone(
        "return function () {
            $db = pg_pconnect('host=127.0.0.1 user=postgres dbname=postgres port=' . getenv('PORT'));
            $state = [pg_transaction_status($db), pg_get_pid($db)];
            pg_query($db, 'BEGIN');
            return $state;
        };",
    );
    let first = ok(&server.get("/"));
    assert!(first.starts_with("[0,"), "{first}");
    assert_eq!(ok(&server.get("/")), first);
    server.stop();
}

/// pecl/memcache leaves the connection to the end of all resources. The kernel accepts the connections.
#[test]
fn a_connection_of_memcache_ends_with_its_request_unless_the_app_keeps_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let code = "return function ($request) {
        static $kept;
        $port = (int) getenv('PORT');
        if ($request->path === '/keep') { $kept = new Memcache; $kept->connect('127.0.0.1', $port); }
        for ($n = 0; $n < 3; $n++) {
            $one = new Memcache; $one->connect('127.0.0.1', $port);
            $two = memcache_connect('127.0.0.1', $port);
            $three = new Memcache; $three->addServer('127.0.0.1', $port, false);
        }
        usleep(1000);
        return count(scandir('/proc/self/fd')) . ' ' . get_resource_type(((array) ($kept ?? $one))['connection'] ?? STDIN);
    };";
    let server = one_worker(code)
        .env("PORT", port.to_string())
        .arg(format!(
            "--ini=extension={}",
            testkit::unpacked_extension("memcache").display()
        ))
        .start();
    ok(&server.get("/"));
    let first = ok(&server.get("/"));
    for _ in 0..5 {
        assert_eq!(ok(&server.get("/")), first);
    }
    ok(&server.get("/keep"));
    let kept = ok(&server.get("/"));
    assert!(kept.ends_with("memcache connection"), "{kept}");
    for _ in 0..5 {
        assert_eq!(ok(&server.get("/")), kept);
    }
    server.stop();
}

/// phpredis leaves the context to the end of all resources.
#[test]
fn a_stream_context_of_redis_ends_after_its_object() {
    let code = "return function ($request) {
        static $kept;
        $connect = function () {
            $redis = new Redis;
            $redis->connect('tcp://127.0.0.1', (int) getenv('PORT'), 5, null, 0, 5, ['stream' => ['verify_peer' => false]]);
            return $redis->ping() ? $redis : null;
        };
        switch ($request->path) {
            case '/connect': $connect(); $connect(); break;
            case '/keep': $kept = $connect(); break;
            case '/again': $kept->connect('tcp://127.0.0.1', (int) getenv('PORT'), 5, null, 0, 5, ['stream' => ['verify_peer' => false]]); break;
            case '/drop': $kept = null; break;
            case '/use': $kept->close(); return json_encode($kept->ping());
        }
        return (string) count(array_filter(get_resources('stream-context'), 'stream_context_get_options'));
    };";
    let server = one_worker(code)
        .args(["--concurrency", "1"])
        .env("PORT", Redis::shared().port.to_string())
        .start();
    ok(&server.get("/connect"));
    assert_eq!(ok(&server.get("/")), "0");
    ok(&server.get("/keep"));
    ok(&server.get("/connect"));
    assert_eq!(ok(&server.get("/")), "1", "it may connect again");
    assert_eq!(ok(&server.get("/use")), "true");
    ok(&server.get("/again"));
    assert_eq!(ok(&server.get("/")), "1", "the new one");
    assert_eq!(ok(&server.get("/use")), "true");
    ok(&server.get("/drop"));
    assert_eq!(ok(&server.get("/")), "0");
    server.stop();
}
