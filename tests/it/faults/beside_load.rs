//! Faults while ordinary requests come in, 200 a second: those are answered, but for what was in flight in a process that died.
//!
//! Short here; `FAULTS_LONG=1` makes them as long and as many as `docs/guide/running.md` says they were tried, and prints the times
//! of ordinary requests.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use testkit::http::Client;
use testkit::{Server, ServerBuilder, kill};

use crate::front::metric;
use crate::support::traffic::{Done, meanwhile};
use crate::support::{as_other_user, eventually, ok, start_as_other_user};

const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/memory': return str_repeat('x', 1 << 30);
        case '/big': return str_repeat('x', 1 << 19);
        case '/form': return (string) strlen($request->body());
    }
    return 'fine';
};"#;

/// Clients of ordinary requests, and the time between two requests of one.
const CLIENTS: usize = 4;
const PACE: Duration = Duration::from_millis(20);
/// A wait that a busy machine may cause.
const NOTICED: Duration = Duration::from_secs(2);

fn is_long() -> bool {
    std::env::var_os("FAULTS_LONG").is_some()
}

/// The first, or the second in a long run.
fn scaled<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

#[derive(Default)]
struct Ordinary {
    /// Connections that broke with a request in flight, and answers 502: the same behind the front.
    lost: AtomicUsize,
    /// Of those that were answered.
    times: Mutex<Vec<Duration>>,
}

impl Ordinary {
    /// What became of ordinary requests while `fault` goes on.
    #[track_caller]
    fn beside(server: &Server, fault: impl FnOnce()) -> (usize, usize) {
        let seen = Ordinary::default();
        let answered = || !seen.times.lock().expect("no client panicked").is_empty();
        let fault = || {
            fault();
            eventually("an ordinary request is answered", answered);
        };
        meanwhile(CLIENTS, |_, done| seen.visit(server, done), fault);
        let mut times = seen.times.into_inner().expect("no client panicked");
        assert!(!times.is_empty());
        times.sort_unstable();
        let lost = seen.lost.into_inner();
        if is_long() {
            report(&times, lost);
        }
        (times.len(), lost)
    }

    fn visit(&self, server: &Server, done: &Done) {
        let mut client = server.connect();
        while !done.is_done() {
            let began = Instant::now();
            client.send_or_break("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            match client.try_response(false) {
                Ok(response) if response.status == 502 => self.lost(),
                Ok(response) => {
                    assert_eq!(ok(&response), "fine");
                    let time = began.elapsed();
                    assert!(time < NOTICED, "{time:?}");
                    self.times.lock().expect("no client panicked").push(time);
                    if response.header("connection") == Some("close") {
                        client = server.connect();
                    }
                }
                Err(_) => {
                    self.lost();
                    client = server.connect();
                }
            }
            std::thread::sleep(PACE.saturating_sub(began.elapsed()));
        }
    }

    fn lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a long run is made for, beside its assertions.
fn report(times: &[Duration], lost: usize) {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    eprintln!(
        "{test}: {} answered, {lost} lost, p50 {:?}, p99 {:?}, longest {:?}",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}

fn app(dispatch: &str) -> ServerBuilder {
    workers(dispatch, "4")
}

fn workers(dispatch: &str, count: &str) -> ServerBuilder {
    let concurrency = if dispatch == "direct" { "64" } else { "1" };
    Server::script(APP)
        .args(["--dispatch", dispatch, "--concurrency", concurrency])
        .args(["--workers", count, "--admin", "127.0.0.1:0"])
}

#[test]
fn kills_of_all_workers_in_turn_lose_what_was_in_flight_there() {
    for dispatch in ["direct", "balanced"] {
        let server = app(dispatch).start();
        let kills = scaled(8, 100);
        let (answered, lost) = Ordinary::beside(&server, || {
            for n in 0..kills {
                eventually("all are there", || metric(&server, "hearth_healthy") == 1);
                let workers = server.workers();
                kill(workers[n % workers.len()], Signal::KILL);
                std::thread::sleep(scaled(
                    Duration::from_millis(50),
                    Duration::from_millis(200),
                ));
            }
        });
        let most = kills * CLIENTS;
        assert!(
            lost <= most && lost < answered,
            "{dispatch}: {lost} of {answered}"
        );
        assert_eq!(metric(&server, "hearth_quarantined_total"), 0, "{dispatch}");
        eventually("all are back", || metric(&server, "hearth_healthy") == 1);
        server.stop();
    }
}

#[test]
fn a_page_that_runs_out_of_memory_fifty_times_a_second_costs_the_others_nothing() {
    for dispatch in ["direct", "balanced"] {
        let server = app(dispatch).args(["--ini", "memory_limit=64M"]).start();
        let times = scaled(50, 1000);
        let (_, lost) = Ordinary::beside(&server, || {
            for _ in 0..times {
                let began = Instant::now();
                assert_eq!(server.get("/memory").status, 500);
                std::thread::sleep(PACE.saturating_sub(began.elapsed()));
            }
        });
        assert_eq!(lost, 0, "{dispatch}");
        let fatal = metric(&server, "hearth_fatal_total");
        assert_eq!(fatal, times, "{dispatch}");
        server.stop();
    }
}

/// To the greatest that is allowed: this test has all the connections open, and the server's processes inherit the limit.
fn raise_descriptor_limit() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).expect("the limit can be raised");
}

fn slow(server: &Server, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("it accepts");
    stream.write_all(bytes.as_bytes()).expect("it can be sent");
    stream
}

#[test]
fn slow_readers_slow_bodies_and_idle_connections_cost_the_others_nothing() {
    raise_descriptor_limit();
    for dispatch in ["direct", "balanced"] {
        let server = app(dispatch).args(["--ini", "memory_limit=1G"]).start();
        let count = scaled(100, 1000);
        let (_, lost) = Ordinary::beside(&server, || {
            let mut bodies = Vec::new();
            let mut others = Vec::new();
            for _ in 0..count {
                others.push(slow(&server, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
                others.push(slow(&server, ""));
                let head =
                    "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n0123456789";
                bodies.push(slow(&server, head));
                // Their pages, half a megabyte each, are work like any other's: not all at once.
                std::thread::sleep(scaled(Duration::ZERO, Duration::from_millis(5)));
            }
            for _ in 0..scaled(2, 50) {
                for stream in &mut bodies {
                    stream.write_all(b"x").expect("it is still read");
                }
                std::thread::sleep(PACE);
            }
        });
        assert_eq!(lost, 0, "{dispatch}");
        server.stop();
    }
}

#[test]
fn a_zygote_that_is_killed_costs_nothing_and_a_front_what_was_in_flight() {
    let server = app("balanced").start();
    let (_, lost) = Ordinary::beside(&server, || {
        let zygote = server.zygotes()[0];
        kill(zygote, Signal::KILL);
        eventually("another serves", || {
            metric(&server, "hearth_generation") == 2
        });
        eventually("all are there", || metric(&server, "hearth_healthy") == 1);
    });
    assert_eq!(lost, 0);
    let (_, lost) = Ordinary::beside(&server, || {
        let front = server.fronts()[0];
        kill(front, Signal::KILL);
        eventually("another accepts", || {
            metric(&server, "hearth_healthy") == 1
                && metric(&server, "hearth_front_restarts_total") == 1
        });
    });
    assert!(lost <= CLIENTS, "{lost}");
    server.stop();
}

/// A disk of one megabyte, for temporary files only.
const SMALL_DISK: &str = r#"mkdir "$TMPDIR/disk" && mount -t tmpfs -o size=1m tmpfs "$TMPDIR/disk" &&
    export TMPDIR="$TMPDIR/disk" && exec "$@""#;

fn succeeds(program: &str, words: &[&str]) -> bool {
    let status = Command::new(program).args(words).output();
    status.is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_disk_is_told_to_those_who_need_it_and_to_no_others() {
    if !succeeds(
        "unshare",
        &["-r", "-m", "sh", "-c", "mount -t tmpfs tmpfs /mnt"],
    ) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let server = app("balanced")
        .inside(["unshare", "-r", "-m", "sh", "-c", SMALL_DISK, "sh"])
        .start();
    let (_, lost) = Ordinary::beside(&server, || {
        let body = "x".repeat(4 << 20);
        for _ in 0..scaled(3, 100) {
            let mut client = server.connect();
            client.send_or_break(format!(
                "POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ));
            let status = client.try_response(false).map(|response| response.status);
            assert!(matches!(status, Ok(507) | Err(_)), "{status:?}");
        }
        // What fits is still taken.
        let mut client = server.connect();
        let body = "x".repeat(200_000);
        assert_eq!(ok(&client.post("/form", "text/plain", &body)), "200000");
    });
    assert_eq!(lost, 0);
    server.expect_log("cannot keep a request's body in a temporary file");
    server.stop();
}

#[test]
fn connections_beyond_the_descriptors_wait_and_those_that_are_there_go_on() {
    for dispatch in ["direct", "balanced"] {
        let server = workers(dispatch, "1")
            .inside(["prlimit", "--nofile=80:80"])
            .start();
        let mut first = server.connect();
        assert_eq!(ok(&first.get("/")), "fine");
        let crowd: Vec<TcpStream> = (0..scaled(100, 1000)).map(|_| slow(&server, "")).collect();
        for _ in 0..10 {
            assert_eq!(ok(&first.get("/")), "fine", "{dispatch}");
        }
        drop(crowd);
        // Until it has noticed that they are gone, a further one is refused.
        eventually("there is room again", || server.get("/").status == 200);
        server.stop();
    }
}

#[test]
fn a_worker_that_cannot_be_forked_is_tried_again_and_the_others_serve() {
    let Some(start) = start_as_other_user() else {
        return;
    };
    for dispatch in ["direct", "balanced"] {
        let server = app(dispatch).inside(["sh", "-c", &start, "sh"]).start();
        let zygote = server.zygotes()[0].to_string();
        let processes = |most| {
            let limit = format!("--nproc={most}:");
            assert!(as_other_user(&["prlimit", "--pid", &zygote, &limit]));
        };
        let (_, lost) = Ordinary::beside(&server, || {
            processes(1);
            kill(server.workers()[0], Signal::KILL);
            server.expect_log("cannot fork a worker for slot ");
            assert_eq!(metric(&server, "hearth_healthy"), 0);
            processes(1000);
            eventually("it is there again", || {
                metric(&server, "hearth_healthy") == 1
            });
        });
        assert!(lost <= CLIENTS, "{dispatch}: {lost}");
        server.stop();
    }
}

/// A request that fails to be sent is one that is lost, as its response says.
trait SendOrBreak {
    fn send_or_break(&mut self, bytes: impl AsRef<[u8]>);
}

impl SendOrBreak for Client {
    fn send_or_break(&mut self, bytes: impl AsRef<[u8]>) {
        let mut stream = self.stream();
        let _ = stream.write_all(bytes.as_ref());
    }
}
