//! A classic site in production: releases behind a link, workers that die, uploads larger than memory.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testkit::{Server, kill};

use crate::support::traffic::under_load;
use crate::support::{eventually, ok};

/// A release whose two scripts name it; a page made of both tells a mixture.
fn release(site: &Path, number: u32) {
    let place = site.join(format!("releases/{number}"));
    std::fs::create_dir_all(&place).expect("a directory can be made");
    let write = |name: &str, text: String| {
        std::fs::write(place.join(name), text).expect("a file can be written");
    };
    write("part.php", format!("<?php return {number};"));
    write(
        "index.php",
        format!(
            "<?php $part = require __DIR__ . '/part.php'; \
             if ($part !== {number}) {{ http_response_code(500); }} echo 'release {number} part ', $part;"
        ),
    );
    let (link, current) = (site.join("next"), site.join("current"));
    symlink(&place, &link).expect("a link can be made");
    std::fs::rename(link, current).expect("a link can be moved");
}

fn reload(server: &Server, app: &Path) {
    let output = Command::new(testkit::hearth())
        .arg("reload")
        .arg(app)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory())
        .output()
        .expect("hearth starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn twenty_deployments_under_load_lose_nothing() {
    let site = testkit::document_root();
    release(site.path(), 0);
    let app = site.path().join("current");
    let server = Server::app(&app).args(["--workers", "2"]).start();
    let (answered, failed) = under_load(
        &server,
        4,
        "/",
        |_| false,
        || {
            for number in 1..=20 {
                release(site.path(), number);
                reload(&server, &app);
                let page = ok(&server.get("/"));
                assert_eq!(page, format!("release {number} part {number}"));
            }
        },
    );
    assert_eq!(failed, 0);
    assert!(answered > 200, "{answered}");
    eventually("old workers leave", || server.workers().len() == 2);
    server.stop();
}

/// Fast pages, and one that takes more memory than its process may have.
const PAGES: &str = "<?php if ($_SERVER['REQUEST_URI'] !== '/greedy') { echo 'ok'; return; } \
    ini_set('memory_limit', '256M'); $all = []; while (true) { $all[] = str_repeat('x', 1 << 20); }";

#[test]
fn fifty_killed_workers_under_load_cost_no_other_request() {
    let site = testkit::document_root();
    std::fs::write(site.path().join("index.php"), PAGES).expect("a file can be written");
    let server = Server::app(site.path()).args(["--workers", "12"]).start();
    let (answered, failed) = under_load(
        &server,
        12,
        "/",
        |response| response.status == 502,
        || {
            for number in 0..50 {
                let victim = one_of(&server, number);
                let start = Instant::now();
                while server.workers().contains(&victim) {
                    assert!(start.elapsed() < Duration::from_secs(20), "{victim} lives");
                    end(&server, victim, number);
                }
                eventually("all are there again", || server.workers().len() == 12);
            }
        },
    );
    // Each is sent to another worker once: only a request that meets two dying workers in a row may fail.
    assert!(failed <= 2, "{failed} of {answered} failed");
    assert!(answered > 500, "{answered}");
    server.stop();
}

fn one_of(server: &Server, number: usize) -> u32 {
    let workers = server.workers();
    workers[number % workers.len()]
}

/// A crash, a kill, or the end that the kernel has for a process that takes too much memory.
fn end(server: &Server, victim: u32, number: usize) {
    match number % 3 {
        // The first one may only disarm the handler that Rust has for it.
        0 => kill(victim, Signal::SEGV),
        1 => kill(victim, Signal::KILL),
        _ => exhaust(server, victim),
    }
    // Only a pace, which spreads the ends over the load.
    std::thread::sleep(Duration::from_millis(5));
}

/// This worker may now have two megabytes more than it has, and a greedy request comes: where it meets the limit, PHP gives
/// up; where it does not, at `memory_limit`. Then comes the kernel's hand, which is SIGKILL.
fn exhaust(server: &Server, victim: u32) {
    let status = std::fs::read_to_string(format!("/proc/{victim}/status")).unwrap_or_default();
    let size = field(&status, "VmSize:");
    let limit = Command::new("prlimit")
        .args(["--pid", &victim.to_string()])
        .arg(format!("--as={}", (size + 2048) * 1024))
        .status()
        .expect("prlimit (util-linux) starts");
    if limit.success() && size > 0 {
        let mut client = server.connect();
        client.send("GET /greedy HTTP/1.1\r\nHost: x\r\n\r\n");
        let _ = client.try_response(false);
        kill(victim, Signal::KILL);
    }
}

/// A number of kilobytes from `/proc/PID/status`.
fn field(status: &str, name: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

/// The most memory that each process of the server has had so far.
fn peaks(server: &Server) -> Vec<(u32, u64)> {
    let mut pids = vec![server.pid()];
    pids.extend(server.fronts());
    pids.extend(server.zygotes());
    pids.extend(server.workers());
    pids.into_iter()
        .filter_map(|pid| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            Some((pid, field(&status, "VmHWM:")))
        })
        .collect()
}

/// `bench/upload` asks for ten; one is sixteen times what a process may grow by.
fn upload(dispatch: &str) {
    let gigabytes: usize = std::env::var("UPLOAD_GB")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    let site = testkit::document_root();
    std::fs::write(
        site.path().join("index.php"),
        "<?php $in = fopen('php://input', 'rb'); $all = 0; while (!feof($in)) { $all += strlen(fread($in, 1 << 16)); } echo $all;",
    )
    .expect("a file can be written");
    let server = Server::app(site.path())
        .args([
            "--workers",
            "1",
            "--dispatch",
            dispatch,
            "--max-body",
            "0",
            "--request-timeout",
            "0",
        ])
        .args([
            "--ini",
            "enable_post_data_reading=0",
            "--ini",
            "post_max_size=0",
        ])
        .start();
    ok(&server.get("/"));
    let before = peaks(&server);
    let (piece, mut client) = (vec![b'x'; 1 << 20], server.connect());
    client.set_timeout(Duration::from_secs(600));
    let length = gigabytes << 30;
    client.send(format!(
        "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    ));
    (0..gigabytes << 10).for_each(|_| client.send(&piece));
    assert_eq!(ok(&client.response()), length.to_string());
    for (pid, after) in peaks(&server) {
        let first = before.iter().find(|(known, _)| *known == pid);
        let grown = after.saturating_sub(first.map_or(after, |(_, kilobytes)| *kilobytes));
        assert!(grown < 64 << 10, "process {pid} has grown by {grown} kB");
    }
    server.stop();
}

#[test]
fn an_upload_larger_than_memory_stays_out_of_it() {
    upload("balanced");
}

#[test]
fn an_upload_larger_than_memory_reaches_a_worker_directly() {
    upload("direct");
}
