//! The [`Waiter`] where the running task must not be suspended: in a destructor, an autoloader, the garbage collector.
//!
//! Calls block there, and nothing else of this process runs meanwhile. So they block no longer than the request may take,
//! and not at all for a lock that another task of this process holds.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use libc::pollfd;

use crate::{Lock, WaitMode, Waiter, end_early, installed, is_ended, syscall};

/// The waiter that blocks.
pub(crate) struct BlockingWaiter;

/// How long a call may block: the time that it asked for, or the rest of the request's time if that is shorter.
struct Span {
    time: Option<Duration>,
    is_cut: bool,
}

impl Span {
    fn of(wanted: Option<Duration>) -> Self {
        let limit = installed().and_then(Waiter::time_to_block);
        match limit.filter(|limit| *limit < wanted.unwrap_or(Duration::MAX)) {
            Some(limit) => Self {
                time: Some(limit),
                is_cut: true,
            },
            None => Self {
                time: wanted,
                is_cut: false,
            },
        }
    }

    /// Called when all of the time has passed. Returns true if that is what the call asked for; else raises the timeout
    /// error.
    fn is_enough(&self) -> bool {
        if self.is_cut
            && let Some(waiter) = installed()
        {
            waiter.blocked_too_long();
        }
        !self.is_cut
    }
}

/// Whether this process holds the lock: its holder cannot unlock it while this thread blocks.
fn is_own(what: Lock) -> bool {
    match what {
        Lock::File(_, inode) => has_file_lock(inode),
        // SAFETY: GETPID takes no argument. PHP's semaphore is the first of its set.
        Lock::Semaphores(set) => unsafe {
            libc::semctl(set, 0, libc::GETPID).cast_unsigned() == std::process::id()
        },
        // The record locks of one process do not conflict with each other.
        Lock::Records(..) | Lock::Queue(_) => false,
    }
}

fn has_file_lock(inode: u64) -> bool {
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else {
        return false;
    };
    let (process, end) = (std::process::id().to_string(), format!(":{inode}"));
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 5 && words[1] == "FLOCK" && words[4] == process && words[5].ends_with(&end)
    })
}

impl Waiter for BlockingWaiter {
    fn mode(&self) -> WaitMode {
        WaitMode::BlocksLimited
    }

    fn time_to_block(&self) -> Option<Duration> {
        installed()?.time_to_block()
    }

    fn task(&self) -> u64 {
        installed().map_or(0, Waiter::task)
    }

    fn refuse(&self, fd: i32, owner: u64) -> bool {
        installed().is_some_and(|waiter| waiter.refuse(fd, owner))
    }

    fn refuse_poisoned(&self, fd: i32) -> bool {
        installed().is_some_and(|waiter| waiter.refuse_poisoned(fd))
    }

    fn poll(&self, fds: &mut [pollfd], timeout: Option<Duration>) -> i32 {
        let first = fds.first().map_or(-1, |entry| entry.fd);
        if self.is_unwinding()
            && let Some(last) = is_ended(self.task(), first)
        {
            return end_early(self.task(), first, last);
        }
        let span = Span::of(timeout);
        // SAFETY: the slice is valid for its length.
        let ready =
            unsafe { syscall::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, span.time) };
        if ready == 0 && !span.is_enough() {
            return end_early(self.task(), first, libc::ECANCELED);
        }
        ready
    }

    fn sleep(&self, time: Duration) -> bool {
        let span = Span::of(Some(time));
        syscall::sleep(span.time.unwrap_or(time)) && span.is_enough()
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> bool {
        let span = Span::of(None);
        let Some(time) = span.time else {
            work();
            return true;
        };
        let (done, end) = channel();
        let runs = thread::Builder::new().spawn(move || {
            work();
            let _ = done.send(());
        });
        runs.is_ok()
            && (end.recv_timeout(time) != Err(RecvTimeoutError::Timeout) || span.is_enough())
    }

    fn is_unwinding(&self) -> bool {
        installed().is_some_and(Waiter::is_unwinding)
    }

    fn has_waiting(&self) -> bool {
        installed().is_some_and(Waiter::has_waiting)
    }

    fn wait_for_lock(&self, what: Lock, at_most: Duration) -> bool {
        if !is_own(what) {
            let span = Span::of(Some(at_most));
            syscall::sleep(span.time.unwrap_or(at_most));
            return span.is_enough();
        }
        if let Some(waiter) = installed() {
            waiter.refuse_to_block();
        }
        false
    }
}
