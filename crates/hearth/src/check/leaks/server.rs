//! The private server that answers the requests: this program again, with the same options.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use build_id::BUILD_ID;
use config::{Dispatch, Level, Listen, Settings, SocketAccess, Workers};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::RequestArgument;
use crate::fail;
use crate::failed::Failed;
use crate::http_client::{self, Response};

/// The argument by which the started program finds its directory.
pub(super) const ARGUMENT: &str = "leaks-server";

const SOCKET: &str = "http.sock";
const LOG: &str = "log";

/// The pause between two attempts to connect to a socket that does not exist yet.
const AGAIN: Duration = Duration::from_millis(5);

/// A private server, which ends when it is dropped.
pub(super) struct Server {
    child: Child,
    directory: TempDir,
}

impl Server {
    /// Starts the server and waits until it listens; its worker may be ready later.
    pub(super) fn start() -> Result<Server, Failed> {
        let cannot = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| Failed::from(format!("cannot {what}: {error}"))
        };
        let directory = tempfile::tempdir().map_err(cannot("make a folder for temporary files"))?;
        let log = File::create(directory.path().join(LOG)).map_err(cannot("write a log"))?;
        let own = std::env::current_exe().map_err(cannot("find this program"))?;
        let child = Command::new(own)
            .args(std::env::args_os().skip(1))
            .arg(format!("--{ARGUMENT}"))
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(cannot("start this program"))?;
        let mut server = Server { child, directory };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<(), Failed> {
        while UnixStream::connect(self.socket()).is_err() {
            self.still_runs()?;
            std::thread::sleep(AGAIN);
        }
        Ok(())
    }

    fn still_runs(&mut self) -> Result<(), Failed> {
        let ended = self.child.try_wait().ok().flatten();
        match ended {
            None => Ok(()),
            Some(status) => {
                let text = std::fs::read_to_string(self.log()).unwrap_or_default();
                let text = text.trim().trim_start_matches("hearth: ").to_owned();
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                Err(Failed {
                    code: code.unwrap_or(1),
                    why: text,
                })
            }
        }
    }

    pub(super) fn get(&mut self, target: &str) -> Result<Response, Failed> {
        let request = RequestArgument::get(target);
        let answer = http_client::get(&self.socket(), "", target);
        answer.map_err(|error| self.unanswered(&request, &error))
    }

    /// Sends the requests at the same time, each on a new connection.
    pub(super) fn at_once(&mut self, all: &[&RequestArgument]) -> Result<Vec<Response>, Failed> {
        let socket = self.socket();
        let socket = socket.as_path();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let begun: Vec<_> = all
                .iter()
                .map(|request| scope.spawn(move || request.send(socket)))
                .collect();
            let ended = begun.into_iter().map(|one| one.join());
            ended
                .map(|answer| answer.expect("sending does not panic"))
                .collect()
        });
        let pairs = all.iter().zip(answers);
        pairs
            .map(|(request, answer)| answer.map_err(|error| self.unanswered(request, &error)))
            .collect()
    }

    fn unanswered(&mut self, request: &RequestArgument, error: &std::io::Error) -> Failed {
        let began = Instant::now();
        // A server that cannot boot its app ends by itself.
        while error.kind() != ErrorKind::TimedOut && began.elapsed() < Duration::from_secs(1) {
            if let Err(ended) = self.still_runs() {
                return ended;
            }
            std::thread::sleep(AGAIN);
        }
        format!("{request} was not answered: {error}{}", self.log_end()).into()
    }

    /// The last lines of the server's log; empty if there are none.
    pub(super) fn log_end(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let mut lines: Vec<&str> = log
            .lines()
            .filter(|line| !line.starts_with("hearth: listening"))
            .rev()
            .take(5)
            .collect();
        lines.reverse();
        match lines.is_empty() {
            true => String::new(),
            false => format!("; its log:\n{}", lines.join("\n")),
        }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join(LOG)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        let _ = self.child.wait();
    }
}

/// Runs in the started program. None of its files and sockets is shared with another server of the same app.
pub(super) fn serve(settings: &Settings, directory: &Path) -> ExitCode {
    let mut private = Settings {
        listen: vec![Listen::Unix(directory.join(SOCKET))],
        socket: SocketAccess {
            mode: 0o600,
            owner: None,
            group: None,
        },
        control: Some(directory.join("control.sock")),
        workers: Workers::Count(1),
        dispatch: Some(Dispatch::Direct),
        max_requests: 0,
        max_memory: 0,
        probe: None,
        watch: false,
        admin: None,
        access_log: None,
        slow_after: Duration::ZERO,
        slow_file: None,
        log_level: Level::Warn,
        ..settings.clone()
    };
    private.ini.push(("hearth.state_check".into(), "2".into()));
    logging::set_process("supervisor");
    logging::set_level(private.log_level);
    let unchanged = private.clone();
    match supervisor::run(private, Box::new(move || Ok(unchanged.clone())), BUILD_ID) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => fail(e.exit_code(), e),
    }
}
