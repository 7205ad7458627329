//! Hooks of the libc functions in which PHP and its libraries block: they turn blocking calls into waits.
//!
//! Each function here has the name and the signature of the libc function and replaces it in the whole process: the dynamic
//! linker prefers symbols of the executable. Inside a task ([`WaitMode`]) it tries the call without blocking and, if
//! the call would block, has the [`Waiter`] wait; everywhere else it makes the real call.
//!
//! Hooks run before `main` (std polls descriptors 0 to 2) and on every thread. So there is no allocation, no lock and no
//! initialisation that waits before the real call, and `errno` is what the real call left. Only the code that waits in a
//! task allocates, that of record locks and of what tasks hold, and the search for opcache's lock file, once, while a worker starts.
#![allow(unsafe_code)]

mod blocking_waiter;
mod connections;
mod early_end;
mod epoll;
mod fcntl;
mod files;
mod getaddrinfo;
mod held;
mod host_entry;
mod inherit;
mod lock_description;
mod lock_ranges;
mod lock_wait;
mod messages;
mod name_service;
mod opcache;
mod owners;
mod poll;
mod process;
mod program_input;
mod pthread_join;
mod pthread_locks;
mod record_locks;
mod resolver;
mod reverse_lookup;
mod sched;
mod severed;
mod signals;
mod sleep;
mod sockets;
mod streams;
mod syscall;
mod system_v;
#[cfg(test)]
mod testing;
mod waitid;

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

pub use early_end::{end_early, is_ended};
pub use files::unlocked_file;
pub use held::{forget as forget_held, release as release_held};
pub use inherit::{Forking, keep_inherited, leave_to_parent, when_forked};
pub use lock_wait::Lock;
pub use opcache::{keep_opcache_lock, release_opcache_lock};
pub use owners::{disown, disown_all, is_poisoned, own, poison, refuses};
pub use pthread_locks::{forget_locks, locks_held};
pub use record_locks::has_record_locks;
pub use sched::set_long_slice;
pub use syscall::{errno, exit_now, identity, is_socket, is_tcp, poll_now, set_errno};

/// The readiness of a descriptor that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Read,
    Write,
}

/// What a call that blocks does here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// It blocks: this thread runs no task.
    Blocks,
    /// It suspends the running task.
    Suspends,
    /// It blocks for a limited time, because the running task must not be suspended.
    BlocksLimited,
}

/// Waits for the hooks. Methods that wait are called only where the mode is [`WaitMode::Suspends`].
pub trait Waiter: Sync {
    fn mode(&self) -> WaitMode;
    /// Waits as poll(2), after a first poll found nothing ready: fills in `revents` and returns how many descriptors are
    /// ready, 0 when the time is over, -1 with `errno` set when the wait was ended early.
    fn poll(&self, fds: &mut [libc::pollfd], timeout: Option<Duration>) -> i32;
    /// Waits for one descriptor without a first poll, because [`drained`](Waiter::drained) noted that nothing is there;
    /// `None` if that is not known.
    fn poll_drained(&self, _entry: &mut libc::pollfd, _timeout: Option<Duration>) -> Option<i32> {
        None
    }
    /// Notes that a receive on this socket got less than it asked for: with TCP, nothing is there until more arrives.
    fn drained(&self, _fd: i32) {}
    /// Notes that something is there.
    fn refilled(&self, _fd: i32) {}
    /// Waits for `time`; false when the wait was ended early, by a signal, too.
    fn sleep(&self, time: Duration) -> bool;
    /// Runs `work` on another thread and waits for it; false when the wait was ended early. The work then goes on, so it
    /// must not refer to memory of the caller.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> bool;
    /// How long the running task may block if it must not be suspended here, [`Duration::MAX`] without a limit. `None` if no
    /// such task runs.
    fn time_to_block(&self) -> Option<Duration>;
    /// Raises the error of a task that has blocked as long as [`time_to_block`](Waiter::time_to_block) allows.
    fn blocked_too_long(&self) {}
    /// Raises the error of a task that cannot wait here and would block for ever.
    fn refuse_to_block(&self) {}
    /// Whether the running code writes to the descriptor of the FILE that popen(3) makes, as PHP's popen() does, instead of by stdio.
    fn writes_to_descriptor(&self) -> bool {
        true
    }
    /// Whether an exception is propagating, so that the running code is a clean-up.
    fn is_unwinding(&self) -> bool;
    /// Marks this process as a new copy that PHP code has made: the waits belong to the parent.
    fn forked(&self) {}
    /// Handles a signal that arrived while every task waited.
    fn interrupted(&self) {}
    /// Whether the running call closes a process by name: else the engine frees a value that no variable has any more.
    fn is_closing_call(&self) -> bool {
        true
    }
    /// The id of the task that runs on this thread; 0 if none does.
    fn task(&self) -> u64;
    /// The id of the request that this task belongs to; 0 if it is none's.
    fn request(&self) -> u64 {
        0
    }
    /// Refuses to send or receive on a descriptor on which task `owner` waits. Returns true, after throwing an exception, if
    /// the running code is a task's.
    fn refuse(&self, fd: i32, owner: u64) -> bool;
    /// Refuses the same on a descriptor on which two tasks have sent something.
    fn refuse_poisoned(&self, fd: i32) -> bool;
    /// Notes that the running call has taken a record lock.
    fn records_locked(&self) {}
    /// Handles a descriptor that is about to be closed or replaced.
    fn closing(&self, _fd: i32) {}
    /// Whether a task of this thread is in [`wait_for_lock`](Waiter::wait_for_lock).
    fn has_waiting(&self) -> bool;
    /// Wakes the tasks that wait for this, which may have become free.
    fn unlocked(&self, _what: Lock) {}
    /// Waits until this may be free, at most for `at_most`; false when the wait was ended early.
    fn wait_for_lock(&self, what: Lock, at_most: Duration) -> bool;
}

/// A pointer to a trait object's two words, so that it can be stored atomically.
static WAITER: AtomicPtr<&'static dyn Waiter> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the waiter of blocking calls inside tasks. Called once per process.
pub fn install(waiter: &'static dyn Waiter) {
    WAITER.store(Box::into_raw(Box::new(waiter)), Ordering::Release);
}

/// The installed waiter, whether or not a task runs.
#[inline]
fn installed() -> Option<&'static dyn Waiter> {
    let waiter = WAITER.load(Ordering::Acquire);
    // SAFETY: null, or a box leaked by `install` and never changed.
    unsafe { waiter.as_ref() }.copied()
}

/// The waiter, if a task runs. Where the task must not be suspended, it is one that blocks for a limited time.
#[inline]
fn waiter() -> Option<&'static dyn Waiter> {
    let waiter = installed()?;
    match waiter.mode() {
        WaitMode::Blocks => None,
        WaitMode::Suspends => Some(waiter),
        WaitMode::BlocksLimited => Some(&blocking_waiter::BlockingWaiter),
    }
}

/// Waits until `fd` is ready; false when the time is over or the wait was ended early (`errno` tells which).
fn wait_ready(waiter: &dyn Waiter, fd: i32, interest: Interest, timeout: Option<Duration>) -> bool {
    let events = if interest == Interest::Read {
        libc::POLLIN
    } else {
        libc::POLLOUT
    };
    let mut fds = [libc::pollfd {
        fd,
        events,
        revents: 0,
    }];
    if syscall::poll_now(&mut fds) > 0 {
        return true;
    }
    match waiter.poll(&mut fds, timeout) {
        0 => {
            syscall::set_errno(libc::EAGAIN);
            false
        }
        n => n > 0,
    }
}
