//! A private server with one worker in classic mode, for trials and measurements of a list.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::php::{Php, preload_user};
use super::{Failed, on};
use crate::http_client::Response;

/// How long a start may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The part of a log line that shows that requests are answered.
const SERVING: &str = " serving generation=";

/// Makes the command of a server with one worker in classic mode.
fn command(php: &Php, app: &Path, settings: &[(&str, &str)]) -> Result<Command, Failed> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("serve").arg(app).arg("--allow-root");
    command.args(["--mode", "classic", "--workers", "1"]);
    command.args(["--dispatch", "direct", "--log-level", "info"]);
    command.args(["--php", php.version()]);
    let always = [
        ("auto_prepend_file", ""),
        ("display_errors", "0"),
        ("log_errors", "1"),
        ("error_log", ""),
    ];
    for (name, value) in always.iter().chain(settings).copied().chain(preload_user()) {
        command.arg("--ini").arg(format!("{name}={value}"));
    }
    command.envs(php.environment().iter().cloned());
    Ok(command)
}

/// A private server, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Site {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
    /// The time from start to serving, in ms.
    pub(super) boot: f64,
}

impl Site {
    /// Serves a folder or script. `name` distinguishes its files from those of other servers of the same PHP.
    pub(super) fn start(
        php: &Php,
        name: &str,
        app: &Path,
        settings: &[(&str, &str)],
        config: Option<&Path>,
    ) -> Result<Site, Failed> {
        let folder = php.folder.path();
        let (socket, log) = (
            folder.join(format!("{name}.sock")),
            folder.join(format!("{name}.log")),
        );
        let output = std::fs::File::create(&log).map_err(on("write", &log))?;
        let mut command = command(php, app, settings)?;
        command
            .arg("--listen")
            .arg(format!("unix:{}", socket.display()))
            .arg("--control")
            .arg(folder.join(format!("{name}.control")))
            .args(config.iter().flat_map(|path| [Path::new("--config"), path]))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output);
        let began = Instant::now();
        let child = command.spawn().map_err(|error| error.to_string())?;
        let mut site = Site {
            child,
            socket,
            log,
            boot: 0.0,
        };
        site.wait(began)?;
        site.boot = began.elapsed().as_secs_f64() * 1000.0;
        Ok(site)
    }

    fn wait(&mut self, began: Instant) -> Result<(), Failed> {
        while !self.log_text().contains(SERVING) {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() || began.elapsed() > TIMEOUT {
                return Err(format!(
                    "the server that was to be measured did not start: {}",
                    self.log_text().trim()
                )
                .into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The log of the server and of PHP.
    pub(super) fn log_text(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    pub(super) fn get(&self, host: &str, uri: &str) -> Result<Response, Failed> {
        crate::http_client::get(&self.socket, host, uri).map_err(|error| {
            format!("no response to {uri}: {error}; {}", self.log_text().trim()).into()
        })
    }

    /// CPU time of all processes of the server, in ns.
    pub(super) fn processor_time(&self) -> u64 {
        processes_of(self.child.id()).into_iter().map(time_of).sum()
    }

    /// The proportional set size of the worker, in bytes: its private memory, and its share of shared memory.
    pub(super) fn worker_memory(&self) -> u64 {
        let last = processes_of(self.child.id()).into_iter().max().unwrap_or(0);
        let text =
            std::fs::read_to_string(format!("/proc/{last}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
            * 1024
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::TERM));
        let _ = self.child.wait();
    }
}

/// A process and all its descendants.
fn processes_of(pid: u32) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let entries = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let all: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let parents: Vec<(u32, u32)> = all
        .into_iter()
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let of = found[next];
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == of)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found
}

fn time_of(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let times = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    times.sum()
}
