//! The time of this turn of the event loop: one look at the clock for all that happens in it.
//!
//! Where nothing computes for long, as in the front, a turn is shorter than what is measured. A thread that says of no turn that it begins,
//! such as one of PHP's, looks at the clock each time.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A turn of this thread's event loop begins.
pub fn begin_turn() {
    BEGAN.set(Some(Instant::now()));
}

/// When this turn began, or now.
#[must_use]
pub fn turn_time() -> Instant {
    BEGAN.get().unwrap_or_else(Instant::now)
}
