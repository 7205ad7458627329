//! Waits for what the kernel gives no descriptor for: locks on files, semaphores and message queues. The call is tried without
//! blocking, again and again; a task that this process can wake tries at once.

use std::time::{Duration, Instant};

use libc::c_int;

use crate::{Waiter, installed, syscall};

/// The longest pause between two attempts at what another process holds.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// What tasks of this process and other processes wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lock {
    /// The lock on a file, by device and inode.
    File(u64, u64),
    /// The record locks on a file, by device and inode.
    Records(u64, u64),
    /// A set of System V semaphores.
    Semaphores(c_int),
    /// A System V message queue: to be read from, or to have room.
    Queue(c_int),
}

impl Lock {
    /// The `errno` of a call whose wait was ended early.
    fn ended(self) -> c_int {
        match self {
            Lock::File(..) | Lock::Records(..) => libc::ENOLCK,
            Lock::Semaphores(_) | Lock::Queue(_) => libc::EIDRM,
        }
    }
}

/// Makes a call that does not block until its `errno` is no longer `busy`; returns what it returns, and -1 if the wait was ended
/// early. `errno` is then one that the call may have and after which no caller tries again, as at EINTR. `what` is asked only if the
/// call has to wait.
pub(crate) fn until_free(
    waiter: &dyn Waiter,
    what: impl Fn() -> Option<Lock>,
    busy: c_int,
    attempt: impl FnMut() -> isize,
) -> isize {
    until_free_or(waiter, None, what, busy, attempt)
}

/// The same, at most until `end`; then the last attempt's result is that of the call.
pub(crate) fn until_free_or(
    waiter: &dyn Waiter,
    end: Option<Instant>,
    what: impl Fn() -> Option<Lock>,
    busy: c_int,
    mut attempt: impl FnMut() -> isize,
) -> isize {
    let mut pause = Duration::from_millis(1);
    loop {
        let result = attempt();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if result != -1 || syscall::errno() != busy || left == Some(Duration::ZERO) {
            return result;
        }
        pause = left.map_or(pause, |left| left.min(pause));
        let what = what();
        if !what.is_some_and(|what| waiter.wait_for_lock(what, pause)) {
            syscall::set_errno(what.map_or(libc::ENOLCK, Lock::ended));
            return -1;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Wakes the tasks that wait for what a call has just changed; `errno` stays.
pub(crate) fn changed(what: impl FnOnce() -> Option<Lock>) {
    let Some(waiter) = installed().filter(|waiter| waiter.has_waiting()) else {
        return;
    };
    let error = syscall::errno();
    if let Some(what) = what() {
        waiter.unlocked(what);
    }
    syscall::set_errno(error);
}
