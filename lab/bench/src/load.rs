//! One load: `hearth load` as a process of its own, so that this process is not in its figures, and so that the same
//! command takes the same figure again.

use crate::problem::{Problem, Result};
use crate::run_dir::Processors;
use crate::scenarios::Requests;
use rustix::process::Signal;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The requests to send, how, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Load {
    /// The URL of the requests.
    pub(crate) url: String,
    /// Requests from a file, whose paths are relative to the URL.
    pub(crate) requests: Option<Requests>,
    pub(crate) connections: u32,
    pub(crate) keep_alive: bool,
    /// The number of requests after which a connection is closed.
    pub(crate) per_connection: Option<u32>,
    /// The number of requests that are sent at once on each connection.
    pub(crate) pipeline: Option<u32>,
    pub(crate) amount: Amount,
    /// Whether the load warms up until its rate is steady, before the amount is counted.
    pub(crate) until_steady: bool,
    /// Requests per second in an open loop, whatever the server does.
    pub(crate) rate: Option<f64>,
    /// Length of a good body.
    pub(crate) length: Option<u64>,
    /// SHA-256 of a good body: too expensive to check while measuring.
    pub(crate) sha256: Option<String>,
    pub(crate) timeout: Duration,
    /// Whether the load uses HTTP/1.0, as ab does.
    pub(crate) http_1_0: bool,
    pub(crate) headers: Vec<String>,
    pub(crate) seed: u64,
}

/// A request without a response after this time has failed. It is longer than the loads that starve, which end after 8
/// seconds: a request that still waits then has no response yet, and has not failed.
const TIMEOUT: Duration = Duration::from_secs(20);

/// When a load ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Seconds(f64),
    /// This number of requests, or the seconds if they are over first.
    Requests(u64, f64),
}

impl Amount {
    /// Returns the amount limited to `longest` seconds.
    pub(crate) fn within(self, longest: f64) -> Self {
        match self {
            Self::Seconds(seconds) => Self::Seconds(seconds.min(longest)),
            Self::Requests(requests, seconds) => Self::Requests(requests, seconds.min(longest)),
        }
    }
}

impl Load {
    /// Returns a closed loop over kept connections.
    pub(crate) fn closed(url: impl Into<String>, connections: u32, seconds: f64) -> Self {
        Self {
            url: url.into(),
            requests: None,
            connections,
            keep_alive: true,
            per_connection: None,
            pipeline: None,
            amount: Amount::Seconds(seconds),
            until_steady: false,
            rate: None,
            length: None,
            sha256: None,
            timeout: TIMEOUT,
            http_1_0: false,
            headers: Vec::new(),
            seed: 1,
        }
    }

    /// Returns the arguments of `hearth load`.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec!["-c".to_owned(), self.connections.to_string()];
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        match self.amount {
            Amount::Seconds(seconds) => add("-d", format!("{}ms", (seconds * 1e3).round())),
            Amount::Requests(requests, seconds) => {
                add("-n", requests.to_string());
                add("-d", format!("{}ms", (seconds * 1e3).round()));
            }
        }
        if self.until_steady {
            add("--warmup", "auto".to_owned());
        }
        if let Some(rate) = self.rate {
            add("--rate", format!("{rate:.0}"));
        }
        match &self.requests {
            Some(Requests::Mix(file)) => add("--mix", file.display().to_string()),
            Some(Requests::AccessLog(file)) => add("--access-log", file.display().to_string()),
            // `Trials` has written the lines to a file.
            Some(Requests::Lines(_)) | None => {}
        }
        if let Some(requests) = self.per_connection {
            add("--requests-per-connection", requests.to_string());
        }
        if let Some(requests) = self.pipeline {
            add("--pipeline", requests.to_string());
        }
        if self.http_1_0 {
            add("--http", "1.0".to_owned());
        }
        if let Some(length) = self.length {
            add("--expect", format!("length={length}"));
        }
        if let Some(sha256) = &self.sha256 {
            add("--expect", format!("sha256={sha256}"));
        }
        for header in &self.headers {
            add("--header", header.clone());
        }
        add("--timeout", format!("{}ms", self.timeout.as_millis()));
        add("--seed", self.seed.to_string());
        if !self.keep_alive {
            words.push("--no-keepalive".to_owned());
        }
        words.push(self.url.clone());
        words
    }
}

/// The program that generates load, and its processors.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    pub(crate) program: PathBuf,
    pub(crate) processors: Processors,
}

impl Generator {
    /// Runs the load to its end; an interrupt ends it early. `sessions` are those whose CPU time counts as the servers'.
    pub(crate) fn run(
        &self,
        load: &Load,
        sessions: &[u32],
        result: &Path,
        stop: &AtomicBool,
    ) -> Result<measure::Run> {
        let _ = std::fs::remove_file(result);
        let mut command = Command::new("taskset");
        command.args(["-c", &Processors::list(&self.processors.load)]);
        command
            .arg(&self.program)
            .args(["load", "--quiet", "--brief", "--json"])
            .arg(result);
        command.args(["-t", &self.processors.load.len().to_string()]);
        for session in sessions {
            command.args(["--server-pid", &session.to_string()]);
        }
        command
            .args(load.words())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Ctrl-C reaches this process only, which ends the load in order.
        let mut child = command
            .process_group(0)
            .spawn()
            .map_err(|e| Problem::failed(format!("cannot start hearth load: {e}")))?;
        wait(&mut child, stop)?;
        let output = child.wait_with_output().map_err(Problem::failed)?;
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        read(result).map_err(|e| {
            if words.is_empty() {
                e
            } else {
                Problem::Failed(words)
            }
        })
    }
}

fn wait(child: &mut Child, stop: &AtomicBool) -> Result<()> {
    let mut stopped: Option<Instant> = None;
    while child.try_wait().map_err(Problem::failed)?.is_none() {
        match stopped {
            None if stop.load(Ordering::Relaxed) => {
                crate::procfs::signal(child.id(), Signal::INT);
                stopped = Some(Instant::now());
            }
            Some(then) if then.elapsed() > Duration::from_secs(5) => {
                let _ = child.kill();
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(Problem::Interrupted);
    }
    Ok(())
}

fn read(path: &Path) -> Result<measure::Run> {
    let text = std::fs::read(path).map_err(|_| Problem::failed("hearth load wrote no result"))?;
    let file: measure::ResultFile = serde_json::from_slice(&text)
        .map_err(|e| Problem::failed(format!("the result of hearth load cannot be read: {e}")))?;
    file.runs
        .into_iter()
        .next()
        .ok_or_else(|| Problem::failed("hearth load measured nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_say_all_that_differs() {
        let mut load = Load::closed("http://127.0.0.1:1/", 100, 1.5);
        assert_eq!(
            load.words().join(" "),
            "-c 100 -d 1500ms --timeout 20000ms --seed 1 http://127.0.0.1:1/"
        );
        load.keep_alive = false;
        load.length = Some(2);
        load.amount = Amount::Requests(10_000, 30.0);
        let words = load.words().join(" ");
        assert!(
            words.contains("-n 10000 -d 30000ms")
                && words.contains("--expect length=2")
                && words.contains("--no-keepalive"),
            "{words}"
        );
    }
}
