//! What `/metrics` and `hearth status` say about the app's connection pools, with a real MariaDB.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::http::Client;
use testkit::service::MariaDb;
use testkit::{Server, ServerBuilder};

use crate::support::{admin, eventually, let_go, ok, until_handled};

/// `/query` waits in the database for a number of milliseconds, `/hold` keeps a connection and `/compute` the CPU until the
/// test lets them go.
const APP: &str = r#"
    $pdo = new Hearth\Pool\Pdo(getenv('DSN'), 'hearth', 'hearth', size: 3, minimumIdle: 1, total: 5, borrowTimeout: 10, returnTimeout: 10, checkAfter: 60, name: "shop \"a\"");
    $other = new Hearth\Pool\Pool(fn () => new PDO(getenv('DSN'), 'hearth', 'hearth'), size: 2, minimumIdle: 0, borrowTimeout: 10, leakThreshold: 0.05);
    return function (Hearth\Request $request) use ($pdo, $other): string {
        $ms = (int) $request->query('ms');
        switch ($request->path) {
            case '/query': $pdo->query('SELECT SLEEP(' . $ms / 1000 . ')')->fetchAll(); break;
            case '/hold':
                $pdo->beginTransaction();
                do { $pdo->query('SELECT SLEEP(0.01)')->fetchAll(); clearstatcache(); } while (!file_exists('go'));
                $pdo->commit();
                break;
            case '/compute': while (!file_exists('go')) { clearstatcache(); } break;
            case '/other': $other->with(function () { while (!file_exists('go')) { usleep(5000); clearstatcache(); } }); break;
            case '/twice': $db = $other->borrow(); $other->giveBack($db); try { $other->giveBack($db); } catch (LogicException) {} break;
            case '/later': Hearth\background(function () use ($ms, $pdo) {
                usleep(50000); // the client is gone by then
                touch('computes');
                for ($until = hrtime(true) + $ms * 1e6; hrtime(true) < $until;);
                $pdo->query('SELECT SLEEP(0.3)')->fetchAll();
            }); break;
            case '/break': for ($until = hrtime(true) + $ms * 1e6; hrtime(true) < $until;); str_repeat('x', 1 << 40); break;
            case '/crash': posix_kill(getmypid(), SIGKILL); break;
        }
        return (string) getmypid();
    };"#;

fn server(workers: &str) -> ServerBuilder {
    Server::script(APP)
        .args(["--workers", workers, "--admin", "127.0.0.1:0"])
        .env("DSN", MariaDb::shared().dsn())
}

fn page(server: &Server, path: &str) -> String {
    let answer = admin(server, path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

/// The value of a series, summed over the slots; 0 if there is none.
fn value(page: &str, name: &str, labels: &[&str]) -> f64 {
    page.lines()
        .filter(|line| line.starts_with(&format!("{name}{{")))
        .filter(|line| labels.iter().all(|label| line.contains(label)))
        .map(|line| {
            line.rsplit(' ')
                .next()
                .expect("a value")
                .parse::<f64>()
                .expect("a number")
        })
        .sum()
}

const SHOP: &str = r#"pool="shop \"a\"""#;

fn status(server: &Server, words: &[&str]) -> String {
    let output = Command::new(testkit::hearth())
        .args(["status", "app.php"])
        .args(words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory())
        .output()
        .expect("hearth starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn metrics_show_what_the_pools_do() {
    let server = server("1").start();
    for _ in 0..3 {
        ok(&server.get("/query?ms=1"));
    }
    ok(&server.get("/twice"));
    let mut idle = String::new();
    eventually("one is idle", || {
        idle = page(&server, "/metrics");
        value(&idle, "hearth_pool_connections", &[SHOP, "idle"]) == 1.0
    });
    assert_eq!(value(&idle, "hearth_pool_size", &[SHOP]), 3.0);
    assert_eq!(value(&idle, "hearth_pool_borrowed_total", &[SHOP]), 3.0);
    assert_eq!(
        value(&idle, "hearth_pool_borrow_seconds_count", &[SHOP]),
        3.0
    );
    assert_eq!(
        value(&idle, "hearth_pool_use_seconds_bucket", &[SHOP, "+Inf"]),
        3.0
    );
    assert_eq!(
        value(
            &idle,
            "hearth_pool_stale_returns_total",
            &["pool=\"pool1\""]
        ),
        1.0
    );
    assert_eq!(value(&idle, "hearth_pool_budget_limit", &[SHOP]), 5.0);
    assert_eq!(value(&idle, "hearth_pool_budget_connections", &[SHOP]), 1.0);

    // Five for three connections: three have one, two wait.
    let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    let mut busy = String::new();
    eventually("three active, two waiting", || {
        busy = page(&server, "/metrics");
        value(&busy, "hearth_pool_connections", &[SHOP, "active"]) == 3.0
            && value(&busy, "hearth_pool_waiting", &[SHOP]) == 2.0
    });
    assert_eq!(value(&busy, "hearth_pool_budget_connections", &[SHOP]), 3.0);
    let leases = status(&server, &["--pools"]);
    assert_eq!(leases.matches("GET /hold").count(), 3, "{leases}");
    assert!(leases.contains("budget of shop \"a\": 3 of 5"), "{leases}");
    let_go(&server);
    clients
        .iter_mut()
        .for_each(|client| drop(ok(&client.response())));
    server.stop();
}

#[test]
fn a_worker_that_computes_holds_up_no_other() {
    let server = server("1").start();
    ok(&server.get("/query?ms=1"));
    assert_eq!(
        value(
            &page(&server, "/metrics"),
            "hearth_pool_borrowed_total",
            &[SHOP]
        ),
        1.0
    );
    let mut client = server.connect();
    client.send("GET /compute HTTP/1.1\r\nHost: localhost\r\n\r\n");
    eventually("it computes", || {
        page(&server, "/metrics").contains("hearth_requests_in_flight{slot=\"0\"") && {
            let start = Instant::now();
            let known = page(&server, "/metrics");
            assert_eq!(value(&known, "hearth_pool_borrowed_total", &[SHOP]), 1.0);
            start.elapsed() >= Duration::from_millis(100)
        }
    });
    let_go(&server);
    ok(&client.response());
    eventually("it answers again", || {
        let status = page(&server, "/status");
        status.contains("\"age_seconds\":0.0") && !status.contains("\"pools\":[]")
    });
    server.stop();
}

#[test]
fn counters_outlive_their_worker() {
    let server = server("2").start();
    for _ in 0..4 {
        ok(&server.get("/query?ms=1"));
    }
    let before = page(&server, "/metrics");
    assert_eq!(value(&before, "hearth_pool_borrowed_total", &[SHOP]), 4.0);
    let old = server.workers();
    // A client that leaves at once may take its request along.
    let mut crashes = server.connect();
    crashes.send("GET /crash HTTP/1.1\r\nHost: localhost\r\n\r\n");
    eventually("another worker", || {
        let now = server.workers();
        now.len() == 2 && now != old
    });
    eventually("all workers answer", || {
        page(&server, "/status")
            .matches("\"name\":\"pool1\"")
            .count()
            >= 2
    });
    let after = page(&server, "/metrics");
    assert_eq!(
        value(&after, "hearth_pool_borrowed_total", &[SHOP]),
        4.0,
        "{after}"
    );
    server.stop();
}

#[test]
fn a_reload_loses_no_count() {
    let server = server("1").start();
    ok(&server.get("/query?ms=1"));
    let old = server.workers();
    server.signal(Signal::HUP);
    // It was not asked before: it said so when it left.
    let after = until_replaced(&server, &old);
    assert_eq!(
        value(&after, "hearth_pool_borrowed_total", &[SHOP]),
        1.0,
        "{after}"
    );
    ok(&server.get("/query?ms=1"));
    let after = page(&server, "/metrics");
    assert_eq!(
        value(&after, "hearth_pool_borrowed_total", &[SHOP]),
        2.0,
        "{after}"
    );
    server.stop();
}

#[test]
fn a_server_without_pools_says_nothing_of_them() {
    let server = Server::script("return fn () => 'ok';")
        .args(["--workers", "1", "--admin", "127.0.0.1:0"])
        .start();
    assert!(!page(&server, "/metrics").contains("hearth_pool"));
    assert!(!status(&server, &[]).contains("pool"));
    server.stop();
}

#[test]
fn a_long_lease_is_listed_with_its_place() {
    let server = server("1").start();
    let mut client = server.connect();
    client.send("GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n");
    eventually("the lease is listed", || {
        let status = status(&server, &["--pools"]);
        status.contains("GET /other") && status.contains("app.php:")
    });
    let_go(&server);
    ok(&client.response());
    server.stop();
}

/// What the pool calls ends its own task, which skips every `finally`.
#[test]
fn exit_in_what_the_pool_calls_costs_no_place() {
    let server = Server::script(
        r#"
        $may = function (string $what): bool {
            clearstatcache();
            if (is_file(__DIR__ . "/$what")) exit($what);
            return true;
        };
        $pool = new Hearth\Pool\Pool(
            factory: fn () => $may('factory') ? new stdClass() : null,
            size: 2, minimumIdle: 0, borrowTimeout: 0.2, total: 2,
            reset: fn () => $may('reset'), init: fn () => $may('init'),
        );
        return function () use ($pool): string {
            $pool->with(fn () => usleep(1000));
            return json_encode(array_intersect_key($pool->stats(), ['total' => 0, 'connecting' => 0]));
        };"#,
    )
    .args(["--workers", "1"])
    .start();
    for what in ["factory", "init", "reset"] {
        let flag = server.directory().join(what);
        std::fs::write(&flag, "").expect("a flag");
        for _ in 0..6 {
            server.get("/");
        }
        std::fs::remove_file(&flag).expect("the flag goes");
        eventually(&format!("alive after exit() in {what}"), || {
            server.get("/").status == 200
        });
        eventually("both places are there", || {
            ok(&server.get("/")).contains(r#""connecting":0"#)
        });
    }
    server.expect_log("exit() or a fatal error");
    server.expect_log("ended the task");
}

const BORROWED: &str = "hearth_pool_borrowed_total";

/// Until the only worker is another one, with none left that leaves; the metrics then.
fn until_replaced(server: &Server, old: &[u32]) -> String {
    let mut after = String::new();
    eventually("its successor has taken over", || {
        let now = server.workers();
        // What is asked only then is not from before.
        now.len() == 1 && now != old && {
            after = page(server, "/metrics");
            after.contains("hearth_workers{state=\"draining\"} 0")
        }
    });
    after
}

/// Asked while it computes, it comes to answer when it has said its last and closed its pools.
#[test]
fn a_question_that_is_answered_too_late_costs_no_count() {
    let server = server("1").start();
    for _ in 0..3 {
        ok(&server.get("/query?ms=1"));
    }
    let old = server.workers();
    ok(&server.get("/later?ms=700"));
    let computes = server.directory().join("computes");
    eventually("it computes", || computes.exists());
    page(&server, "/metrics");
    server.signal(Signal::HUP);
    let after = until_replaced(&server, &old);
    assert_eq!(value(&after, BORROWED, &[SHOP]), 4.0, "{after}");
    server.stop();
}

/// It cannot say how its pools are any more; that is no news of them.
#[test]
fn a_question_to_a_worker_that_is_broken_costs_no_count() {
    let server = server("1").start();
    let mut idle = server.connect();
    for _ in 0..3 {
        ok(&idle.get("/query?ms=1"));
    }
    let known = page(&server, "/metrics");
    assert_eq!(value(&known, BORROWED, &[SHOP]), 3.0);
    let old = server.workers();
    let mut client = server.connect();
    client.send("GET /break?ms=700 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    until_handled(&server, 1);
    page(&server, "/metrics");
    assert_eq!(client.response().status, 500);
    let after = until_replaced(&server, &old);
    assert_eq!(value(&after, BORROWED, &[SHOP]), 3.0, "{after}");
    server.stop();
}
