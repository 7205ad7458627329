//! The run of one seed: its handlers, a server for them, clients, and the findings.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use testkit::service::{MariaDb, Postgres, Redis};
use testkit::{Server, descriptors};

use crate::piece::{self, Choice, Piece};
use crate::random::Random;
use crate::traffic::{self, Echo, Traffic};

const HANDLERS: u64 = 120;
/// The text of one script, in its order.
const LIBRARY: [&str; 15] = [
    include_str!("app.php"),
    include_str!("exclusive.php"),
    include_str!("objects.php"),
    include_str!("callbacks.php"),
    include_str!("cache.php"),
    include_str!("engine.php"),
    include_str!("shared.php"),
    include_str!("documents.php"),
    include_str!("opcodes.php"),
    include_str!("requests.php"),
    include_str!("streams.php"),
    include_str!("services.php"),
    include_str!("files.php"),
    include_str!("pipes.php"),
    include_str!("handle.php"),
];
/// A script whose compilation is a fatal error.
const BROKEN: &str = "<?php function twice() {} function twice() {}";
const PART: &str = "<?php nap($c, 500); return 1;";
const PART_ONCE: &str = "<?php Required::wait(); const PART_ONCE = 1; Required::wait();";

/// Growth of a worker in bytes that counts as a leak: more than pages of the heap that are in use by chance, less than a
/// leak leaves after some thousand requests.
const MOST_GROWTH: u64 = 24 << 20;

/// More descriptors that count as a leak: what requests keep on purpose are fewer.
const MOST_OPENED: usize = 40;

/// Returns a number from the environment.
pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number"))
    })
}

/// Returns the arguments of `CHAOS_UNDER`: a program that the server runs under, such as valgrind, which makes it slow.
fn tool() -> Vec<String> {
    let words = std::env::var("CHAOS_UNDER").unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

/// The plan of a run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) requests: u64,
    pub(crate) handlers: Vec<Vec<Piece>>,
    /// The only handler that gets requests, if set.
    pub(crate) handler: Option<u64>,
}

/// Returns how many of a hundred handlers may break their worker. The worker is then replaced, with growing delays: with
/// many such handlers, few other pieces are tested.
fn breaking(seed: u64) -> u64 {
    match seed % 8 {
        0 | 4 => 0,
        7 => 30,
        _ => 5,
    }
}

impl Plan {
    /// Generates the handlers of a seed.
    pub(crate) fn new(seed: u64, requests: u64) -> Self {
        let only = std::env::var("CHAOS_ONLY").unwrap_or_default();
        let only: Vec<String> = only
            .split(',')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        let handlers = (0..HANDLERS).map(|n| {
            let mut random = Random::new(seed, n + 1);
            let fatal = random.is(breaking(seed));
            piece::random(
                &mut random,
                &Choice {
                    fatal,
                    only: only.clone(),
                },
            )
        });
        Self {
            seed,
            requests,
            handlers: handlers.collect(),
            handler: setting("CHAOS_HANDLER"),
        }
    }

    fn app(&self) -> String {
        let mut text = String::from("$handlers = [];\n");
        for (n, handler) in self.handlers.iter().enumerate() {
            let _ = writeln!(
                text,
                "$handlers[{n}] = function (Context $c) {{\n{}}};",
                piece::php(handler)
            );
        }
        text + &LIBRARY.concat()
    }
}

/// Returns whether a line of the log reports a failure.
fn suspicious(line: &str) -> bool {
    // Words of the supervisor, the watchdog and the app.
    let bad = [
        " died",
        "SIGSEGV",
        "SIGABRT",
        "still computes",
        " ALERT ",
        "panicked",
        "CHAOS ",
    ];
    bad.iter().any(|part| line.contains(part))
}

/// Returns the variables that tell the app where the servers of this test process are.
fn services() -> [(&'static str, String); 5] {
    let postgres = Postgres::shared().dsn();
    let words = postgres.trim_start_matches("pgsql:").replace(';', " ");
    [
        ("MYSQL", MariaDb::shared().dsn()),
        ("MYSQL_PORT", MariaDb::shared().port.to_string()),
        ("PGSQL", postgres),
        ("PG", words),
        ("REDIS", Redis::shared().port.to_string()),
    ]
}

/// Starts a server with the plan's app.
fn start(plan: &Plan, echo: &Echo) -> Server {
    let app = plan.app();
    let tool = tool();
    // Valgrind cannot start `/proc/self/exe`, by which the front is started; the front links no PHP.
    let balanced = tool.is_empty() && plan.seed.is_multiple_of(3);
    let (timeout, grace, stop) = if tool.is_empty() {
        // Where a task cannot be left, its waits block one after the other, and a busy machine makes them long.
        // Background work that waits for what never comes ends with its worker.
        ("1", "6", "5")
    } else {
        ("5", "30", "20")
    };
    let services = services();
    let server = Server::script(&app).inside(tool);
    let server = services
        .iter()
        .fold(server, |server, (name, value)| server.env(name, value));
    server
        .args(["--workers", "2", "--log-level", "info"])
        .args(["--request-timeout", timeout, "--request-grace", grace])
        .args(["--stop-timeout", stop])
        // A small cache, so that entries push each other out; and every slow request is sampled.
        .args(["--cache-size", "1M", "--cache-copies", "64K"])
        .args(["--slow-after", "0.02"])
        .args([
            "--ini",
            "memory_limit=64M",
            "--ini",
            "fiber.stack_size=262144",
        ])
        .args(if balanced {
            ["--dispatch", "balanced"]
        } else {
            ["--dispatch", "direct"]
        })
        .env("ECHO", echo.address())
        .file("broken.php", BROKEN)
        .file("part.php", PART)
        .file("part-once.php", PART_ONCE)
        .start()
}

/// Runs the plan; returns the findings.
pub(crate) fn run(plan: &Plan) -> Vec<String> {
    let echo = Echo::start();
    let server = start(plan, &echo);
    let is_slow = !tool().is_empty();
    let send = |requests: Range<u64>| {
        traffic::send_all(&Traffic {
            address: server.address(),
            seed: plan.seed,
            requests,
            handlers: plan.handlers.len() as u64,
            handler: plan.handler,
            timeout: Duration::from_secs(if is_slow { 120 } else { 20 }),
        })
    };
    let mut found = send(0..plan.requests / 2);
    let before = memory(&server);
    let opened = open(&server);
    found.extend(send(plan.requests / 2..plan.requests));
    // A tool such as valgrind keeps freed memory for a while.
    if !is_slow {
        found.extend(grown(&before, &memory(&server)));
    }
    found.extend(last_words(&server));
    found.extend(left_open(&opened, &server));
    keep(&server);
    if found.is_empty() {
        server.stop();
    } else {
        server.abandon();
    }
    found
}

/// Returns the resident memory of each worker, in bytes.
fn memory(server: &Server) -> Vec<(u32, u64)> {
    let pages = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        text.split(' ').nth(1)?.parse::<u64>().ok()
    };
    let workers = server.workers().into_iter();
    workers
        .filter_map(|pid| Some((pid, pages(pid)? * 4096)))
        .collect()
}

/// Returns the workers that use much more memory after the same load was repeated. What requests leave on purpose is
/// bounded (`keep()` in the app).
fn grown(before: &[(u32, u64)], after: &[(u32, u64)]) -> Vec<String> {
    let both = before.iter().filter_map(|(pid, old)| {
        let (_, new) = after.iter().find(|(other, _)| other == pid)?;
        Some((pid, *old, *new))
    });
    both.filter(|(_, old, new)| *new > old + MOST_GROWTH)
        .map(|(pid, old, new)| format!("worker {pid} has grown from {old} to {new} bytes"))
        .collect()
}

/// Returns how many descriptors each worker has.
fn open(server: &Server) -> Vec<(u32, usize)> {
    let workers = server.workers().into_iter();
    workers.map(|pid| (pid, descriptors(pid).len())).collect()
}

/// Returns the workers that have many more descriptors than before, also when requests whose clients have left had the time
/// to end, and the collector has run.
fn left_open(before: &[(u32, usize)], server: &Server) -> Vec<String> {
    let growth = || {
        let after = open(server).into_iter();
        let both = after.filter_map(|(pid, new)| {
            let (_, old) = before.iter().find(|(other, _)| *other == pid)?;
            (new > old + MOST_OPENED)
                .then(|| format!("worker {pid} had {old} descriptors and has {new}"))
        });
        both.collect::<Vec<_>>()
    };
    for _ in 0..50 {
        if growth().is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    growth()
}

/// Keeps files for the analysis: the log, and core files, which the kernel writes after `ulimit -c unlimited`.
fn keep(server: &Server) {
    let Ok(directory) = std::env::var("CHAOS_KEEP") else {
        return;
    };
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory).expect("CHAOS_KEEP can be made");
    std::fs::write(directory.join("log"), server.log().text()).expect("CHAOS_KEEP can be written");
    let files = std::fs::read_dir(server.directory()).expect("the app's directory");
    for file in files.flatten() {
        let name = file.file_name();
        if name.to_string_lossy().starts_with("core") || name == "app.php" {
            let _ = std::fs::copy(file.path(), directory.join(name));
        }
    }
}

/// Returns the suspicious lines of the log, once every worker has had the time to end its requests.
fn last_words(server: &Server) -> Vec<String> {
    let mut client = server.connect();
    client.set_timeout(Duration::from_secs(10));
    client.send("GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let is_deaf = client.try_response(false).is_err();
    let lines = server.log().lines();
    let mut found: Vec<String> = (lines.iter().enumerate())
        .filter(|(place, line)| suspicious(line) && !is_of_broken_worker(*place, &lines))
        .map(|(_, line)| line.clone())
        .collect();
    if is_deaf {
        found.push("the server answers no more".to_owned());
    }
    found
}

/// The supervisor tells a few milliseconds after the error that a worker is replaced: within so many lines of the log.
const LINES_UNTIL_TOLD: usize = 50;

/// Whether the line at this place tells of a worker that had what one at a time may have, and had been ended by a fatal error: it gives that
/// back at once, but has its files until it exits.
fn is_of_broken_worker(place: usize, lines: &[String]) -> bool {
    let holder = lines[place].split_once("held by pid=");
    let pid = holder.and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    pid.is_some_and(|pid| {
        let replaced = format!("a fatal error in PHP pid={pid} ");
        (lines.iter().take(place + LINES_UNTIL_TOLD)).any(|line| line.contains(&replaced))
    })
}

#[test]
fn a_worker_is_excused_only_once_it_is_broken() {
    let line = |text: &str| text.to_owned();
    let found = line("CHAOS mixed up: key at the same time as T1T of T2T is [held by pid=12]");
    let replaced = line("worker is replaced: a fatal error in PHP pid=12 slot=1");
    let others = vec![String::new(); LINES_UNTIL_TOLD];
    assert!(is_of_broken_worker(1, &[replaced.clone(), found.clone()]));
    assert!(is_of_broken_worker(0, &[found.clone(), replaced.clone()]));
    let later = [vec![found.clone()], others, vec![replaced]].concat();
    assert!(!is_of_broken_worker(0, &later));
    let other = line("worker is replaced: a fatal error in PHP pid=123 slot=1");
    assert!(!is_of_broken_worker(1, &[other, found]));
}
