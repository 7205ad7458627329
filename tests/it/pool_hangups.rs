//! Clients that hang up in the middle of everything leave nothing to others: no answer, no session, no lock, no connection.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::Server;
use testkit::service::{MariaDb, Postgres};

use crate::support::traffic::{self, Done};
use crate::support::{eventually, ok};

/// Each path keeps a promise that an interrupted request of another could break. `/keep` keeps a statement in a static variable,
/// which is wrong, and must not harm.
const BANK: &str = r#"
    $pg = str_starts_with(getenv('DSN'), 'pgsql');
    $sleep = static fn (int $ms): string => $pg ? "SELECT $ms FROM (SELECT pg_sleep($ms / 1000.0)) s" : "SELECT $ms + SLEEP($ms / 1000)";
    $pdo = new Hearth\Pool\Pdo(getenv('DSN'), getenv('DB_USER'), getenv('DB_USER'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION],
        size: 6, total: 10, minimumIdle: 0, borrowTimeout: 30, maxLifetime: 0.5, name: 'bank');
    return function (Hearth\Request $request) use ($pdo, $pg, $sleep): string {
        switch ($request->path) {
            case '/open':
                $pdo->exec('CREATE TABLE accounts (id INT PRIMARY KEY, n BIGINT NOT NULL)');
                $pdo->exec('INSERT INTO accounts VALUES ' . implode(', ', array_map(static fn (int $id) => "($id, 100)", range(0, 19))));
                return '';
            case '/transfer':
                [$from, $to] = array_rand(range(0, 19), 2);
                $pdo->beginTransaction();
                $update = $pdo->prepare('UPDATE accounts SET n = n + ? WHERE id = ?');
                $update->execute([-1, $from]);
                mt_rand(0, 3) || usleep(3000);
                $update->execute([1, $to]);
                $pdo->commit();
                return 'moved';
            case '/sleep':
                $times = [mt_rand(1, 9), mt_rand(10, 19), mt_rand(20, 29)];
                $answers = Hearth\parallel(array_map(static fn (int $ms) => static fn () => (int) $pdo->query($sleep($ms))->fetchColumn(), $times));
                return $answers === $times ? 'slept' : 'asked ' . json_encode($times) . ', got ' . json_encode($answers);
            case '/session':
                $pdo->exec($pg ? "SET TIME ZONE 'Asia/Tokyo'" : "SET time_zone = '+09:00'");
                $pdo->query($sleep(5))->fetchAll();
                return 'set';
            case '/zone':
                $zone = $pdo->query($pg ? "SELECT current_setting('TimeZone')" : 'SELECT @@time_zone')->fetchColumn();
                return in_array($zone, ['Asia/Tokyo', '+09:00'], true) ? "the session of another: $zone" : 'own';
            case '/keep':
                static $kept;
                $mine = $pdo->query('SELECT 1');
                $mine->fetchAll();
                $kept = $mine;
                return 'kept';
            case '/sum': return (string) $pdo->query('SELECT SUM(n) FROM accounts')->fetchColumn();
            case '/bank': return json_encode(array_intersect_key($pdo->pool()->stats(), ['active' => 0, 'lingering' => 0, 'waiting' => 0]));
        }
        return '';
    };"#;

const PATHS: [(&str, &str); 7] = [
    ("/transfer", "moved"),
    ("/sleep", "slept"),
    ("/session", "set"),
    ("/zone", "own"),
    ("/transfer", "moved"),
    ("/keep", "kept"),
    ("/zone", "own"),
];

/// A step of a sequence that is as good as random (Knuth's MMIX generator).
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).expect("31 bits")
}

/// Asks, and hangs up on two requests of five, at an arbitrary moment.
fn client(server: &Server, number: usize, done: &Done, answered: &AtomicUsize) {
    let mut state = number as u64 + 1;
    let mut client = server.connect();
    while !done.is_done() {
        let (path, expected) = PATHS[next(&mut state) % PATHS.len()];
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        if next(&mut state).is_multiple_of(5) || next(&mut state).is_multiple_of(4) {
            let moment = Duration::from_micros(next(&mut state) as u64 % 12_000);
            thread::sleep(moment);
            client = server.connect();
            continue;
        }
        assert_eq!(ok(&client.response()), expected, "{path}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// Which of these ports are those of connections to `server` that their client has not closed. A backend ends a while after its client
/// has closed, and on a busy machine is still in the database's list when the pool's next connection is.
fn open(ports: &str, server: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's table");
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let established = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote) = (port(words.next()?)?, port(words.next()?)?);
        (remote == server && words.next()? == "01").then_some(local)
    });
    let established: HashSet<u16> = established.collect();
    let ports = ports.split(',').filter_map(|port| port.parse().ok());
    ports.filter(|port| established.contains(port)).count()
}

/// `ports`: a query for the ports of all other clients, by commas.
fn hang_up_on((dsn, port): (String, u16), user: &str, ports: &str) {
    let server = Server::script(BANK)
        .args(["--workers", "2"])
        .env("DSN", dsn.clone())
        .env("DB_USER", user)
        .start();
    let observer = Server::script(
        r"$pdo = new PDO(getenv('DSN'), getenv('DB_USER'), getenv('DB_USER'));
          return fn (Hearth\Request $request): string => (string) $pdo->query($request->body())->fetchColumn();",
    )
    .args(["--workers", "1"])
    .env("DSN", dsn)
    .env("DB_USER", user)
    .start();
    ok(&server.get("/open"));
    let (answered, mut most) = (AtomicUsize::new(0), 0);
    traffic::meanwhile(
        24,
        |number, done| client(&server, number, done, &answered),
        || {
            let end = Instant::now() + Duration::from_secs(6);
            while Instant::now() < end {
                let seen = ok(&observer.connect().post("/", "text/plain", ports));
                most = most.max(open(&seen, port));
            }
        },
    );
    assert!(answered.into_inner() > 200);
    assert!((5..=10).contains(&most), "{most} connections");
    assert_eq!(ok(&server.get("/sum")), "2000");
    eventually("nothing is left", || {
        ok(&server.get("/bank")) == r#"{"active":0,"lingering":0,"waiting":0}"#
    });
    observer.stop();
    server.stop();
}

#[test]
fn clients_that_hang_up_on_mariadb_leave_nothing_to_others() {
    let database = MariaDb::start();
    hang_up_on(
        (database.dsn(), database.port),
        "hearth",
        "SELECT GROUP_CONCAT(SUBSTRING_INDEX(HOST, ':', -1)) FROM information_schema.PROCESSLIST \
         WHERE USER = 'hearth' AND ID <> CONNECTION_ID()",
    );
}

#[test]
fn clients_that_hang_up_on_postgresql_leave_nothing_to_others() {
    let database = Postgres::start();
    hang_up_on(
        (database.dsn(), database.port),
        "postgres",
        "SELECT string_agg(client_port::text, ',') FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
}
