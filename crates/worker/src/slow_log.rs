//! The log of slow requests: where a request is that has run for as long as `log.slow_after`.
//!
//! One that waits is looked at by the worker's clock, and one that computes is interrupted for that by the watchdog.

use std::time::Duration;

use http1::{LineLimit, now_ms};
use logging::Severity;
use php::Request;
use shm::Counter;

use crate::host::ProcessHost;

/// From when on, and how many lines.
pub(crate) struct SlowLog {
    /// Milliseconds; `u64::MAX` is never.
    after: u64,
    limit: LineLimit,
}

impl SlowLog {
    /// Zero is never.
    pub(crate) fn new(after: Duration) -> SlowLog {
        SlowLog {
            after: match u64::try_from(after.as_millis()) {
                Ok(0) | Err(_) => u64::MAX,
                Ok(after) => after,
            },
            limit: LineLimit::default(),
        }
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
        crate::watchdog::slow_at(u64::MAX);
        self.count(Counter::Slow);
        if let Some(left_out) = self.slow.limit.take(now) {
            logging::write(
                Severity::Warn,
                request.id(),
                line(request, ran, &trace, left_out),
            );
        }
    }
}

/// As the log has exceptions. Without the query, which may have secrets.
fn line(request: &Request, ran: u64, trace: &str, left_out: u64) -> String {
    let head = request.head();
    let [method, path] = [head.method(), head.path()].map(String::from_utf8_lossy);
    let (place, calls) = trace.split_once('\n').unwrap_or((trace, ""));
    let left_out = match left_out {
        0 => String::new(),
        n => format!(" ({n} more like this were not logged)"),
    };
    let seconds = ran as f64 / 1000.0;
    format!(
        "request is slow: at {place} method={method} route={path} seconds={seconds:.1}{left_out}\nStack trace:\n{calls}"
    )
}
