//! Pools of connections in a server under load: fair, bounded over all workers, and nothing mixed or lost.

use std::thread;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use testkit::http::Client;
use testkit::service::MariaDb;
use testkit::{Server, ServerBuilder, kill};

use crate::support::traffic::{self, Done};
use crate::support::{at_once, eventually, hearth, ok, resident, same};

/// `/wait` keeps one of eight connections for a millisecond and says as what number it was served and how long it waited since
/// `/resume`; `/pause` lets all wait.
const QUEUE: &str = r"
    ini_set('memory_limit', '-1');
    $pool = new Hearth\Pool\Pool(fn () => new stdClass(), size: 8, minimumIdle: 8, maxConnecting: 8, borrowTimeout: 60, name: 'queue');
    $served = 0;
    $resumed = 0.0;
    return function (Hearth\Request $request) use ($pool, &$served, &$resumed): string {
        switch ($request->path) {
            case '/pause': $pool->pause(); $served = 0; return '';
            case '/resume': $resumed = hrtime(true); $pool->resume(); return '';
            case '/waiting': return (string) $pool->stats()['waiting'];
            case '/memory': gc_collect_cycles(); return (string) memory_get_usage();
        }
        return $pool->with(function () use (&$served, &$resumed): string {
            $answer = ++$served . ' ' . (hrtime(true) - $resumed);
            usleep(1000);
            return $answer;
        });
    };";

const WAITING: usize = 10_000;

fn allow_many_descriptors() {
    let most = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Nofile, all).expect("up to the hard limit");
    assert!(
        most.is_none_or(|most| most > WAITING as u64 + 1000),
        "{most:?}"
    );
}

/// Nanoseconds that each waited, in the order in which they were served.
fn waits(server: &Server, clients: &mut [Client]) -> Vec<u64> {
    ok(&server.get("/pause"));
    for client in &mut *clients {
        client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    eventually("all wait", || {
        ok(&server.get("/waiting")) == WAITING.to_string()
    });
    ok(&server.get("/resume"));
    let mut served: Vec<(usize, u64)> = clients
        .iter_mut()
        .map(|client| {
            let answer = ok(&client.response());
            let (number, wait) = answer.split_once(' ').expect("two numbers");
            (
                number.parse().expect("a number"),
                wait.parse().expect("a number"),
            )
        })
        .collect();
    served.sort_unstable();
    served.into_iter().map(|(_, wait)| wait).collect()
}

#[test]
fn ten_thousand_requests_wait_fairly_and_in_flat_memory() {
    allow_many_descriptors();
    let server = Server::script(QUEUE)
        .args(["--workers", "1", "--concurrency", "11000"])
        .start();
    let mut clients: Vec<Client> = (0..WAITING).map(|_| server.connect()).collect();
    let mut memory = Vec::new();
    for _ in 0..3 {
        let waits = waits(&server, &mut clients);
        assert_eq!(waits.len(), WAITING);
        let last = &waits[WAITING - WAITING / 10..];
        let mean = last.iter().sum::<u64>() / last.len() as u64;
        let most = waits.iter().max().expect("some");
        assert!(
            *most * 10 <= mean * 12,
            "most {most} ns, mean of the last tenth {mean} ns"
        );
        let of_php: u64 = ok(&server.get("/memory")).parse().expect("a number");
        memory.push((resident(server.workers()[0]), of_php));
    }
    let [(first, first_of_php), .., (last, last_of_php)] = memory[..] else {
        unreachable!()
    };
    assert!(
        last <= first + first / 50 && last_of_php <= first_of_php + 100_000,
        "{memory:?}"
    );
    drop(clients);
    server.stop();
}

/// `/query` waits in the database for up to 5 ms; a wide transaction for `/transfer`, through Doctrine, Eloquent or plain PDO.
const SHOP: &str = r#"
    foreach (['Doctrine/DBAL', 'Illuminate/Database'] as $library) {
        if (is_file("/usr/share/php/$library/autoload.php")) { require_once "/usr/share/php/$library/autoload.php"; }
    }
    $pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION],
        size: (int) getenv('SIZE'), total: 20, borrowTimeout: 30, minimumIdle: 0, name: 'shop');
    $driver = class_exists(Doctrine\DBAL\Driver\AbstractMySQLDriver::class) ? new class($pdo) extends Doctrine\DBAL\Driver\AbstractMySQLDriver {
        public function __construct(private PDO $pdo) {}
        public function connect(array $params): Doctrine\DBAL\Driver\Connection { return new Doctrine\DBAL\Driver\PDO\Connection($this->pdo); }
    } : null;
    return function (Hearth\Request $request) use ($pdo, $driver): string {
        $id = (int) $request->query('id');
        switch ($request->path) {
            case '/query': return (string) $pdo->query('SELECT 1 + SLEEP(' . mt_rand(0, 5) / 1000 . ')')->fetchColumn();
            case '/long':
                $pdo->beginTransaction();
                $pdo->exec("INSERT INTO long_ones VALUES ($id)");
                $pdo->query('SELECT SLEEP(1)')->fetchAll();
                $pdo->commit();
                return 'done';
            case '/doctrine':
                $dbal = new Doctrine\DBAL\Connection([], $driver);
                $no = $dbal->transactional(function () use ($dbal, $id): string {
                    $dbal->insert('ledger', ['id' => $id, 'n' => $id]);
                    usleep(2000);
                    $no = $dbal->lastInsertId();
                    $dbal->update('ledger', ['n' => 2 * $id], ['id' => $id]);
                    return $no;
                });
                return $dbal->fetchOne('SELECT n FROM ledger WHERE id = ?', [$id]) . ' ' . $no;
            case '/eloquent':
                $connection = new Illuminate\Database\MySqlConnection($pdo);
                $no = $connection->transaction(function () use ($connection, $id): string {
                    $connection->table('ledger')->insert(['id' => $id, 'n' => $id]);
                    usleep(2000);
                    $no = $connection->getPdo()->lastInsertId();
                    $connection->table('ledger')->where('id', $id)->increment('n', $id);
                    return $no;
                });
                return $connection->table('ledger')->where('id', $id)->value('n') . ' ' . $no;
            case '/crash': posix_kill(getmypid(), SIGKILL);
        }
        return '';
    };"#;

fn shop(database: &MariaDb, workers: &str, size: &str) -> ServerBuilder {
    Server::script(SHOP)
        .args(["--workers", workers])
        .env("DSN", database.dsn())
        .env("SIZE", size)
}

/// Asks a database of its own how it is.
struct Monitor(Server, Client);

impl Monitor {
    fn at(database: &MariaDb) -> Monitor {
        let server = Server::script(
            r"$pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'root', '', size: 1, minimumIdle: 1);
              return fn (Hearth\Request $request): string => (string) $pdo->query($request->body())->fetchColumn();",
        )
        .args(["--workers", "1"])
        .env("DSN", format!("mysql:unix_socket={};dbname=hearth", database.socket.display()))
        .start();
        let client = server.connect();
        Monitor(server, client)
    }

    fn number(&mut self, query: &str) -> u64 {
        let answer = ok(&self.1.post("/", "text/plain", query));
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{query}: {answer:?}"))
    }

    fn connections(&mut self) -> u64 {
        self.number("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'hearth'")
    }
}

/// Clients ask for a while.
fn under_queries(server: &Server, meanwhile: impl FnOnce()) {
    let request = |_, done: &Done| {
        let mut client = server.connect();
        while !done.is_done() {
            client.send("GET /query HTTP/1.1\r\nHost: a\r\n\r\n");
            match client.try_response(false) {
                Ok(answer) => drop(ok(&answer)),
                // Its worker was killed.
                Err(_) => client = server.connect(),
            }
        }
    };
    traffic::meanwhile(64, request, meanwhile);
}

#[test]
fn the_database_never_sees_more_than_the_total_of_four_workers() {
    let database = MariaDb::start();
    let server = shop(&database, "4", "20").start();
    let mut monitor = Monitor::at(&database);
    let mut seen = Vec::new();
    under_queries(&server, || {
        for _ in 0..1500 {
            seen.push(monitor.connections());
        }
    });
    let most = seen.iter().max().expect("some");
    assert!((18..=20).contains(most), "{most}");

    // A worker that dies gives its share back: the others have all of it, as soon as the database has noticed.
    under_queries(&server, || {
        kill(server.workers()[0], Signal::KILL);
        eventually("all 20 are in use again", || monitor.connections() == 20);
        for _ in 0..500 {
            assert!(monitor.connections() <= 20);
        }
    });
    monitor.0.stop();
    server.stop();
}

/// A worker that leaves gives its share back, and one that comes takes one: they come and go four times.
#[test]
fn the_database_never_sees_more_than_the_total_of_workers_that_come_and_go() {
    let database = MariaDb::start();
    let server = Server::script(SHOP)
        .args([
            "--workers-min",
            "1",
            "--workers-max",
            "5",
            "--idle-timeout",
            "0.3",
        ])
        .args(["--concurrency", "4"])
        .env("DSN", database.dsn())
        .env("SIZE", "20")
        .start();
    let mut monitor = Monitor::at(&database);
    for round in 0..4 {
        under_queries(&server, || {
            eventually("workers came", || {
                assert!(monitor.connections() <= 20, "{round}");
                server.workers().len() > 2
            });
            for _ in 0..200 {
                assert!(monitor.connections() <= 20, "{round}");
            }
        });
        eventually("they have left", || {
            assert!(monitor.connections() <= 20, "{round}");
            server.workers().len() == 1
        });
    }
    monitor.0.stop();
    server.stop();
}

#[test]
fn reloads_and_the_end_let_what_is_out_come_back() {
    let database = MariaDb::start();
    database.run("CREATE TABLE hearth.long_ones (id INT)");
    let server = shop(&database, "2", "8").start();
    let mut monitor = Monitor::at(&database);
    let begin = |from: u32, clients: &mut Vec<Client>| {
        for id in from..from + 6 {
            let mut client = server.connect();
            client.send(format!("GET /long?id={id} HTTP/1.1\r\nHost: a\r\n\r\n"));
            clients.push(client);
        }
    };
    let mut clients = Vec::new();
    begin(0, &mut clients);
    eventually("all are in the database", || {
        monitor.number(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(1%'",
        ) == 6
    });
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    ok(&server.get("/query"));
    for client in &mut clients {
        assert_eq!(ok(&client.response()), "done");
    }
    clients.clear();
    assert_eq!(monitor.number("SELECT COUNT(*) FROM long_ones"), 6);
    eventually("the old workers' connections are closed", || {
        monitor.connections() <= 1
    });

    begin(6, &mut clients);
    eventually("all are in the database", || {
        monitor.number(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(1%'",
        ) == 6
    });
    let stopping = thread::spawn(|| server.stop());
    for client in &mut clients {
        assert_eq!(ok(&client.response()), "done");
    }
    stopping.join().expect("it stops");
    assert_eq!(monitor.number("SELECT COUNT(*) FROM long_ones"), 12);
    eventually("none is left", || monitor.connections() == 0);
    // Each was closed as a client should: the database has nothing to complain of.
    let aborted = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'ABORTED_CLIENTS'";
    assert_eq!(monitor.number(aborted), 0);
    monitor.0.stop();
}

/// The libraries' classes are first used in requests, of two workers at once: opcache must not fill superglobals then.
#[test]
fn two_hundred_transactions_at_once_mix_and_lose_nothing() {
    let database = MariaDb::start();
    let server = shop(&database, "2", "8").start();
    let mut monitor = Monitor::at(&database);
    for library in ["doctrine", "eloquent"] {
        database.run("CREATE OR REPLACE TABLE hearth.ledger (no INT AUTO_INCREMENT PRIMARY KEY, id INT UNIQUE, n INT)");
        let targets: Vec<String> = (1..=200).map(|id| format!("/{library}?id={id}")).collect();
        let (answers, _) = at_once(&server, &targets);
        let mut numbers: Vec<u64> = Vec::new();
        for (answer, id) in answers.iter().zip(1..) {
            let answer = ok(answer);
            let (n, no) = answer.split_once(' ').expect("two numbers");
            assert_eq!(n, (2 * id).to_string(), "{library}");
            let no = no.parse().expect("a number");
            assert_eq!(
                monitor.number(&format!("SELECT id FROM ledger WHERE no = {no}")),
                id
            );
            numbers.push(no);
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 200, "{library}");
        assert_eq!(
            monitor.number("SELECT SUM(n) FROM ledger"),
            40_200,
            "{library}"
        );
    }
    let (answers, _) = at_once(&server, &same("/query", 200));
    assert!(answers.iter().all(|answer| answer.status == 200));
    monitor.0.stop();
    server.stop();
}
