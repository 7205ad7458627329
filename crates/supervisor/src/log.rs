//! Log lines: `2026-11-21T21:00:00.123Z LEVEL supervisor: message key=value`, to standard error.
//!
//! ALERT is for our own mistakes only: a line with it is a bug in Hearth.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use config::Level;

static LEAST: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Lines below this level are dropped from now on.
pub(crate) fn set_level(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

pub(crate) fn write(level: &str, rank: u8, message: fmt::Arguments<'_>) {
    if rank < LEAST.load(Ordering::Relaxed) {
        return;
    }
    let message = message.to_string();
    let line = format!(
        "{} {level} supervisor: {}\n",
        timestamp(SystemTime::now()),
        ipc::escaped(&message)
    );
    // If standard error is gone, the error cannot be reported.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

macro_rules! debug { ($($t:tt)*) => { $crate::log::write("DEBUG", 0, format_args!($($t)*)) } }
macro_rules! info { ($($t:tt)*) => { $crate::log::write("INFO", 1, format_args!($($t)*)) } }
macro_rules! warning { ($($t:tt)*) => { $crate::log::write("WARN", 2, format_args!($($t)*)) } }
macro_rules! error { ($($t:tt)*) => { $crate::log::write("ERROR", 3, format_args!($($t)*)) } }
macro_rules! alert { ($($t:tt)*) => { $crate::log::write("ALERT", 4, format_args!($($t)*)) } }
pub(crate) use {alert, debug, error, info, warning};

/// RFC 3339 in UTC, with milliseconds.
fn timestamp(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86400, since.as_secs() % 86400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Year, month and day of a day since 1970 (Howard Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (
        yoe + era * 400 + u64::from(month <= 2),
        month,
        doy - (153 * mp + 2) / 5 + 1,
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let at = |seconds, ms| {
            timestamp(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(ms))
        };
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(1_709_164_799, 999), "2024-02-28T23:59:59.999Z");
        assert_eq!(at(1_709_164_800, 0), "2024-02-29T00:00:00.000Z");
        assert_eq!(at(1_795_294_800, 123), "2026-11-21T21:00:00.123Z");
    }
}
