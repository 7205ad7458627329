//! The `errno` of a wait that is ended early: by a cancellation, or because another task uses the descriptor.
//!
//! poll(2) and its relatives fail with EINTR then, and some libraries abort at any other error. Others call again at EINTR. While
//! the exception of the cancellation propagates, such a call ends at once, too; after some, the error is one that ends a loop.

use std::cell::Cell;

use libc::c_int;

use crate::{Waiter, syscall, waiter};

/// How often a library may call again before the error is no longer EINTR.
const RETRIES: u32 = 100;

/// The last wait of this thread that was ended early.
#[derive(Clone, Copy)]
struct Ended {
    task: u64,
    fd: c_int,
    count: u32,
    /// The error after the retries.
    last: c_int,
}

const NONE: Ended = Ended {
    task: 0,
    fd: -1,
    count: 0,
    last: 0,
};

thread_local! {
    static ENDED: Cell<Ended> = const { Cell::new(NONE) };
}

/// Whether the last wait that was ended early was the same task's on the same descriptor. Returns the error with which it ends at
/// last.
pub fn is_ended(task: u64, fd: c_int) -> Option<c_int> {
    let ended = ENDED.get();
    (ended.task == task && ended.fd == fd && ended.count > 0).then_some(ended.last)
}

/// Ends a wait of the task on the descriptor: sets `errno` to EINTR, after many in a row to `last`. Returns -1. Where the exception has
/// taken too much memory, it is `last` at once: a repeated wait would block.
pub fn end_early(task: u64, fd: c_int, last: c_int) -> c_int {
    let is_noticed = waiter().is_some_and(Waiter::is_unwinding);
    let error = if is_noticed {
        next(task, fd, last)
    } else {
        last
    };
    syscall::set_errno(error);
    -1
}

/// Counts one more wait of the task on the descriptor that is ended early. Returns its error.
fn next(task: u64, fd: c_int, last: c_int) -> c_int {
    let before = match is_ended(task, fd) {
        Some(_) => ENDED.get().count,
        None => 0,
    };
    let count = before.saturating_add(1);
    ENDED.set(Ended {
        task,
        fd,
        count,
        last,
    });
    if count <= RETRIES { libc::EINTR } else { last }
}

/// Forgets a descriptor that is closed.
pub(crate) fn closing(fd: c_int) {
    if ENDED.get().fd == fd {
        ENDED.set(NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_repeated_ends_with_another_error_at_last() {
        for _ in 0..RETRIES {
            assert_eq!(next(7, 5, libc::ECANCELED), libc::EINTR);
        }
        assert_eq!(next(7, 5, libc::ECANCELED), libc::ECANCELED);
        assert_eq!(is_ended(7, 5), Some(libc::ECANCELED));
        assert_eq!(next(7, 6, libc::EBUSY), libc::EINTR);
        assert_eq!((is_ended(7, 5), is_ended(8, 6)), (None, None));
        closing(6);
        assert_eq!(is_ended(7, 6), None);
    }
}
