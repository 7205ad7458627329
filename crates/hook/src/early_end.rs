//! The `errno` of a wait that is ended early: by a cancellation, or because another task uses the descriptor.
//!
//! poll(2) and its relatives fail with EINTR then, and some libraries abort at any other error. Others call again at EINTR. While
//! the exception of the cancellation propagates, such a call ends at once, too; after some, the error is one that ends a loop.
//! PHP's TLS heeds no error of poll(2): it reads or writes again, and waits again at EAGAIN. After as many times such a call fails
//! with ECONNRESET, as one on a connection that is lost. Streams without TLS try once, and are still open after EAGAIN.

use std::cell::Cell;

use libc::{c_int, ssize_t};

use crate::{Waiter, syscall, waiter};

/// How often a library may call again before the error is no longer EINTR.
const RETRIES: u32 = 100;

/// The last wait of this thread that was ended early.
#[derive(Clone, Copy)]
struct Ended {
    task: u64,
    fd: c_int,
    count: u32,
    /// How often a receive or a send has followed that could not be done either.
    tries: u32,
    /// The error after the retries.
    last: c_int,
}

const NONE: Ended = Ended {
    task: 0,
    fd: -1,
    count: 0,
    tries: 0,
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
        Some(_) => ENDED.get(),
        None => NONE,
    };
    let count = before.count.saturating_add(1);
    ENDED.set(Ended {
        task,
        fd,
        count,
        tries: before.tries,
        last,
    });
    if count <= RETRIES { libc::EINTR } else { last }
}

/// Returns what a receive or send on the descriptor has returned. If that is EAGAIN, again and again after a wait of the task for the
/// descriptor was ended, the error is ECONNRESET: a loop over both ends.
pub(crate) fn unless_ended(fd: c_int, result: ssize_t) -> ssize_t {
    if result < 0
        && syscall::errno() == libc::EAGAIN
        && waiter().is_some_and(|waiter| waiter.is_unwinding() && tries_on(waiter.task(), fd))
    {
        syscall::set_errno(libc::ECONNRESET);
    }
    result
}

/// Counts one more try after a wait that was ended. Returns whether there were too many.
fn tries_on(task: u64, fd: c_int) -> bool {
    if is_ended(task, fd).is_none() {
        return false;
    }
    let mut ended = ENDED.get();
    ended.tries = ended.tries.saturating_add(1);
    ENDED.set(ended);
    ended.tries > RETRIES
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

    #[test]
    fn a_read_that_is_tried_again_after_each_ended_wait_fails_at_last() {
        assert!(!tries_on(7, 5), "no wait was ended");
        for _ in 0..RETRIES {
            next(7, 5, libc::ECANCELED);
            assert!(!tries_on(7, 5) && !tries_on(8, 5));
        }
        next(7, 5, libc::ECANCELED);
        assert!(tries_on(7, 5));
        next(7, 6, libc::ECANCELED);
        assert!(!tries_on(7, 6), "each descriptor has its own");
    }
}
