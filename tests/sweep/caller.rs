//! The server that makes the calls of one part, and the requests for them.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use testkit::Server;
use testkit::http::Client;

use crate::setting;

const APP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/sweep/app.php");
/// A worker that has not answered by then hangs: `request.timeout` ends what computes or waits.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The time in which the log names the signal that killed a worker.
const LOGGED: Duration = Duration::from_secs(2);
/// Signs in the log.
const ALERTS: [&str; 5] = [
    "was killed by",
    " ALERT ",
    "panicked",
    "still computes",
    "died",
];

/// A request for one call: without an action, all its waits are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) case: String,
    pub(crate) action: Option<(String, u64)>,
}

impl Call {
    pub(crate) fn probe(case: &str) -> Self {
        Self {
            case: case.to_owned(),
            action: None,
        }
    }

    fn target(&self) -> String {
        let case: String = self
            .case
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        match &self.action {
            None => format!("/probe?case={case}"),
            Some((action, at)) => format!("/act?case={case}&action={action}&at={at}"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.action {
            None => write!(f, "{} probe", self.case),
            Some((action, at)) => write!(f, "{} {action} {at}", self.case),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The call has ended the request: the fatal error, if the log has one, and the calls that the server has made before. Without one it
    /// may have been the time limit, on a busy machine.
    Ended(Option<String>, Vec<Call>),
    /// What the log says, or that the worker did not answer; and the calls that the server has made before.
    Broken(String, Vec<Call>),
}

/// A caller; it starts a server when there is none.
#[derive(Debug)]
pub(crate) struct Caller {
    server: Option<Server>,
    /// Where it listens: the log, which says so, grows with each call.
    address: String,
    /// The program that the server is started under; empty: none.
    tool: String,
    /// The calls that the server has made.
    made: Vec<Call>,
}

impl Caller {
    pub(crate) fn new(tool: Option<String>) -> Self {
        Self {
            server: None,
            address: String::new(),
            tool: tool.unwrap_or_default(),
            made: Vec::new(),
        }
    }

    fn server(&mut self) -> &Server {
        let (tool, address) = (&self.tool, &mut self.address);
        self.server.get_or_insert_with(|| {
            let server = start(tool);
            *address = server.address();
            server
        })
    }

    pub(crate) fn cases(&mut self) -> Vec<String> {
        let cases = self.server().get("/cases").text();
        self.stop();
        cases.lines().map(str::to_owned).collect()
    }

    /// Makes a call. If it fails, the server is gone.
    pub(crate) fn ask(&mut self, call: &Call) -> Result<Value, Failed> {
        let target = call.target();
        self.server();
        let before = reports();
        let mut client = Client::connect(&self.address);
        client.set_timeout(TIMEOUT);
        client.send(format!(
            "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ));
        self.made.push(call.clone());
        match client.try_response(false) {
            Ok(response) if response.status == 200 => {
                let mut answer: Value = serde_json::from_str(&response.text()).expect("JSON");
                answer["reported"] = (reports() != before).into();
                Ok(answer)
            }
            Ok(_) => {
                let why = self.fatal_error();
                Err(Failed::Ended(why, self.abandon()))
            }
            Err(_) => {
                let why = self.last_words();
                Err(Failed::Broken(why, self.abandon()))
            }
        }
    }

    /// Returns the calls that the server has made before the last one.
    fn abandon(&mut self) -> Vec<Call> {
        self.server.take().expect("a server").abandon();
        self.made.pop();
        std::mem::take(&mut self.made)
    }

    fn fatal_error(&mut self) -> Option<String> {
        let line = self.server().log().wait("Fatal error", LOGGED);
        line.map(|line| line.chars().take(300).collect())
    }

    fn last_words(&mut self) -> String {
        let log = self.server().log();
        log.wait(" died", Duration::from_millis(1));
        log.wait("was killed by", LOGGED).map_or_else(
            || "no answer".to_owned(),
            |line| line.chars().take(200).collect(),
        )
    }

    /// Stops the server; returns the alerts in its log.
    pub(crate) fn stop(&mut self) -> Vec<String> {
        self.made.clear();
        let Some(server) = self.server.take() else {
            return Vec::new();
        };
        let lines = server.log().lines();
        server.abandon();
        lines
            .into_iter()
            .filter(|line| ALERTS.iter().any(|part| line.contains(part)))
            .collect()
    }
}

/// Memory of libc instead of the engine's, filled when it is freed, so that a use of freed memory shows.
fn start(tool: &str) -> Server {
    // The app's own folder is the server's.
    let server =
        Server::script(&format!("return require '{APP}';")).inside(tool.split_whitespace());
    // Code that PCRE compiles reads behind the end of a text.
    let (timeout, jit) = if tool.is_empty() {
        ("6", "1")
    } else {
        ("60", "0")
    };
    server
        .args([
            "--workers",
            "1",
            "--concurrency",
            "16",
            "--dispatch",
            "direct",
        ])
        .args(["--request-timeout", timeout, "--log-level", "info"])
        .args(["--ini", "display_errors=0", "--ini", "phar.readonly=0"])
        .args(["--ini", &format!("pcre.jit={jit}")])
        .env("USE_ZEND_ALLOC", "0")
        .env(
            "GLIBC_TUNABLES",
            "glibc.malloc.tcache_count=0:glibc.malloc.perturb=85",
        )
        .start()
}

/// Returns the size of the reports of the program that the server runs under.
fn reports() -> u64 {
    let Some(directory) = setting("SWEEP_REPORTS") else {
        return 0;
    };
    let files = std::fs::read_dir(directory)
        .expect("SWEEP_REPORTS is a directory")
        .flatten();
    files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum()
}
