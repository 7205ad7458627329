//! A real `hearth serve`, started for one test.
//!
//! [`Server::stop`] (and `Drop`) sends SIGTERM and then asserts what must hold after every test: exit code 0, no process
//! left, no descriptor leaked in the supervisor, nothing left in shared memory, no alert in the log.

mod builder;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

pub use self::builder::ServerBuilder;
use crate::guard::Guard;
use crate::http::{Client, Response};
use crate::log::Log;
use crate::processes::{children, command_line, descriptors, in_session};

const START: Duration = Duration::from_secs(60);
/// The time after which an event that has not occurred counts as missing: more than a busy machine needs, and less than
/// the 20 s and more of the waits that tests expect to be cut short.
const TIMEOUT: Duration = Duration::from_secs(18);
/// The time for a stop, which is less than `stop.timeout` would take.
const STOP: Duration = Duration::from_secs(25);
const LISTENING: &str = "hearth: listening on ";

/// The end of a server.
#[derive(Debug)]
pub struct Stopped {
    /// The exit status.
    pub status: ExitStatus,
    /// All output on standard error.
    pub log: String,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: Log,
    guard: Option<Guard>,
    directory: PathBuf,
    descriptors: Vec<String>,
    shared_memory: Vec<String>,
}

impl Server {
    /// Returns a builder of a server for the app at `app`.
    pub fn app(app: impl Into<PathBuf>) -> ServerBuilder {
        ServerBuilder::new(app.into())
    }

    /// Returns a builder of a server for a script given as text, without its opening tag.
    pub fn script(code: &str) -> ServerBuilder {
        Self::app("app.php").file("app.php", format!("<?php {code}"))
    }

    /// Returns the first URL on which the server listens: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.urls().swap_remove(0)
    }

    /// Returns all URLs on which the server listens, from its log.
    pub fn urls(&self) -> Vec<String> {
        let lines = self.log.lines();
        lines
            .iter()
            .filter_map(|line| line.split_once(LISTENING))
            .map(|(_, url)| url.trim().to_owned())
            .collect()
    }

    /// Returns the first address: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.url().trim_start_matches("http://").to_owned()
    }

    /// Opens a new connection to the server.
    pub fn connect(&self) -> Client {
        Client::connect(&self.address())
    }

    /// Sends one GET on a connection of its own.
    pub fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    /// Returns the supervisor's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the processes that run PHP: children of the zygotes.
    pub fn workers(&self) -> Vec<u32> {
        self.zygotes().into_iter().flat_map(children).collect()
    }

    /// Returns the zygotes, one per generation.
    pub fn zygotes(&self) -> Vec<u32> {
        self.children_named(" zygote")
    }

    /// Returns the fronts, with balanced dispatch: one, or two while a new one replaces the old.
    pub fn fronts(&self) -> Vec<u32> {
        self.children_named(" front")
    }

    fn children_named(&self, part: &str) -> Vec<u32> {
        let mut found = children(self.pid());
        found.retain(|pid| command_line(*pid).contains(part));
        found
    }

    /// Returns the number of requests being handled, from `hearth status`.
    ///
    /// # Panics
    /// If `hearth status` fails.
    pub fn in_flight(&self) -> u64 {
        let status = Command::new(crate::hearth())
            .args(["status", "--json", "app.php"])
            .env("XDG_RUNTIME_DIR", self.directory())
            .current_dir(self.directory())
            .output()
            .expect("hearth starts");
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).expect("JSON");
        let workers = status["workers"].as_array().expect("a list").iter();
        workers
            .filter_map(|worker| worker["in_flight"].as_u64())
            .sum()
    }

    /// Returns the directory that contains the app.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the log: the output on standard error so far.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Waits for a log line that contains `part`.
    ///
    /// # Panics
    /// If no such line arrives in time.
    pub fn expect_log(&self, part: &str) -> String {
        self.log.wait(part, TIMEOUT).unwrap_or_else(|| {
            panic!(
                "no log line contains {part:?}; the log:\n{}",
                self.log.text()
            )
        })
    }

    /// Sends a signal to the supervisor.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Waits for the supervisor's end; returns `None` after `timeout`.
    pub fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        until(timeout, || {
            self.child
                .try_wait()
                .expect("the supervisor can be waited for")
        })
    }

    /// Stops the server and asserts that it left nothing behind.
    ///
    /// # Panics
    /// If the server left something behind or did not stop; with its log.
    pub fn stop(mut self) -> Stopped {
        self.stop_and_check()
    }

    /// Ends the guard of a server whose supervisor the test itself has killed.
    pub fn killed(mut self) {
        self.guard.take();
        let _ = self.child.wait();
    }

    /// Kills all processes of the server and asserts nothing, for a test that has already failed.
    pub fn abandon(mut self) {
        self.guard.take();
        let _ = self.child.wait();
    }

    fn stop_and_check(&mut self) -> Stopped {
        self.check_descriptors();
        if self
            .child
            .try_wait()
            .expect("the supervisor can be waited for")
            .is_none()
        {
            self.signal(Signal::TERM);
        }
        let Some(status) = self.wait_exit(STOP) else {
            self.fail(&format!(
                "the server did not stop within {STOP:?} of SIGTERM"
            ));
        };
        self.check_ended(status);
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        Stopped {
            status,
            log: self.log.text(),
        }
    }

    /// Asserts after the supervisor's end that no process runs, nothing is left, and the log contains no alert.
    fn check_ended(&mut self, status: ExitStatus) {
        let session = self.pid();
        if until(TIMEOUT, || in_session(session).is_empty().then_some(())).is_none() {
            let left: Vec<String> = in_session(session)
                .into_iter()
                .map(|pid| format!("{pid} {}", command_line(pid)))
                .collect();
            self.fail(&format!("processes left behind: {left:?}"));
        }
        if status.code() != Some(0) {
            self.fail(&format!(
                "the server ended with {status}, expected exit code 0"
            ));
        }
        if let Some(left) = until_gone(|| new_entries(&self.shared_memory)) {
            self.fail(&format!("left in /dev/shm: {left:?}"));
        }
        self.check_alerts();
    }

    fn check_alerts(&mut self) {
        self.log.wait_end(TIMEOUT);
        let alert = self
            .log
            .lines()
            .into_iter()
            .find(|line| line.contains(" ALERT "));
        if let Some(line) = alert {
            self.fail(&format!("an alert was logged: {line}"));
        }
    }

    /// Turns off the check of the supervisor's descriptors, for servers whose workers keep connections to the supervisor.
    pub fn takes_connections(mut self) -> Server {
        self.descriptors.clear();
        self
    }

    /// Asserts that the supervisor has no more descriptors than when it began to listen.
    fn check_descriptors(&mut self) {
        let (pid, most) = (self.pid(), self.descriptors.len());
        if most == 0 {
            return;
        }
        if until(TIMEOUT, || (descriptors(pid).len() <= most).then_some(())).is_none() {
            let now = descriptors(pid);
            let before = self.descriptors.clone();
            self.fail(&format!(
                "the supervisor leaks descriptors:\nat first: {before:#?}\nnow: {now:#?}"
            ));
        }
    }

    /// Waits until the numbers of workers and of the supervisor's descriptors no longer change: until then the supervisor
    /// is still opening channels to workers of the first generation, and on a busy machine it may pause in the middle of
    /// that.
    fn await_workers(&self) {
        const OFTEN: usize = 10;
        let (mut last, mut same) = (0, 0);
        until(Duration::from_secs(5), || {
            let now = self.workers().len() + descriptors(self.pid()).len();
            same = if now == last { same + 1 } else { 0 };
            last = now;
            (same >= OFTEN && !self.workers().is_empty()).then_some(())
        });
    }

    fn give_up(mut self) -> Stopped {
        let status = self
            .wait_exit(Duration::from_secs(5))
            .unwrap_or(ExitStatus::from_raw(9));
        // A process that has closed the log still exists for a moment.
        let session = self.pid();
        until(Duration::from_secs(5), || {
            in_session(session).is_empty().then_some(())
        });
        let left = in_session(session);
        self.log.wait_end(Duration::from_secs(2));
        self.guard.take();
        let _ = self.child.wait();
        assert!(
            left.is_empty(),
            "a server that did not start left processes: {left:?}\n{}",
            self.log.text()
        );
        Stopped {
            status,
            log: self.log.text(),
        }
    }

    fn fail(&mut self, what: &str) -> ! {
        self.guard.take();
        let _ = self.child.wait();
        panic!("{what}\n--- log of the server\n{}\n---", self.log.text());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.guard.is_none() {
            return;
        }
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}\n---", self.log.text());
            self.guard.take();
            let _ = self.child.wait();
        } else {
            self.stop_and_check();
        }
    }
}

/// Sends a signal to a process of the server.
pub fn kill(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process id");
    let _ = rustix::process::kill_process(pid, signal);
}

/// Polls until `poll` returns a value; for events that the kernel does not signal, such as changes of other processes in
/// `/proc`.
pub(crate) fn until<T>(timeout: Duration, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + timeout;
    loop {
        if let Some(answer) = poll() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn until_gone(mut list: impl FnMut() -> Vec<String>) -> Option<Vec<String>> {
    until(TIMEOUT, || list().is_empty().then_some(()))
        .is_none()
        .then(list)
}

/// Returns the names in `/dev/shm` that contain `hearth`.
fn shared_memory() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.to_ascii_lowercase().contains("hearth"))
        .collect()
}

fn new_entries(before: &[String]) -> Vec<String> {
    shared_memory()
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect()
}
