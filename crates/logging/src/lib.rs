//! The log: `2026-11-21T21:00:00.123Z LEVEL worker[0]: event key=value`, to standard error.
//!
//! A line is one write, so that lines of several processes do not mix, and contains no control characters ([`escaped`]). The
//! level ALERT means a bug in Hearth.
#![forbid(unsafe_code)]

mod escape;

use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use config::Level;
use jiff::Timestamp;

pub use escape::escaped;

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);
static PROCESS: OnceLock<&'static str> = OnceLock::new();
/// The slot of this worker; [`NO_SLOT`] in other processes.
static SLOT: AtomicU32 = AtomicU32::new(NO_SLOT);
const NO_SLOT: u32 = u32::MAX;

/// The severity of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Debug,
    Info,
    Warn,
    Error,
    Alert,
}

impl Display for Severity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Debug => "DEBUG",
            Severity::Info => "INFO",
            Severity::Warn => "WARN",
            Severity::Error => "ERROR",
            Severity::Alert => "ALERT",
        })
    }
}

/// Drops lines below this level (`log.level`) from now on.
pub fn set_level(least: Level) {
    LEAST.store(least as u8, Ordering::Relaxed);
}

/// Sets the name of this process in its lines; only the first call has an effect.
pub fn set_process(name: &'static str) {
    PROCESS.get_or_init(|| name);
}

/// Adds the slot of this worker to the name in its lines.
pub fn set_slot(slot: u32) {
    SLOT.store(slot, Ordering::Relaxed);
}

/// Writes a line about the request with this id; 0 is for lines about no request.
pub fn write(severity: Severity, request: u64, message: impl Display) {
    if (severity as u8) < LEAST.load(Ordering::Relaxed) {
        return;
    }
    let line = line(Timestamp::now(), severity, request, &message.to_string());
    // If standard error is closed, the error cannot be reported.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Returns an event on several lines for a file of its own. It begins as a line of the log does, and ends with an empty
/// line.
pub fn unfolded(severity: Severity, request: u64, event: &str, more: &str) -> String {
    let mut text = line(Timestamp::now(), severity, request, event);
    for more in more.lines() {
        text += &escaped(more);
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Formats one event as one line; a stack trace is folded.
fn line(at: Timestamp, severity: Severity, request: u64, message: &str) -> String {
    let process = PROCESS.get().copied().unwrap_or("hearth");
    let slot = match SLOT.load(Ordering::Relaxed) {
        NO_SLOT => String::new(),
        slot => format!("[{slot}]"),
    };
    let message = escaped(message.trim_end());
    let request = match request {
        0 => String::new(),
        id => format!(" request={id:016x}"),
    };
    format!("{at:.3} {severity} {process}{slot}: {message}{request}\n")
}

#[macro_export]
macro_rules! debug { ($($t:tt)*) => { $crate::write($crate::Severity::Debug, 0, format_args!($($t)*)) } }
#[macro_export]
macro_rules! info { ($($t:tt)*) => { $crate::write($crate::Severity::Info, 0, format_args!($($t)*)) } }
#[macro_export]
macro_rules! warning { ($($t:tt)*) => { $crate::write($crate::Severity::Warn, 0, format_args!($($t)*)) } }
#[macro_export]
macro_rules! error { ($($t:tt)*) => { $crate::write($crate::Severity::Error, 0, format_args!($($t)*)) } }
/// Logs a bug in Hearth.
#[macro_export]
macro_rules! alert { ($($t:tt)*) => { $crate::write($crate::Severity::Alert, 0, format_args!($($t)*)) } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_time_its_source_and_its_request() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        set_process("worker");
        assert_eq!(
            line(at(0), Severity::Info, 0, "ready\n"),
            "1970-01-01T00:00:00.000Z INFO worker: ready\n"
        );
        set_slot(3);
        assert_eq!(
            line(
                at(1_709_164_799_999),
                Severity::Alert,
                0x2a,
                "a\nb key=value"
            ),
            "2024-02-28T23:59:59.999Z ALERT worker[3]: a\\nb key=value request=000000000000002a\n"
        );
    }
}
