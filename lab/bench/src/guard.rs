//! A process that cleans up if this one ends without doing so: after a panic, an abort or a SIGKILL.
//!
//! The guard reads the sessions and directories of the run from a pipe. At the end of the pipe it ends and removes those
//! that are left. A handler inside this process could not do that: the release build aborts on a panic, and nothing runs
//! after a SIGKILL.

use crate::procfs;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{BufRead, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The argument of `hearth bench` that starts the guard.
pub(crate) const WORD: &str = "--guard";
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// This process's end of the pipe. Clones share one guard.
#[derive(Clone, Debug)]
pub(crate) struct Guard(Arc<Mutex<Pipe>>);

#[derive(Debug)]
struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Guard {
    /// Starts the guard in a process group of its own, so that Ctrl-C does not reach it.
    pub(crate) fn start(program: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .args(["bench", WORD])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        let stdin = child.stdin.take();
        Ok(Self(Arc::new(Mutex::new(Pipe { child, stdin }))))
    }

    /// Notifies the guard that a session began; its id is that of its first process.
    pub(crate) fn began(&self, session: u32) {
        self.send(&format!("+{session}"));
    }

    /// Notifies the guard that all processes of a session have ended.
    pub(crate) fn ended(&self, session: u32) {
        self.send(&format!("-{session}"));
    }

    /// Notifies the guard of a directory to remove at the end.
    pub(crate) fn directory(&self, path: &Path) {
        self.send(&format!("/{}", path.display()));
    }

    fn send(&self, line: &str) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stdin) = &mut pipe.stdin {
            let _ = writeln!(stdin, "{line}");
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// Runs the guard: reads to the end of `input`, then cleans up.
pub(crate) fn run(input: impl BufRead) {
    let (mut sessions, mut directories) = (BTreeSet::new(), Vec::new());
    for line in input.lines().map_while(std::io::Result::ok) {
        match (line.get(..1), line.get(1..)) {
            (Some("+"), Some(number)) => sessions.extend(number.parse::<u32>()),
            (Some("-"), Some(number)) => {
                number.parse::<u32>().map(|n| sessions.remove(&n)).ok();
            }
            (Some("/"), Some(path)) => directories.push(PathBuf::from(path)),
            _ => {}
        }
    }
    end_sessions(&sessions);
    directories.iter().for_each(|path| remove(path));
}

/// A process that is just ending may still have made a file in it: then it is removed again.
fn remove(path: &Path) {
    let until = Instant::now() + END_TIMEOUT;
    while std::fs::remove_dir_all(path).is_err_and(|error| error.kind() != ErrorKind::NotFound)
        && Instant::now() < until
    {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn end_sessions(sessions: &BTreeSet<u32>) {
    for (signal, timeout) in [
        (Signal::TERM, END_TIMEOUT),
        (Signal::KILL, Duration::from_secs(2)),
    ] {
        let until = Instant::now() + timeout;
        let mut left: Vec<u32> = sessions.iter().flat_map(|s| procfs::session(*s)).collect();
        left.iter().for_each(|pid| procfs::signal(*pid, signal));
        while !left.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            left = sessions.iter().flat_map(|s| procfs::session(*s)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_which_a_process_still_makes_files_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("run");
        std::fs::create_dir(&path).expect("a directory");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..3_000).for_each(|n| drop(std::fs::File::create(path.join(n.to_string()))));
            });
            run(format!("/{}\n", path.display()).as_bytes());
        });
        assert!(!path.exists());
    }
}
