//! The servers that a scenario runs on: how each is found, started privately, asked how it is, and ended.

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

use crate::counted::Counter;
use crate::place::Place;
use crate::probe;
use crate::problem::{Problem, Result};
use crate::process::Process;
use report::{Role, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a server may take to answer its first request.
const START: Duration = Duration::from_secs(20);

/// In which form an app is written for a runtime.
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
    /// No PHP: a program of its own.
    Native,
}

/// How many requests a runtime's process serves at a time, which decides how many processes are fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A process serves many at once: a request that waits for a database holds up no other.
    Concurrent,
    /// One request at a time in each process or thread.
    OneAtATime,
}

/// A program that was found, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Here { version: String, path: PathBuf },
    Missing { why: String, how: String },
}

/// The command lines' `--with NAME=PATH`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    pub(crate) given: BTreeMap<String, PathBuf>,
    /// This program.
    pub(crate) hearth: PathBuf,
    /// Whether scenarios with queries ask SQLite, if that was said.
    pub(crate) on_sqlite: Option<bool>,
    /// What was looked for already: to ask a program for its version takes a while.
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

    /// Whether that server is here.
    pub(crate) fn find(&self, runtime: &dyn Runtime) -> Found {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let look = || runtime.find(self);
        found.entry(runtime.id()).or_insert_with(look).clone()
    }

    /// The path given for `name`, else the first of `names` in the usual directories.
    pub(crate) fn program(&self, name: &str, names: &[&str]) -> Option<PathBuf> {
        self.given
            .get(name)
            .cloned()
            .or_else(|| names.iter().find_map(|n| in_path(n)))
    }
}

/// A program in the PATH, or where Debian keeps servers.
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
        .map(|place| place.join(name))
        .find(|program| program.is_file())
}

/// The first line that a program prints about itself.
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

/// As the write-up ran it, or as its maintainers advise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    Fair,
    AsSeed,
}

/// What a server is started for.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// The folder with the app, in the runtime's form; its script is `app.php`.
    pub(crate) app: PathBuf,
    /// The script of a resident app, if it is not `app.php` in there.
    pub(crate) script: Option<PathBuf>,
    /// Processes (or threads) for PHP.
    pub(crate) workers: u32,
    /// The most connections that will come at a time.
    pub(crate) connections: u32,
    pub(crate) tuning: Tuning,
    /// Everything that is no file goes to `app.php`.
    pub(crate) front_controller: bool,
    /// The server accepts TLS with this certificate and key, in one file.
    pub(crate) tls: Option<PathBuf>,
    /// Answers are compressed for clients that ask for it.
    pub(crate) compress: bool,
    /// Settings of PHP, in a file that every runtime reads.
    pub(crate) ini: Vec<(String, String)>,
    pub(crate) environment: Vec<(String, String)>,
    /// A name for its own files.
    pub(crate) name: String,
}

impl Launch {
    /// Writes the settings of PHP where `environment` makes every SAPI read them, after the machine's own.
    fn ini_directory(&self, place: &Place) -> Result<PathBuf> {
        let directory = place.fresh(&format!("{}-ini", self.name))?;
        let app = self.app.display().to_string();
        let line = |(name, value): &(String, String)| {
            format!("{name} = {}\n", value.replace("{app}", &app))
        };
        let text: String = self.ini.iter().map(line).collect();
        place.write(&directory.join("zz-bench.ini"), &text)?;
        Ok(directory)
    }

    /// The command that starts `program`, with the app's environment.
    fn command(&self, program: &Path, place: &Place) -> Result<std::process::Command> {
        self.configured(place.command(program), place)
    }

    /// As the user that this program runs as.
    fn own_command(&self, program: &Path, place: &Place) -> Result<std::process::Command> {
        self.configured(place.own_command(program), place)
    }

    fn configured(
        &self,
        mut command: std::process::Command,
        place: &Place,
    ) -> Result<std::process::Command> {
        let ini = self.ini_directory(place)?;
        command.env("PHP_INI_SCAN_DIR", format!(":{}", ini.display()));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    /// `http://127.0.0.1:PORT`.
    pub(crate) base: String,
    pub(crate) processes: Vec<(Role, Process)>,
    /// Its configuration, as given or as read back.
    pub(crate) settings: Vec<Setting>,
    /// What counts its requests, if anything does.
    pub(crate) counter: Option<Counter>,
}

impl Server {
    /// Waits until the app answers, whatever it answers.
    pub(crate) fn await_answer(&mut self, entry: &str) -> Result<()> {
        let url = format!("{}{entry}", self.base);
        let (_, last) = self
            .processes
            .last_mut()
            .ok_or_else(|| Problem::failed("no process was started"))?;
        last.until(START, |_| probe::answers(&url).then_some(()))
    }

    /// The first process that ended, in words.
    pub(crate) fn failure(&mut self) -> Option<String> {
        self.processes
            .iter_mut()
            .find_map(|(_, process)| process.failure())
    }
}

/// What is known of a kind of server before one is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    /// Its name on the command line and in results.
    pub(crate) id: &'static str,
    /// Its name in tables.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) manner: Manner,
}

/// One kind of server.
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
    /// Not meant for serving a site: left out of all scenarios but the first.
    fn is_for_development(&self) -> bool {
        false
    }
    /// True if it closes each connection after its answer.
    fn closes_connections(&self) -> bool {
        false
    }
    fn find(&self, tools: &Tools) -> Found;
    fn start(
        &self,
        program: &Path,
        tools: &Tools,
        launch: &Launch,
        place: &Place,
    ) -> Result<Server>;

    /// Where its app answers.
    fn entry(&self) -> &'static str {
        match self.form() {
            Form::Classic => "/app.php",
            _ => "/",
        }
    }
}

/// All kinds, in the order of the tables.
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

/// The kind of that name.
pub(crate) fn by_id(id: &str) -> Option<&'static dyn Runtime> {
    ALL.iter().copied().find(|runtime| runtime.id() == id)
}

pub(crate) fn setting(name: &str, value: impl std::fmt::Display) -> Setting {
    Setting {
        name: name.to_owned(),
        value: value.to_string(),
    }
}
