//! Objects that refer to each other and hold a descriptor.

use testkit::Server;

use crate::support::{eventually, ok, one_worker};

/// Each request leaves a cycle that holds an open database.
const LEAVES_ONE: &str = r#"
    touch(__DIR__ . '/file.sqlite');
    return function ($request) {
        if ($request->path === '/leave') {
            $one = new stdClass;
            $one->self = $one;
            $one->pdo = new PDO('sqlite:' . __DIR__ . '/file.sqlite');
            $one->pdo->query('SELECT * FROM sqlite_master')->fetchAll();
        }
        return (string) count(scandir('/proc/self/fd'));
    };"#;

fn open_databases(server: &Server) -> usize {
    let workers = server.workers();
    let folder = std::fs::read_dir(format!("/proc/{}/fd", workers[0])).expect("a worker");
    let targets = folder.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets
        .filter(|target| target.ends_with("file.sqlite"))
        .count()
}

/// PHP's collector begins at 10,001 possible cycles; a process may have fewer descriptors.
#[test]
fn connections_in_cycles_are_closed_long_before_the_collectors_buffer_is_full() {
    let server = one_worker(LEAVES_ONE).start();
    let mut client = server.connect();
    let first: usize = ok(&client.get("/")).parse().expect("a number");
    for _ in 0..600 {
        let open: usize = ok(&client.get("/leave")).parse().expect("a number");
        assert!(
            open < first + 200,
            "{open} open descriptors, {first} at first"
        );
    }
    server.stop();
}

#[test]
fn connections_in_cycles_are_closed_when_the_worker_is_idle() {
    let server = one_worker(LEAVES_ONE).start();
    for _ in 0..10 {
        ok(&server.get("/leave"));
    }
    eventually("the collector closes them", || open_databases(&server) == 0);
    ok(&server.get("/leave"));
    eventually("and the next", || open_databases(&server) == 0);
    server.stop();
}

#[test]
fn an_app_that_turns_the_collector_off_keeps_its_cycles() {
    let server = one_worker(&format!("gc_disable(); {LEAVES_ONE}")).start();
    for _ in 0..200 {
        ok(&server.get("/leave"));
    }
    assert!(open_databases(&server) >= 200);
    server.stop();
}

/// The collector runs on its own there: no request has a time limit that would end its destructors.
#[test]
fn a_destructor_without_end_does_not_stop_an_idle_worker_for_good() {
    let server = one_worker(
        "class Endless { public $self; function __destruct() { for (;;); } }
        return function ($request) {
            if ($request->path === '/leave') { $one = new Endless; $one->self = $one; }
            return (string) getmypid();
        };",
    )
    .args(["--request-timeout", "0.5", "--request-grace", "0.5"])
    .start();
    let first = ok(&server.get("/leave"));
    eventually("another worker is there", || {
        server.workers().iter().all(|pid| pid.to_string() != first)
    });
    assert_ne!(ok(&server.get("/")), first);
    server.stop();
}
