//! The Date field, formatted once a second.

use std::cell::{Cell, RefCell};
use std::time::{Duration, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

thread_local! {
    static SECOND: Cell<u64> = const { Cell::new(u64::MAX) };
    static LINE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Appends the whole line.
pub(crate) fn write_to(out: &mut Vec<u8>) {
    let now = clock_gettime(ClockId::RealtimeCoarse).tv_sec.unsigned_abs();
    LINE.with_borrow_mut(|line| {
        if SECOND.replace(now) != now {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now));
            *line = format!("Date: {date}\r\n");
        }
        out.extend_from_slice(line.as_bytes());
    });
}
