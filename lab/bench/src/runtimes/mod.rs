//! The servers that a scenario runs on: how each is found, started privately, configured, and ended.

mod apache;
mod epoll;
mod fpm;
mod frankenphp;
pub(crate) mod gin;
mod hearth;
mod php_server;
mod roadrunner;
mod swoole;
mod workerman;

use crate::probe;
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::request_count::Counter;
use crate::run_dir::RunDir;
use report::{Role, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time that a server has to answer its first request.
const START: Duration = Duration::from_secs(20);

/// The form in which an app is written for a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// A script that runs anew for each request.
    Classic,
    /// A script that returns a handler.
    Hearth,
    /// A script that starts Swoole's server.
    Swoole,
    /// A script that starts a Workerman worker.
    Workerman,
    /// A controller in a webman project.
    Webman,
    /// A RoadRunner worker.
    RoadRunner,
    /// A loop on `frankenphp_handle_request`.
    FrankenPhp,
    /// A program without PHP.
    Native,
}

/// How many requests a runtime's process serves at a time, which decides what number of processes is fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Many requests at once: a request that waits for a database delays no other.
    Concurrent,
    /// One request at a time in each process or thread.
    OneAtATime,
}

/// A program that was found, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Here { version: String, path: PathBuf },
    Missing { why: String, how: String },
}

impl Found {
    /// Returns why the program is missing, and how to get it.
    pub(crate) fn missing(why: impl Into<String>, how: impl Into<String>) -> Self {
        let (why, how) = (why.into(), how.into());
        Self::Missing { why, how }
    }
}

/// The programs of the command line's `--with NAME=PATH`, and those found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    pub(crate) given: BTreeMap<String, PathBuf>,
    /// The path of this program.
    pub(crate) hearth: PathBuf,
    /// Whether scenarios with queries use SQLite, if the user decided that.
    pub(crate) on_sqlite: Option<bool>,
    /// The programs found so far: asking a program for its version takes a while.
    found: Arc<Mutex<BTreeMap<&'static str, Found>>>,
}

impl Tools {
    pub(crate) fn new(given: BTreeMap<String, PathBuf>, hearth: PathBuf) -> Self {
        Self {
            given,
            hearth,
            on_sqlite: None,
            found: Arc::default(),
        }
    }

    /// Looks for that server.
    pub(crate) fn find(&self, runtime: &dyn Runtime) -> Found {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let search = || runtime.find(self);
        found.entry(runtime.id()).or_insert_with(search).clone()
    }

    /// Returns the path given for `name`, else the first of `names` in the usual directories.
    pub(crate) fn program(&self, name: &str, names: &[&str]) -> Option<PathBuf> {
        self.given
            .get(name)
            .cloned()
            .or_else(|| names.iter().find_map(|n| in_path(n)))
    }
}

/// Returns the path of a program in PATH, or in the directories where Debian keeps servers.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(
        [
            "/usr/sbin",
            "/usr/local/sbin",
            "/usr/local/bin",
            "/usr/local/go/bin",
        ]
        .map(PathBuf::from),
    );
    places
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

/// Returns the first line that a program prints about its version.
pub(crate) fn version_of(program: &Path, words: &[&str]) -> Option<String> {
    let output = std::process::Command::new(program)
        .args(words)
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

/// The origin of a server's settings: the write-up, or the advice of its maintainers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    Fair,
    AsSeed,
}

/// The settings with which a server is started.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The folder with the app, in the runtime's form; its script is `app.php`.
    pub(crate) app: PathBuf,
    /// The script of a resident app, if it is not `app.php` in that folder.
    pub(crate) script: Option<PathBuf>,
    /// Processes (or threads) for PHP.
    pub(crate) workers: u32,
    /// The most concurrent connections of the load.
    pub(crate) connections: u32,
    pub(crate) tuning: Tuning,
    /// Whether requests for paths without a file go to `app.php`.
    pub(crate) front_controller: bool,
    /// File with the certificate and the key for TLS, if the server uses TLS.
    pub(crate) tls: Option<PathBuf>,
    /// Whether responses are compressed for clients that accept it.
    pub(crate) compress: bool,
    /// Settings of PHP, in a file that every runtime reads.
    pub(crate) ini: Vec<(String, String)>,
    pub(crate) environment: Vec<(String, String)>,
    /// The name of the server's own folder.
    pub(crate) name: String,
}

impl Launch {
    /// Writes the settings of PHP into a folder that `environment` makes every SAPI read, after the machine's own.
    fn ini_directory(&self, dir: &RunDir) -> Result<PathBuf> {
        let directory = dir.fresh(&format!("{}-ini", self.name))?;
        let app = self.app.display().to_string();
        let line = |(name, value): &(String, String)| {
            format!("{name} = {}\n", value.replace("{app}", &app))
        };
        let text: String = self.ini.iter().map(line).collect();
        dir.write(&directory.join("zz-bench.ini"), &text)?;
        Ok(directory)
    }

    /// Returns the command that starts `program`, with the app's environment.
    fn command(&self, program: &Path, dir: &RunDir) -> Result<std::process::Command> {
        self.configured(dir.command(program), dir)
    }

    /// Returns the command that starts `program` as the user of this process.
    fn own_command(&self, program: &Path, dir: &RunDir) -> Result<std::process::Command> {
        self.configured(dir.own_command(program), dir)
    }

    fn configured(
        &self,
        mut command: std::process::Command,
        dir: &RunDir,
    ) -> Result<std::process::Command> {
        let ini = self.ini_directory(dir)?;
        command.env("PHP_INI_SCAN_DIR", format!(":{}", ini.display()));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    /// `http://127.0.0.1:PORT`.
    pub(crate) base: String,
    pub(crate) processes: Vec<(Role, Process)>,
    /// The server's configuration, as given or as read back.
    pub(crate) settings: Vec<Setting>,
    /// The source of the server's count of requests, if it has one.
    pub(crate) counter: Option<Counter>,
}

impl Server {
    /// Waits until the app sends any response.
    pub(crate) fn await_answer(&mut self, entry: &str) -> Result<()> {
        let url = format!("{}{entry}", self.base);
        let (_, last) = self
            .processes
            .last_mut()
            .ok_or_else(|| Problem::failed("no process was started"))?;
        last.until(START, |_| probe::answers(&url).then_some(()))
    }

    /// Returns the first process that ended, as text.
    pub(crate) fn failure(&mut self) -> Option<String> {
        self.processes
            .iter_mut()
            .find_map(|(_, process)| process.failure())
    }
}

/// The constant facts about a kind of server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// The server's name on the command line and in results.
    pub(crate) id: &'static str,
    /// The server's name in tables.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) manner: Manner,
}

/// A kind of server.
pub(crate) trait Runtime: Sync {
    fn about(&self) -> About;
    fn id(&self) -> &'static str {
        self.about().id
    }
    fn name(&self) -> &'static str {
        self.about().name
    }
    fn form(&self) -> Form {
        self.about().form
    }
    fn manner(&self) -> Manner {
        self.about().manner
    }
    /// Returns whether the server is not meant for production: it is left out of all scenarios but the first.
    fn is_for_development(&self) -> bool {
        false
    }
    /// Returns whether the server closes each connection after its response.
    fn closes_connections(&self) -> bool {
        false
    }
    fn find(&self, tools: &Tools) -> Found;
    fn start(&self, program: &Path, tools: &Tools, launch: &Launch, dir: &RunDir)
    -> Result<Server>;

    /// Returns the path of the app.
    fn entry(&self) -> &'static str {
        match self.form() {
            Form::Classic => "/app.php",
            _ => "/",
        }
    }
}

/// All kinds of servers, in the order of the tables.
pub(crate) const ALL: &[&dyn Runtime] = &[
    &hearth::RESIDENT,
    &hearth::ONE_AT_A_TIME,
    &hearth::CLASSIC,
    &apache::Apache,
    &fpm::Fpm,
    &php_server::PhpServer,
    &swoole::BASE,
    &swoole::PROCESS,
    &workerman::WORKERMAN,
    &workerman::WEBMAN,
    &roadrunner::RoadRunner,
    &frankenphp::WORKER,
    &frankenphp::CLASSIC,
    &gin::Gin,
    &epoll::Epoll,
];

/// Returns the kind of that name.
pub(crate) fn by_id(id: &str) -> Option<&'static dyn Runtime> {
    ALL.iter().copied().find(|runtime| runtime.id() == id)
}

pub(crate) fn setting(name: &str, value: impl std::fmt::Display) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_string(),
    }
}
