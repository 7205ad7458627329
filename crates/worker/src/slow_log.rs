//! The log of slow requests: which line of PHP code a request has reached that has run for `log.slow_after`.
//!
//! A request that waits is checked at the worker's tick; a request that computes is interrupted for that by the watchdog.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http1::{LineLimit, now_ms};
use logging::Severity;
use php::Request;
use server::log_file;
use shm::Counter;

use crate::host::ProcessHost;

/// The slow log: from when on a request is slow, how many lines there may be, and where they go.
pub(crate) struct SlowLog {
    /// Milliseconds from which a request is slow; `u64::MAX` is never.
    after: u64,
    limit: LineLimit,
    /// The file of the slow log; `None`: the server's log.
    path: Option<PathBuf>,
    file: RefCell<Option<File>>,
}

impl SlowLog {
    /// Opens the slow log. If `after` is zero, no request is slow.
    pub(crate) fn new(after: Duration, path: Option<&Path>) -> SlowLog {
        let log = SlowLog {
            after: match u64::try_from(after.as_millis()) {
                Ok(0) | Err(_) => u64::MAX,
                Ok(after) => after,
            },
            limit: LineLimit::default(),
            path: path.map(Path::to_owned),
            file: RefCell::default(),
        };
        log.reopen();
        log
    }

    /// Reopens the file after log rotation has renamed it. If it cannot be opened, the old file stays in use.
    pub(crate) fn reopen(&self) {
        match self.path.as_deref().map(log_file::open).transpose() {
            Ok(file) => drop(self.file.replace(file)),
            Err(error) => self.complain("cannot open", &error),
        }
    }

    /// Writes to the file, or to the server's log if there is no file or it cannot be written.
    fn write(&self, id: u64, event: &str, calls: &str) {
        let written = self.file.borrow_mut().as_mut().map(|file| {
            file.write_all(logging::unfolded(Severity::Warn, id, event, calls).as_bytes())
        });
        match written {
            Some(Ok(())) => return,
            Some(Err(error)) => self.complain("cannot write", &error),
            None => {}
        }
        let line = format!("{event}\nStack trace:\n{calls}");
        logging::write(Severity::Warn, id, line);
    }

    fn complain(&self, what: &str, error: &std::io::Error) {
        let path = self.path.as_deref().unwrap_or(Path::new("")).display();
        logging::error!("{what} the slow log: {error} path={path}");
    }

    /// Notes that the code of a request begins.
    pub(crate) fn begins(&self, request: &Request) {
        if self.after != u64::MAX {
            request.set_slow_at(now_ms().saturating_add(self.after));
        }
    }
}

impl ProcessHost {
    /// Logs a slow request once, with its stack trace, if `trace` returns one.
    pub(crate) fn log_if_slow(&self, request: &Request, trace: impl FnOnce() -> Option<String>) {
        let now = now_ms();
        if now < request.slow_at() {
            return;
        }
        let Some(trace) = trace() else { return };
        let ran = now
            .saturating_sub(request.slow_at())
            .saturating_add(self.slow.after);
        request.set_slow_at(u64::MAX);
        crate::watchdog::slow_at(u64::MAX, 0);
        self.count(Counter::Slow);
        if let Some(left_out) = self.slow.limit.take(now) {
            let (place, calls) = trace.split_once('\n').unwrap_or((&trace, ""));
            let event = event(request, ran, place, left_out);
            self.slow.write(request.id(), &event, calls);
        }
    }
}

/// Returns the text of the log line. The target is shown without its query, which may contain secrets.
fn event(request: &Request, ran: u64, place: &str, left_out: u64) -> String {
    let head = request.head();
    let [method, path] = [head.method(), head.path()].map(String::from_utf8_lossy);
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" ({n} more like this were not logged)"),
    };
    let seconds = ran as f64 / 1000.0;
    format!(
        "request is slow: at {place} method={method} route={path} seconds={seconds:.1}{left_out}"
    )
}
