//! What the workers of a site share, keep and limit.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::{Server, kill};

use super::site;
use crate::support::{UNTIL_GO, at_once, eventually, let_go, ok, resident, same};

#[test]
fn opcache_and_apcu_are_one_for_all_workers() {
    let server = Server::app(".")
        .args(["--dispatch", "direct", "--workers", "4"])
        .args(["--ini", "opcache.file_update_protection=0"])
        .file("index.php", "<?php apcu_add('n', 0); echo apcu_inc('n'), ' ', getmypid(), ' ', opcache_is_script_cached(__FILE__) ? 'cached' : 'new';")
        .start();
    let answers: Vec<String> = at_once(&server, &same("/", 40)).0.iter().map(ok).collect();
    let mut numbers: Vec<u32> = answers
        .iter()
        .map(|a| a.split(' ').next().unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u32>>());
    assert!(answers.iter().all(|answer| answer.ends_with("cached")));
    server.stop();
}

/// `current` is resolved once per generation: a release is switched by the reload, not by the link.
#[test]
fn a_release_is_switched_by_the_reload() {
    for dispatch in ["direct", "balanced"] {
        a_release_is_switched(dispatch);
    }
}

fn a_release_is_switched(dispatch: &str) {
    let releases = testkit::temporary();
    let link = releases.path().join("current");
    for name in ["one", "two"] {
        let folder = releases.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("index.php"), "<?php require 'version.php';").unwrap();
        let code = format!("<?php echo '{name} ', basename(__DIR__), ' ', getmypid();");
        std::fs::write(folder.join("version.php"), code).unwrap();
        std::fs::write(folder.join("version.txt"), name).unwrap();
    }
    std::os::unix::fs::symlink("one", &link).unwrap();
    let server = Server::app(&link)
        .args(["--dispatch", dispatch, "--workers", "2"])
        .start();
    let first = ok(&server.get("/"));
    assert!(first.starts_with("one one "), "{first}");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("two", &link).unwrap();
    // A worker that comes up after the link was switched is still of the old generation.
    let old = server.workers();
    old.iter().for_each(|pid| kill(*pid, Signal::KILL));
    eventually("the old workers are gone", || {
        server.workers().iter().all(|pid| !old.contains(pid))
    });
    assert!(ok(&server.get("/")).starts_with("one one "));
    assert_eq!(ok(&server.get("/version.txt")), "one");
    server.signal(Signal::HUP);
    server.expect_log("serving generation=2");
    // For a moment a connection may still meet a worker of the old generation.
    eventually("the new release answers", || {
        server.get("/").text().starts_with("two two ")
    });
    eventually("its files are sent", || {
        server.get("/version.txt").text() == "two"
    });
    server.stop();
}

#[test]
fn memory_stays_flat() {
    let code = "require_once 'lib.php'; $a = range(1, 20000); $b = new ArrayObject($a); $b['self'] = $b; echo memory_get_usage() > 0;";
    let server = site(&[
        ("index.php", code),
        ("lib.php", "class Lib { public $x = [1, 2, 3]; }"),
    ])
    .start();
    let mut client = server.connect();
    let mut run = |times: usize| (0..times).for_each(|_| drop(ok(&client.get("/"))));
    let used = || -> u64 { server.workers().into_iter().map(resident).sum() };
    run(300);
    let before = used();
    run(3000);
    let growth = used().saturating_sub(before);
    assert!(growth < 2 << 20, "{growth} bytes in 3,000 requests");
    server.stop();
}

#[test]
fn time_limits() {
    let server = site(&[
        (
            "cpu.php",
            "ini_set('max_execution_time', '1'); while (true);",
        ),
        ("wall.php", "try { sleep(30); } finally { echo 'cleaned'; }"),
        (
            "more.php",
            "set_time_limit(5); usleep(1500000); echo 'done';",
        ),
        ("next.php", "echo 'next';"),
    ])
    .args(["--request-timeout", "1"])
    .start();
    let start = Instant::now();
    assert_eq!(server.get("/cpu.php").status, 500);
    assert_eq!(server.get("/wall.php").status, 500);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(ok(&server.get("/more.php")), "done");
    assert_eq!(ok(&server.get("/next.php")), "next");
    server.expect_log("time limit of 1 s (request.timeout)");
    server.stop();
}

#[test]
fn waits_leave_the_thread_to_other_connections() {
    let server = site(&[("slow.php", &format!("{UNTIL_GO} echo 'slow';"))]).start();
    std::fs::write(server.directory().join("a.txt"), "static").unwrap();
    let mut slow = server.connect();
    slow.send("GET /slow.php HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(ok(&server.get("/a.txt")), "static");
    let_go(&server);
    assert_eq!(ok(&slow.response()), "slow");
    server.stop();
}
