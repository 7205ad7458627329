//! The server that scripts are checked in: one worker, replaced by a fresh one after each script.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::{Finding, Moment, Script};
use crate::http::{Client, Response};
use crate::server::Server;

/// Requests after which the worker is replaced: more than a check needs, however often it asks whether the script waits.
const REQUESTS: usize = 100;
/// The time that a script has.
const TIMEOUT: Duration = Duration::from_secs(8);
/// The time in which the log names the signal that killed a worker.
const LOGGED: Duration = Duration::from_secs(1);
/// Signals of a worker that crashed.
const CRASHES: [&str; 5] = ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"];
/// How the reason begins when the connection ended instead of an answer.
const NO_ANSWER: &str = "the worker did not answer";
/// Attempts to connect until the next worker accepts the connection.
const TRIES: usize = 400;

/// The reason why a script could not be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchecked(pub String);

/// A checker that runs scripts in workers of its own: first while another request observes, then one at a time.
#[derive(Debug)]
pub struct Checker {
    together: Observer,
    alone: Observer,
}

/// A server that runs scripts, and the observing connections to it.
#[derive(Debug)]
struct Observer {
    arguments: Vec<String>,
    server: Option<Server>,
    /// The process id of the last script's worker.
    process: String,
}

impl Checker {
    /// Returns a checker; `arguments` are added to those of `hearth serve`.
    pub fn new(arguments: Vec<String>) -> Self {
        let mut one_at_a_time = arguments.clone();
        one_at_a_time.extend(["--concurrency", "1", "--dispatch", "direct"].map(str::to_owned));
        Self {
            together: Observer::new(arguments),
            alone: Observer::new(one_at_a_time),
        }
    }

    /// Runs a script in fresh workers; returns the differences that no row of the state table covers.
    ///
    /// # Errors
    /// If the script takes the worker with it or does not end.
    pub fn check(&mut self, script: &Script) -> Result<Vec<Finding>, Unchecked> {
        let mut findings = self.together.check(script, Observer::observe)?;
        findings.extend(self.alone.check(script, Observer::observe_alone)?);
        Ok(findings)
    }
}

impl Checker {
    /// Returns what a script's request leaves to other requests of its worker when a fatal error or its time limit ends
    /// it, and when its client leaves.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub fn check_endings(&mut self, script: &Script) -> Result<Vec<Finding>, Unchecked> {
        let mut findings = self.together.check(script, Observer::observe_fatal)?;
        findings.extend(self.together.check(script, Observer::observe_time_limit)?);
        findings.extend(self.together.check(script, Observer::observe_client_left)?);
        Ok(findings)
    }
}

type Findings = Result<Vec<Finding>, Unchecked>;

impl Observer {
    fn new(arguments: Vec<String>) -> Self {
        Self {
            arguments,
            server: None,
            process: String::new(),
        }
    }

    fn check(&mut self, script: &Script, observe: fn(&mut Self, &Script) -> Findings) -> Findings {
        let outcome = observe(self, script);
        let Err(why) = outcome else { return outcome };
        let crash = self.crash(&why);
        self.restart();
        crash.map(|crash| vec![crash]).ok_or(why)
    }

    /// Returns the signal that killed the script's worker, as a finding.
    fn crash(&self, why: &Unchecked) -> Option<Finding> {
        if !why.0.starts_with(NO_ANSWER) {
            return None;
        }
        let pid = format!(" pid={} ", self.process);
        let is_crash = |line: &String| {
            CRASHES.iter().any(|signal| {
                line.contains(&format!("worker was killed by {signal}")) && line.contains(&pid)
            })
        };
        let log = self.server.as_ref()?.log();
        let line = crate::server::until(LOGGED, || log.lines().into_iter().find(is_crash))?;
        Some(Finding::of_crash(&line))
    }

    /// Returns what differs after the script's end: nothing if its fatal error has ended the worker before this could answer.
    fn changes_at_end(&self, watch: &mut Client, report: &Value) -> Result<Value, Unchecked> {
        match changes(watch) {
            Err(why) if report["end"] == "fatal" && self.crash(&why).is_none() => Ok(Value::Null),
            outcome => outcome,
        }
    }

    /// Opens two connections to a fresh worker: one to observe, one for the script.
    fn connections(&mut self) -> Result<(Client, Client), Unchecked> {
        let arguments = &self.arguments;
        let server = self.server.get_or_insert_with(|| start(arguments));
        let (watch, process) = connection(server, |process| process != self.process)?;
        self.process = process;
        // While one worker replaces another, both accept connections.
        let (own, _) = connection(server, |process| process == self.process)?;
        Ok((watch, own))
    }

    /// Returns what the next request finds after the script's request has ended.
    fn observe_alone(&mut self, script: &Script) -> Findings {
        let (mut watch, mut own) = self.connections()?;
        get(&mut watch, "/take?name=before")?;
        own.send(request(script, "&alone=1"));
        let report = report(&mut own)?;
        let next = self.changes_at_end(&mut watch, &report)?;
        if !next.is_null() {
            use_up(&mut watch);
        }
        Ok(Finding::read_all(&next, end_of(&report, Moment::Next)))
    }

    fn observe(&mut self, script: &Script) -> Findings {
        let (mut watch, mut own) = self.connections()?;
        get(&mut watch, "/take?name=before")?;
        own.send(request(script, ""));
        let waiting = json(&until_settled(&mut watch, &own, "/observe?name=before")?)?;
        let report = report(&mut own)?;
        let ended = self.changes_at_end(&mut watch, &report)?;
        if !ended.is_null() {
            use_up(&mut watch);
        }
        let mut findings = Finding::read_all(&waiting, Moment::Waiting);
        findings.extend(Finding::read_all(&ended, end_of(&report, Moment::Ended)));
        findings.extend(Finding::read_all(&report["changes"], Moment::Resumed));
        Ok(findings)
    }

    fn observe_fatal(&mut self, script: &Script) -> Findings {
        self.observe_end(script, "fatal", Moment::Broken)
    }

    fn observe_time_limit(&mut self, script: &Script) -> Findings {
        self.observe_end(script, "time", Moment::TimedOut)
    }

    fn observe_client_left(&mut self, script: &Script) -> Findings {
        let (mut watch, mut own) = self.connections()?;
        get(&mut watch, "/take?name=before")?;
        own.send(request(script, ""));
        settle(&mut watch, &own)?;
        drop(own);
        get(&mut watch, "/left")?;
        let server = self.server.as_ref().expect("it was connected to");
        if crate::server::until(TIMEOUT, || (server.in_flight() == 0).then_some(())).is_none() {
            return Err(Unchecked("it goes on without its client".to_owned()));
        }
        let changes = changes(&mut watch)?;
        use_up(&mut watch);
        Ok(Finding::read_all(&changes, Moment::Left))
    }

    /// Sends the observing request before the script's end: after a fatal error the worker accepts no other.
    fn observe_end(&mut self, script: &Script, end: &str, moment: Moment) -> Findings {
        let (mut watch, mut own) = self.connections()?;
        let server = self.server.as_ref().expect("it was connected to");
        let ended = server.directory().join(format!("ended-{}", self.process));
        get(&mut watch, "/take?name=before")?;
        own.send(request(script, &format!("&end={end}")));
        settle(&mut watch, &own)?;
        let until = ended.display();
        watch.send(format!(
            "GET /finish?name=before&until={until} HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ));
        // The response shows the end, whichever it is.
        let _ = own.try_response(false);
        std::fs::write(&ended, "").expect("a file can be written");
        let changes = json(&self::answer(&mut watch)?)?;
        use_up(&mut watch);
        Ok(Finding::read_all(&changes, moment))
    }

    fn restart(&mut self) {
        self.process.clear();
        if let Some(server) = self.server.take() {
            for worker in server.workers() {
                crate::kill(worker, Signal::KILL);
            }
            server.signal(Signal::KILL);
            server.killed();
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.restart();
    }
}

fn start(arguments: &[String]) -> Server {
    let app = std::fs::read_to_string(crate::checkout().join("tests/state/app.php"))
        .expect("the app of the check can be read");
    // The app is in the server's own folder, in which scripts leave files.
    let mut builder = Server::app("app.php")
        .file("app.php", app)
        .args(["--workers", "1", "--max-requests"])
        .arg(REQUESTS.to_string())
        .args(["--ini", "hearth.state_check=1", "--ini", "log_errors=0"]);
    for argument in arguments {
        builder = builder.arg(argument);
    }
    builder.start()
}

fn request(script: &Script, more: &str) -> String {
    let target = script.target() + more;
    let cookie = script.cookie.as_ref().map_or(String::new(), |cookie| {
        format!("Cookie: {}\r\n", cookie.replace(['\r', '\n'], " "))
    });
    match &script.form {
        None => format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{cookie}\r\n"),
        Some(form) => format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\n{cookie}Content-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ),
    }
}

/// Returns a connection to a worker that `wanted` accepts, and the worker's process id.
fn connection(
    server: &Server,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Client, String), Unchecked> {
    for _ in 0..TRIES {
        let mut client = server.connect();
        client.set_timeout(TIMEOUT);
        match get(&mut client, "/process") {
            Ok(process) if wanted(&process) => return Ok((client, process)),
            // The previous worker, which is exiting, has accepted the connection.
            _ => std::thread::yield_now(),
        }
    }
    Err(Unchecked("no fresh worker came".to_owned()))
}

/// Sends requests until the worker is replaced by a fresh one.
fn use_up(client: &mut Client) {
    for _ in 0..REQUESTS {
        client.send("GET /process HTTP/1.1\r\nHost: localhost\r\n\r\n");
        match client.try_response(false) {
            Ok(response) if response.header("connection") != Some("close") => {}
            _ => break,
        }
    }
}

/// Waits until the script's request waits.
fn settle(watch: &mut Client, own: &Client) -> Result<(), Unchecked> {
    until_settled(watch, own, "/settled").map(|_| ())
}

/// Waits until the script's request waits; returns what the page then answers.
fn until_settled(watch: &mut Client, own: &Client, page: &str) -> Result<String, Unchecked> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let answer = get(watch, page)?;
        if answer != "runs" {
            return Ok(answer);
        }
        if has_answer(own) {
            return Err(Unchecked("a fatal error ended it".to_owned()));
        }
        if Instant::now() > deadline {
            return Err(Unchecked(format!("it took longer than {TIMEOUT:?}")));
        }
    }
}

/// Returns whether a response arrived before the script's request was released: then the request has ended.
fn has_answer(own: &Client) -> bool {
    own.set_timeout(Duration::from_millis(1));
    let came = own.stream().peek(&mut [0]).is_ok();
    own.set_timeout(TIMEOUT);
    came
}

/// What differs from the first look. Nothing for a worker that serves no other request.
fn changes(watch: &mut Client) -> Result<Value, Unchecked> {
    watch.send("GET /changes?name=before HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let response = watch.try_response(false).map_err(broken)?;
    match response.status {
        503 => Ok(Value::Null),
        _ => json(&text_of(&response)?),
    }
}

fn get(client: &mut Client, target: &str) -> Result<String, Unchecked> {
    client.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let response = client.try_response(false).map_err(broken)?;
    match response.status {
        503 => Err(Unchecked("the worker serves no other request".to_owned())),
        _ => text_of(&response),
    }
}

fn answer(client: &mut Client) -> Result<String, Unchecked> {
    text_of(&client.try_response(false).map_err(broken)?)
}

fn broken(why: impl std::fmt::Debug) -> Unchecked {
    Unchecked(format!("{NO_ANSWER}: {why:?}"))
}

fn text_of(response: &Response) -> Result<String, Unchecked> {
    // Scripts may set the status of their own response, but no script of ours sets this one.
    if response.status == 500 {
        return Err(Unchecked("the script ended in an error".to_owned()));
    }
    Ok(response.text())
}

/// Returns the report of the script's request: the last line of its response.
fn report(own: &mut Client) -> Result<Value, Unchecked> {
    let text = answer(own)?;
    json(text.rsplit('\n').next().unwrap_or_default())
}

/// A script may end in a fatal error by itself.
fn end_of(report: &Value, otherwise: Moment) -> Moment {
    match report["end"] == "fatal" {
        true => Moment::Broken,
        false => otherwise,
    }
}

fn json(text: &str) -> Result<Value, Unchecked> {
    serde_json::from_str(text)
        .map_err(|_| Unchecked("the script ended its request itself".to_owned()))
}
