//! Log lines on standard error: one write each, so that lines of several processes do not mix.

use config::Level;
use std::cell::Cell;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::SystemTime;

/// Lines of less importance are dropped: 0 debug, 1 info, 2 warnings, 3 errors.
static LEAST: AtomicU8 = AtomicU8::new(1);

thread_local! {
    static SLOT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Name the lines of this process by its slot.
pub(crate) fn set_slot(slot: u32) {
    SLOT.set(Some(slot));
}

/// Lines below this level (`log.level`) are dropped from now on.
pub(crate) fn set_level(least: Level) {
    LEAST.store(least as u8, Ordering::Relaxed);
}

fn rank(level: &str) -> u8 {
    match level {
        "DEBUG" => 0,
        "INFO" => 1,
        "WARN" => 2,
        "ERROR" => 3,
        _ => u8::MAX,
    }
}

/// Seconds since 1970 as `2026-11-21T21:00:00.123Z` (days to date after Howard Hinnant's `civil_from_days`).
fn timestamp(now: SystemTime) -> String {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let z = days + 719_468;
    let era = z / 146_097;
    let doe = z % 146_097;
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (
        doy - (153 * mp + 2) / 5 + 1,
        if mp < 10 { mp + 3 } else { mp - 9 },
    );
    let year = yoe + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{:03}Z",
        since.subsec_millis()
    )
}

pub(crate) fn line(level: &str, request: u64, message: impl Display) {
    if rank(level) < LEAST.load(Ordering::Relaxed) {
        return;
    }
    let mut text = format!("{} {level} worker", timestamp(SystemTime::now()));
    if let Some(slot) = SLOT.get() {
        text.push_str(&format!("[{slot}]"));
    }
    text.push_str(": ");
    // One event, one line: a stack trace is folded.
    text.push_str(&ipc::escaped(message.to_string().trim_end()));
    if request != 0 {
        text.push_str(&format!(" request={request:016x}"));
    }
    text.push('\n');
    // If standard error is gone, the error cannot be reported.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

pub(crate) fn info(message: impl Display) {
    line("INFO", 0, message);
}

pub(crate) fn warn(message: impl Display) {
    line("WARN", 0, message);
}

pub(crate) fn error(message: impl Display) {
    line("ERROR", 0, message);
}

/// Something that can only be our own mistake.
pub(crate) fn alert(message: impl Display) {
    line("ALERT", 0, message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timestamps_are_utc() {
        let at = |seconds| timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400_123), "2000-02-29T00:00:00.123Z");
        assert_eq!(at(1_795_305_599_999), "2026-11-21T23:59:59.999Z");
    }
}
