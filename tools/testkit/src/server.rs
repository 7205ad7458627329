//! A real `hearth serve`, started for one test.
//!
//! [`Server::stop`] (and `Drop`) sends SIGTERM and then asserts what must hold after every test: exit code 0, no
//! process left, no descriptor leaked in the supervisor, nothing left in shared memory, no alert in the log.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::guard::Guard;
use crate::http::{Client, Response};
use crate::log::Log;
use crate::processes::{children, command_line, descriptors, in_session};

const START: Duration = Duration::from_secs(20);
const STOP: Duration = Duration::from_secs(15);
const LISTENING: &str = "hearth: listening on ";

/// What to start, and how.
#[derive(Debug)]
pub struct ServerBuilder {
    app: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    files: Vec<(String, String)>,
    links: Vec<(String, PathBuf)>,
    wrapper: Vec<String>,
}

impl ServerBuilder {
    /// One more word on the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More words on the command line.
    #[must_use]
    pub fn args<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    /// An environment variable for server and app.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// A further file beside the app; its directories are made.
    #[must_use]
    pub fn file(mut self, name: &str, content: impl Into<String>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// A symbolic link beside the app.
    #[must_use]
    pub fn link(mut self, name: &str, target: impl Into<PathBuf>) -> Self {
        self.links.push((name.to_owned(), target.into()));
        self
    }

    /// Starts it through another program, which must replace itself by it.
    #[must_use]
    pub fn inside<const N: usize>(mut self, wrapper: [&str; N]) -> Self {
        self.wrapper = wrapper.map(str::to_owned).to_vec();
        self
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Panics
    /// With the log, when it does not.
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(stopped) => panic!(
                "the server did not start ({})\n{}",
                stopped.status, stopped.log
            ),
        }
    }

    /// Starts a server that may well refuse to: its end, if it ended before it listened.
    ///
    /// # Errors
    /// How it ended and what it said.
    pub fn try_start(self) -> Result<Server, Stopped> {
        let mut server = self.spawn();
        match server.log.wait(LISTENING, START) {
            Some(_) => {
                server.await_workers();
                server.descriptors = descriptors(server.pid());
                Ok(server)
            }
            None => Err(server.give_up()),
        }
    }

    fn spawn(self) -> Server {
        let directory = tempfile::Builder::new()
            .prefix("hearth-it-")
            .tempdir()
            .expect("a temporary directory")
            .keep();
        for (name, content) in &self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().expect("a file has a directory"))
                .expect("directories beside the app can be made");
            fs::write(path, content).expect("files beside the app can be written");
        }
        for (name, target) in &self.links {
            std::os::unix::fs::symlink(target, directory.join(name))
                .expect("links beside the app can be made");
        }
        let shared_memory = shared_memory();
        let mut child = self
            .command(&directory)
            .spawn()
            .expect("setsid (util-linux) starts");
        let log = Log::collect(child.stderr.take().expect("stderr is piped"));
        let guard = Guard::new(child.id(), &directory);
        Server {
            child,
            log,
            guard: Some(guard),
            directory,
            descriptors: Vec::new(),
            shared_memory,
        }
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("setsid");
        command.args(&self.wrapper);
        command
            .arg(crate::hearth())
            .arg("serve")
            .arg(directory.join(&self.app));
        if !self
            .arguments
            .iter()
            .any(|word| word == "--listen" || word == "--config")
        {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
            .env("XDG_RUNTIME_DIR", directory)
            .env("TMPDIR", directory)
            .current_dir(directory);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// How a server ended.
#[derive(Debug)]
pub struct Stopped {
    /// Its exit status.
    pub status: ExitStatus,
    /// Everything it wrote to standard error.
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
    /// A server for the app at `app`.
    pub fn app(app: impl Into<PathBuf>) -> ServerBuilder {
        ServerBuilder {
            app: app.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            files: Vec::new(),
            links: Vec::new(),
            wrapper: Vec::new(),
        }
    }

    /// A server for a script given as text, without its opening tag.
    pub fn script(code: &str) -> ServerBuilder {
        Self::app("app.php").file("app.php", format!("<?php {code}"))
    }

    /// Where it listens: `http://127.0.0.1:PORT`, the first of them.
    pub fn url(&self) -> String {
        self.urls().swap_remove(0)
    }

    /// Every address it said it listens on.
    pub fn urls(&self) -> Vec<String> {
        let lines = self.log.lines();
        lines
            .iter()
            .filter_map(|line| line.split_once(LISTENING))
            .map(|(_, url)| url.trim().to_owned())
            .collect()
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.url().trim_start_matches("http://").to_owned()
    }

    /// A new connection to it.
    pub fn connect(&self) -> Client {
        Client::connect(&self.address())
    }

    /// One GET on a connection of its own.
    pub fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    /// The supervisor's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The processes that run PHP: children of the zygotes.
    pub fn workers(&self) -> Vec<u32> {
        self.zygotes().into_iter().flat_map(children).collect()
    }

    /// One per generation.
    pub fn zygotes(&self) -> Vec<u32> {
        self.children_named(" zygote")
    }

    /// The process before the workers, with balanced dispatch: one, or two while one takes the other's place.
    pub fn fronts(&self) -> Vec<u32> {
        self.children_named(" front")
    }

    fn children_named(&self, part: &str) -> Vec<u32> {
        let mut found = children(self.pid());
        found.retain(|pid| command_line(*pid).contains(part));
        found
    }

    /// The directory that holds the app.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it has said so far on standard error.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Waits for a log line that contains `part`.
    ///
    /// # Panics
    /// When none comes within ten seconds.
    pub fn expect_log(&self, part: &str) -> String {
        self.log
            .wait(part, Duration::from_secs(10))
            .unwrap_or_else(|| {
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

    /// Waits for the supervisor's end; `None` when it has not come within `patience`.
    pub fn wait_exit(&mut self, patience: Duration) -> Option<ExitStatus> {
        until(patience, || {
            self.child
                .try_wait()
                .expect("the supervisor can be waited for")
        })
    }

    /// Stops the server and asserts that it left nothing behind.
    ///
    /// # Panics
    /// When it did, or did not stop, with its log.
    pub fn stop(mut self) -> Stopped {
        self.stop_and_check()
    }

    /// After the test killed the supervisor itself: there is nothing to stop any more.
    pub fn killed(mut self) {
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

    /// After the supervisor's end: nothing runs, nothing is left, nobody was alarmed.
    fn check_ended(&mut self, status: ExitStatus) {
        let session = self.pid();
        if until(Duration::from_secs(5), || {
            in_session(session).is_empty().then_some(())
        })
        .is_none()
        {
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
        self.log.wait_end(Duration::from_secs(5));
        let alert = self
            .log
            .lines()
            .into_iter()
            .find(|line| line.contains(" ALERT "));
        if let Some(line) = alert {
            self.fail(&format!("an alert was logged: {line}"));
        }
    }

    /// The supervisor holds what it held when it began to listen: no more.
    fn check_descriptors(&mut self) {
        let (pid, most) = (self.pid(), self.descriptors.len());
        if most == 0 {
            return;
        }
        if until(Duration::from_secs(5), || {
            (descriptors(pid).len() <= most).then_some(())
        })
        .is_none()
        {
            let now = descriptors(pid);
            let before = self.descriptors.clone();
            self.fail(&format!(
                "the supervisor leaks descriptors:\nat first: {before:#?}\nnow: {now:#?}"
            ));
        }
    }

    /// Until every worker of the first generation was seen, the supervisor is still opening channels to them.
    fn await_workers(&self) {
        let mut last = 0;
        until(Duration::from_secs(5), || {
            let now = self.workers().len() + descriptors(self.pid()).len();
            let settled = now == last && !self.workers().is_empty();
            last = now;
            settled.then_some(())
        });
    }

    fn give_up(mut self) -> Stopped {
        let status = self
            .wait_exit(Duration::from_secs(1))
            .unwrap_or(ExitStatus::from_raw(9));
        self.log.wait_end(Duration::from_secs(2));
        let left = in_session(self.pid());
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

/// Asks until there is an answer. For what the kernel offers no event for: other processes' tables in `/proc`.
pub(crate) fn until<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn until_gone(mut list: impl FnMut() -> Vec<String>) -> Option<Vec<String>> {
    until(Duration::from_secs(2), || list().is_empty().then_some(()))
        .is_none()
        .then(list)
}

/// Names in `/dev/shm` that are ours by their name.
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
