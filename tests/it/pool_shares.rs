//! What a pool must not lose to its surroundings: a place to a time limit, a connection to the boot, a share to a busy neighbour.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use testkit::Server;
use testkit::http::Client;
use testkit::service::MariaDb;

use crate::support::traffic::{self, Done};
use crate::support::{eventually, ok, one_of_three};

/// `/spin` borrows and gives back until its time is up, which comes between any two instructions of that.
const SPIN: &str = r"
    $pool = new Hearth\Pool\Pool(fn () => new stdClass(), size: 2, minimumIdle: 0, borrowTimeout: 5);
    $semaphore = new Hearth\Semaphore(1);
    return function (Hearth\Request $request) use ($pool, $semaphore): string {
        if ($request->path === '/spin') {
            while (true) {
                $pool->giveBack($pool->borrow());
                $pool->with(fn () => null);
                $semaphore->with(fn () => null);
            }
        }
        return json_encode([$pool->stats()['active'], $pool->stats()['idle'] - $pool->stats()['total'], $semaphore->available()]);
    };";

#[test]
fn a_time_limit_between_two_lines_of_the_pool_loses_no_place() {
    let server = Server::script(SPIN)
        .args(["--workers", "1", "--request-timeout", "0.1"])
        .start();
    for _ in 0..12 {
        assert_ne!(server.get("/spin").status, 200);
        assert_eq!(ok(&server.get("/")), "[0,0,1]");
    }
    server.stop();
}

/// A query at boot, and a statement that was prepared there.
const BOOT: &str = r"
    $pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', [PDO::ATTR_EMULATE_PREPARES => false], size: 2, minimumIdle: 0, borrowTimeout: 10);
    $pdo->query('SELECT 1')->fetchAll();
    $statement = $pdo->prepare('SELECT ? + SLEEP(0.01)');
    return function (Hearth\Request $request) use ($pdo, $statement): string {
        switch ($request->path) {
            case '/stats': return $pdo->pool()->stats()['active'] . ' ' . $pdo->pool()->stats()['total'];
            case '/two':
                return json_encode(Hearth\parallel([fn () => $pdo->query('SELECT SLEEP(0.01) + 1')->fetchColumn(), fn () => $pdo->query('SELECT 2')->fetchColumn()]));
        }
        try {
            $statement->execute([$request->query('n')]);
            return (string) (int) $statement->fetchColumn();
        } catch (PDOException $error) {
            return 'refused';
        }
    };";

#[test]
fn what_was_borrowed_at_boot_comes_back() {
    let server = Server::script(BOOT)
        .args(["--workers", "1"])
        .env("DSN", MariaDb::shared().dsn())
        .start();
    eventually("the lease of the boot is over", || {
        ok(&server.get("/stats")).starts_with("0 ")
    });
    assert_eq!(ok(&server.get("/two")), "[1,2]");
    let request_all = |number: usize, done: &Done| {
        let mut client = server.connect();
        while !done.is_done() {
            client.send(format!("GET /?n={number} HTTP/1.1\r\nHost: a\r\n\r\n"));
            let answer = ok(&client.response());
            assert!(
                answer == "refused" || answer == number.to_string(),
                "{number}: {answer}"
            );
        }
    };
    traffic::meanwhile(8, request_all, || {
        std::thread::sleep(Duration::from_millis(300))
    });
    let stopping = Instant::now();
    server.stop();
    assert!(stopping.elapsed() < Duration::from_secs(5));
}

const SHARED: &str = r"
    $pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', size: 8, minimumIdle: 0, total: 4, borrowTimeout: 10, name: 'shares');
    return function (Hearth\Request $request) use ($pdo): string {
        if ($request->path === '/query') {
            $pdo->query('SELECT SLEEP(0.02)')->fetchAll();
        }
        return (string) getmypid();
    };";

fn request(client: &mut Client, path: &str) -> String {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    ok(&client.response())
}

/// The numbers of clients of one worker and of the other.
fn clients(server: &Server, counts: [usize; 2]) -> Vec<(Client, usize)> {
    let mut by_worker: HashMap<String, usize> = HashMap::new();
    let mut found = Vec::new();
    let mut spare = Vec::new();
    while found.len() < counts[0] + counts[1] {
        let mut client = server.connect();
        let worker = request(&mut client, "/");
        let next = by_worker.len();
        let index = *by_worker.entry(worker).or_insert(next);
        if found.iter().filter(|(_, of)| *of == index).count() < counts[index] {
            found.push((client, index));
        } else {
            spare.push(client);
        }
    }
    found
}

/// The clients of each worker ask for a while; how long each request of the second worker took, and how many the first answered.
fn share(server: &Server, counts: [usize; 2]) -> (Vec<Duration>, usize) {
    let all = clients(server, counts);
    let until = Instant::now() + Duration::from_secs(3);
    let threads = all.into_iter().map(|(mut client, worker)| {
        std::thread::spawn(move || {
            let mut times = Vec::new();
            while Instant::now() < until {
                let began = Instant::now();
                request(&mut client, "/query");
                times.push(began.elapsed());
            }
            (worker, times)
        })
    });
    let threads: Vec<_> = threads.collect();
    let (mut small, mut busy) = (Vec::new(), 0);
    for thread in threads {
        let (worker, times) = thread.join().expect("all are answered");
        if worker == 1 {
            small.extend(times);
        } else {
            busy += times.len();
        }
    }
    (small, busy)
}

/// 20 clients of one worker ask for all connections there may be, all the time.
#[test]
fn a_busy_worker_leaves_others_their_share() {
    let server = Server::script(SHARED)
        .args(["--workers", "2", "--dispatch", "direct"])
        .env("DSN", MariaDb::shared().dsn())
        .start();
    one_of_three(|| {
        let (mut small, busy) = share(&server, [20, 1]);
        small.sort_unstable();
        let at = |percent| small.get(small.len() * percent / 100);
        let [Some(usual), Some(most), Some(slow)] = [50, 90, 99].map(at) else {
            return Err("nothing was answered".to_owned());
        };
        // Half of what is possible with 20 ms for a query, so their mean is below twice that. Its connection stays its own:
        // only the first request waits for one.
        let is_fair = small.len() > 75 && *most < 2 * *usual && *slow < Duration::from_millis(100);
        is_fair.then_some(()).ok_or_else(|| {
            format!(
                "{} of {busy}; p50 {usual:?}, p90 {most:?}, p99 {slow:?}",
                small.len()
            )
        })
    });
    one_of_three(|| {
        let (even, busy) = share(&server, [4, 4]);
        let is_even = even.len() * 3 > busy && busy * 3 > even.len();
        is_even
            .then_some(())
            .ok_or_else(|| format!("{} and {busy}", even.len()))
    });
    server.stop();
}
