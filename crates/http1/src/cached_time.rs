//! The cached time, as in nginx: the clock is read once per iteration of the event loop, and only if the time is asked for.
//!
//! It expires where time may have passed: after the thread has waited, and after PHP code has run. All else is shorter than
//! the times that are measured. A thread that never calls [`expire_cached_time`] reads the clock each time.

use std::cell::Cell;
use std::time::Instant;

#[derive(Clone, Copy)]
enum Clock {
    /// The thread caches no time.
    Uncached,
    Unread,
    Read(Instant),
}

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock::Uncached) };
}

/// Expires the cached time of this thread: the clock is read again when the time is next asked for.
#[inline]
pub fn expire_cached_time() {
    CLOCK.set(Clock::Unread);
}

/// Returns the time, as of the first call since it expired.
#[must_use]
pub fn cached_time() -> Instant {
    match CLOCK.get() {
        Clock::Read(time) => time,
        Clock::Uncached => Instant::now(),
        Clock::Unread => {
            let time = Instant::now();
            CLOCK.set(Clock::Read(time));
            time
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_later_than(time: Instant) {
        while Instant::now() <= time {}
    }

    #[test]
    fn the_clock_is_read_once_until_it_expires() {
        let before = cached_time();
        until_later_than(before);
        assert!(
            cached_time() > before,
            "without a cache, it is read each time"
        );
        expire_cached_time();
        let first = cached_time();
        until_later_than(first);
        assert_eq!(cached_time(), first);
        expire_cached_time();
        assert!(cached_time() > first);
    }
}
