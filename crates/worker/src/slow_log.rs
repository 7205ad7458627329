//! The log of slow requests: where a request is that has run for as long as `log.slow_after`.
//!
//! One that waits is looked at by the worker's clock, and one that computes is interrupted for that by the watchdog.

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

/// From when on, how many, and where.
pub(crate) struct SlowLog {
    /// Milliseconds; `u64::MAX` is never.
    after: u64,
    limit: LineLimit,
    /// `None`: the log of all else.
    path: Option<PathBuf>,
    file: RefCell<Option<File>>,
}

impl SlowLog {
    /// Zero is never.
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

    /// The file may be another now: it was renamed by what rotates logs. If none can be opened, the old one stays in use.
    pub(crate) fn reopen(&self) {
        match self.path.as_deref().map(log_file::open).transpose() {
            Ok(file) => drop(self.file.replace(file)),
            Err(error) => self.complain("cannot open", &error),
        }
    }

    /// Into the file, or the log if there is none or it cannot be written.
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

    /// The request's code begins.
    pub(crate) fn begins(&self, request: &Request) {
        if self.after != u64::MAX {
            request.set_slow_at(now_ms().saturating_add(self.after));
        }
    }
}

impl ProcessHost {
    /// Logs a slow request once, with where it is, if `trace` can say that.
    pub(crate) fn look_if_slow(&self, request: &Request, trace: impl FnOnce() -> Option<String>) {
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

/// Without the query, which may have secrets.
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
