//! The time of the current turn of the event loop: the clock is read once per turn, and only if the time is asked for.
//!
//! A turn ends where time may have passed: after the thread has waited, and after PHP code has run. All else that a turn does
//! is shorter than the times that are measured. A thread that never calls [`end_turn`] reads the clock each time.

use std::cell::Cell;
use std::time::Instant;

#[derive(Clone, Copy)]
enum Clock {
    /// The thread has no turns.
    Always,
    Unread,
    Read(Instant),
}

thread_local! {
    static CLOCK: Cell<Clock> = const { Cell::new(Clock::Always) };
}

/// Ends the current turn of this thread: the clock is read again when the time is next asked for.
#[inline]
pub fn end_turn() {
    CLOCK.set(Clock::Unread);
}

/// Returns the time in the current turn.
#[must_use]
pub fn turn_time() -> Instant {
    match CLOCK.get() {
        Clock::Read(time) => time,
        Clock::Always => Instant::now(),
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
    fn the_clock_is_read_once_per_turn() {
        let before = turn_time();
        until_later_than(before);
        assert!(turn_time() > before, "without turns, it is read each time");
        end_turn();
        let first = turn_time();
        until_later_than(first);
        assert_eq!(turn_time(), first);
        end_turn();
        assert!(turn_time() > first);
    }
}
