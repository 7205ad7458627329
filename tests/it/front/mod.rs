//! Balanced dispatch: what waits, what is lost when a process dies, and what a slow client occupies.

mod clients;
mod concurrent;
mod deaths;
mod elastic;
mod endings;
mod hangups;
mod queue;
mod refusals;
mod replacement;
mod request_bodies;
mod response_bodies;
mod threads;

use std::time::Duration;

use rustix::process::Signal;
use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder, kill};

use crate::support::traffic::under_load;
use crate::support::{admin, eventually, hearth, let_go, ok};

const APP: &str = r#"return function (Hearth\Request $request) {
    switch ($request->path) {
        case '/nap': usleep(300000); break;
        case '/until': while (!file_exists('go')) { usleep(5000); clearstatcache(); } break;
        case '/sleep':
            touch('begun');
            try { sleep(20); } finally { touch('ended'); }
            break;
        case '/big': return (function () { for ($n = 0; $n < 320; $n++) { yield str_repeat(chr(65 + $n % 26), 65536); } })();
        case '/leak': $GLOBALS['leak'][] = str_repeat('x', 1 << 20); break;
        case '/count': case '/count/kept': file_put_contents('count', 'x', FILE_APPEND); break;
        case '/later': Hearth\defer(function () { while (!file_exists('go')) { usleep(5000); clearstatcache(); } touch('deferred'); }); break;
        case '/broken': return (function () { yield str_repeat('x', 100000); usleep(100000); posix_kill(getmypid(), SIGKILL); yield 'never'; })();
        case '/close': return new Hearth\Response('bye', 200, ['Connection' => 'close']);
        case '/upload':
            for ($size = 0, $stream = $request->stream(); !feof($stream);) { $size += strlen(fread($stream, 65536)); }
            return (string) $size;
    }
    return (string) getmypid();
};"#;

/// Workers that serve one request at a time, behind the front.
fn balanced(workers: u32) -> ServerBuilder {
    Server::script(APP)
        .args(["--concurrency", "1", "--workers"])
        .arg(workers.to_string())
        .args(["--ini", "post_max_size=0", "--admin", "127.0.0.1:0"])
}

/// The same app under both dispatches at once, with these words to `hearth serve`: most of what is tested so takes its time.
fn under_both<const N: usize>(code: &str, words: [&str; N], test: impl Fn(Server, &str) + Sync) {
    let run = &|dispatch| {
        let server = Server::script(code)
            .args(["--concurrency", "1", "--workers", "1"])
            .args(["--dispatch", dispatch])
            .args(words)
            .start();
        test(server, dispatch);
    };
    std::thread::scope(|scope| {
        for dispatch in ["direct", "balanced"] {
            scope.spawn(move || run(dispatch));
        }
    });
}

/// A number from the admin server's metrics.
pub(crate) fn metric(server: &Server, name: &str) -> u64 {
    let page = ok(&admin(server, "/metrics"));
    let prefix = format!("{name} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&prefix));
    let value = value.unwrap_or_else(|| panic!("no {name} in {page}"));
    value.parse().expect("a number")
}

/// Until the handler has made this file.
fn until_made(server: &Server, name: &str) {
    let path = server.directory().join(name);
    eventually(name, || path.exists());
}

/// The one that answers something.
fn busy_worker(server: &Server) -> u32 {
    busy_worker_of(server, "app.php")
}

fn busy_worker_of(server: &Server, app: &str) -> u32 {
    let mut busy = None;
    eventually("a worker is busy", || {
        let status = status_of(server, app);
        let rows = status
            .split("{\"pid\":")
            .skip(1)
            .filter(|row| row.contains("\"in_flight\":1"));
        busy = rows
            .filter_map(|row| row.split(',').next()?.parse().ok())
            .next();
        busy.is_some()
    });
    busy.expect("found")
}

fn status(server: &Server) -> String {
    status_of(server, "app.php")
}

fn status_of(server: &Server, app: &str) -> String {
    let output = hearth(server, &["status", "--json", app]);
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().collect()
}

/// Requests of `clients` clients while workers in turn are killed `kills` times; how many were answered, and how many of them
/// with 502.
fn killed_under_load(server: &Server, clients: usize, kills: usize) -> (usize, usize) {
    let lost = |response: &Response| response.status == 502;
    under_load(server, clients, "/", lost, || {
        for n in 0..kills {
            eventually("there are workers", || server.workers().len() > 1);
            let workers = server.workers();
            kill(workers[n % workers.len()], Signal::KILL);
            std::thread::sleep(Duration::from_millis(20));
        }
    })
}

/// Lets the requests go, which succeed; then all workers but one leave.
fn all_finish(server: Server, mut clients: Vec<Client>) {
    let_go(&server);
    for client in &mut clients {
        ok(&client.response());
    }
    eventually("one is left", || server.workers().len() == 1);
    server.stop();
}
