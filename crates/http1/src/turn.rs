//! The time of the current turn of the event loop: the clock is read once per turn.
//!
//! Where no task computes for long, as in the front, a turn is shorter than the times that are measured. A thread that never
//! calls [`begin_turn`], such as one that runs PHP, reads the clock each time.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Notes the time at which a turn of this thread's event loop begins.
pub fn begin_turn() {
    BEGAN.set(Some(Instant::now()));
}

/// Returns when the current turn began, or the time now if the thread never calls [`begin_turn`].
#[must_use]
pub fn turn_time() -> Instant {
    BEGAN.get().unwrap_or_else(Instant::now)
}
