//! Ends the processes that a test started, even if the test process is killed.
//!
//! Destructors run neither for statics nor after SIGKILL. So each session of processes has a small shell beside it that
//! reads a pipe held by the test process: at the end of the pipe, the shell ends the session.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SCRIPT: &str = r#"read -r released || pkill -KILL -s "$1"; rm -rf -- "$2""#;

/// A guard of a session: kills the session and removes the directory when it is dropped, or when this process ends.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Guards the session led by process `session`; `directory` is removed at the end in any case.
    pub(crate) fn new(session: u32, directory: &Path) -> Self {
        let shell = Command::new("setsid")
            .args(["sh", "-c", SCRIPT, "guard", &session.to_string()])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("setsid (util-linux) starts");
        Self { shell }
    }

    /// Ends the guard of a session that ended by itself: only the directory is removed.
    pub(crate) fn release(mut self) {
        if let Some(pipe) = &mut self.shell.stdin {
            let _ = pipe.write_all(b"released\n");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
