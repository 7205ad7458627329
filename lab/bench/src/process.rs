//! A process that a run starts: in a session of its own, and ended with all its descendants.

use crate::guard::Guard;
use crate::problem::{Problem, Result};
use crate::procfs;
use rustix::process::Signal;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Lines of the process's log that a failure quotes.
const QUOTED: usize = 6;

/// Returns whether a line is neither empty nor a frame of a stack trace: those would displace the error itself in a
/// quote.
fn is_message(line: &str) -> bool {
    let line = line.trim();
    let is_frame = line
        .strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !line.is_empty() && !is_frame && line != "Stack trace:"
}

/// Runs a command to its end. A failure has the command's name and its errors, or else its other output.
pub(crate) fn complete(name: &str, command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .map_err(|e| Problem::failed(format!("{name}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let texts = [output.stderr, output.stdout].map(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.trim().to_owned()
    });
    let text = texts.into_iter().find(|text| !text.is_empty());
    let text = text.unwrap_or_else(|| output.status.to_string());
    Err(Problem::failed(format!("{name}: {text}")))
}

/// A running program; ended when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    name: String,
    log: PathBuf,
    guard: Guard,
    /// The signal that asks the process to end.
    signal: Signal,
}

impl Process {
    /// Starts `command`, which begins with `setsid` (see `RunDir::command`), with its output in the file `log`.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        log: &Path,
        guard: &Guard,
    ) -> Result<Self> {
        let output = |e: std::io::Error| Problem::failed(format!("{}: {e}", log.display()));
        let file = File::create(log).map_err(output)?;
        let twin = file.try_clone().map_err(output)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(twin)
            .spawn()
            .map_err(|e| Problem::failed(format!("cannot start {name}: {e}")))?;
        guard.began(child.id());
        Ok(Self {
            child,
            name: name.to_owned(),
            log: log.to_owned(),
            guard: guard.clone(),
            signal: Signal::TERM,
        })
    }

    /// Sets the signal that ends the process, instead of SIGTERM.
    pub(crate) fn ended_by(mut self, signal: Signal) -> Self {
        self.signal = signal;
        self
    }

    /// Returns the process's session, whose id is that of its first process.
    pub(crate) fn session(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the exit status, if the process has ended.
    pub(crate) fn exit(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns all output of the process so far.
    pub(crate) fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the last lines of the process's output, for a message.
    pub(crate) fn last_words(&self) -> String {
        let log = self.log();
        let mut lines: Vec<&str> = Vec::new();
        for line in log.lines().filter(|line| is_message(line)) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines[lines.len().saturating_sub(QUOTED)..].join("\n")
    }

    /// Returns why the process has failed, if it has ended.
    pub(crate) fn failure(&mut self) -> Option<String> {
        let status = self.exit()?;
        let words = self.last_words();
        let words = if words.is_empty() {
            "it printed nothing".to_owned()
        } else {
            words
        };
        Some(format!("{} ended ({status}): {words}", self.name))
    }

    /// Polls until `ready` returns a value; fails when the process ends, or after `timeout`.
    pub(crate) fn until<T>(
        &mut self,
        timeout: Duration,
        mut ready: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T> {
        let until = Instant::now() + timeout;
        loop {
            if let Some(found) = ready(self) {
                return Ok(found);
            }
            if let Some(why) = self.failure() {
                return Err(Problem::Failed(why));
            }
            if Instant::now() > until {
                let words = self.last_words();
                return Err(Problem::failed(format!(
                    "{} was not ready after {} s: {words}",
                    self.name,
                    timeout.as_secs()
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks the process to end, waits, and kills the rest of its session. A server that is ended by SIGKILL has only its
    /// own folder to clean up, and would take a second or two if it were asked.
    pub(crate) fn stop(&mut self) {
        let session = self.session();
        if self.signal == Signal::KILL {
            procfs::session(session)
                .into_iter()
                .for_each(|pid| procfs::signal(pid, Signal::KILL));
        } else if self.exit().is_none() {
            procfs::signal(session, self.signal);
        }
        for (timeout, signal) in [
            (END_TIMEOUT, Signal::TERM),
            (Duration::from_secs(1), Signal::KILL),
            (END_TIMEOUT, Signal::KILL),
        ] {
            if self.wait_for_session(timeout) {
                break;
            }
            procfs::session(session)
                .into_iter()
                .for_each(|pid| procfs::signal(pid, signal));
        }
        let _ = self.child.wait();
        procfs::reap(session);
        self.guard.ended(session);
    }

    fn wait_for_session(&mut self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        loop {
            let over = self.exit().is_some();
            if over && procfs::session(self.session()).is_empty() {
                return true;
            }
            // Processes that the first one leaves behind get less time than that process itself.
            if Instant::now() > until
                || (over
                    && until - Instant::now() < timeout.saturating_sub(Duration::from_millis(500)))
            {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_frames_are_not_quoted() {
        let log = "Error: no such file\nStack trace:\n#0 a.php(1): b()\n#1 {main}\n\n# a comment\nworker exit";
        let texts: Vec<&str> = log.lines().filter(|line| is_message(line)).collect();
        assert_eq!(texts, ["Error: no such file", "# a comment", "worker exit"]);
    }
}
