//! What an operator sees of a server: its access log, its warnings, its metrics and its status.

mod access_log;
mod access_log_targets;
mod histograms;
mod slow_log;
mod status;
mod warnings;

use std::path::PathBuf;
use std::time::Duration;

use testkit::http::Client;
use testkit::{Server, ServerBuilder};

use crate::support::{TIMEOUT, eventually, until_handled};

/// Each dispatch.
const BOTH: [&str; 2] = ["direct", "balanced"];

/// A file in the server's directory, once it has this number of lines.
fn lines(server: &Server, name: &str, count: usize) -> Vec<String> {
    let path: PathBuf = server.directory().join(name);
    let mut lines = Vec::new();
    eventually(&format!("{count} lines in {name}"), || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        lines = text.lines().map(str::to_owned).collect();
        lines.len() >= count && text.ends_with('\n')
    });
    assert_eq!(lines.len(), count, "{lines:#?}");
    lines
}

/// A client whose request for this target the only worker is busy with. Where nothing may wait, one that comes before the worker
/// has said that it is idle is refused.
fn occupied(server: &Server, target: &str) -> Client {
    loop {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        client.set_timeout(Duration::from_millis(300));
        if client.try_response(false).is_err() {
            client.set_timeout(TIMEOUT);
            until_handled(server, 1);
            return client;
        }
    }
}

/// One worker for one request at a time.
fn one_at_a_time(server: ServerBuilder, dispatch: &str) -> ServerBuilder {
    server
        .args(["--concurrency", "1", "--workers", "1"])
        .args(["--dispatch", dispatch])
}

/// The same, with this access log.
fn logged(server: ServerBuilder, dispatch: &str, target: &str, format: &str) -> ServerBuilder {
    one_at_a_time(server, dispatch).args(["--access-log", target, "--access-format", format])
}
