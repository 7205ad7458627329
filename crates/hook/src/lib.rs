//! libc functions through which PHP and its libraries block, turned into waits.
//!
//! Each function here has the name and the signature of the libc function and takes its place in the whole process:
//! the dynamic linker prefers symbols of the executable. Inside a task ([`Waiter::can_wait`]) it tries the call without
//! blocking and, if it would block, lets the [`Waiter`] wait; everywhere else it is the real call.
//!
//! Hooks run before `main` (std polls descriptors 0 to 2) and on every thread: on the way to the real call there is no
//! allocation, no lock and no initialisation that waits, and `errno` is what the real call left. Only what waits in a task
//! allocates, and what looks for opcache's lock file, once, while a worker starts.
#![allow(unsafe_code)]

mod files;
mod getaddrinfo;
mod inherit;
mod locks;
mod opcache;
mod owners;
mod poll;
mod process;
mod resolver;
mod sched;
mod severed;
mod sleep;
mod sockets;
mod stay;
mod streams;
mod syscall;
#[cfg(test)]
mod testing;

use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

pub use inherit::{Forking, keep_inherited, when_forked};
pub use locks::{forget_locks, locks_held};
pub use opcache::{keep_opcache_lock, release_opcache_lock};
pub use owners::{disown, disown_all, is_poisoned, own, poison, refuses};
pub use sched::set_long_slice;
pub use syscall::{errno, exit_now, identity, is_stream, poll_now, set_errno};

/// Which readiness a descriptor is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Read,
    Write,
}

/// How waits are done. Those that wait are called only where [`can_wait`](Waiter::can_wait) is true.
pub trait Waiter: Sync {
    /// Is this thread running a task that may be left here and now?
    fn can_wait(&self) -> bool;
    /// As poll(2) after a first look found nothing ready: wait, fill in `revents`, return how many are ready; 0 when
    /// the time is over, -1 with `errno` set when the wait was ended early.
    fn poll(&self, fds: &mut [libc::pollfd], timeout: Option<Duration>) -> i32;
    /// The same for one descriptor of which [`drained`](Waiter::drained) said that nothing is there, without a look
    /// first; `None` if that is not known.
    fn poll_drained(&self, entry: &mut libc::pollfd, timeout: Option<Duration>) -> Option<i32>;
    /// A receive on this stream socket got less than it asked for: until something comes, nothing is there.
    fn drained(&self, fd: i32);
    /// Wait so long; false when the wait was ended early, by a signal too.
    fn sleep(&self, time: Duration) -> bool;
    /// Run `work` on another thread and wait for it; false when the wait was ended early. The work goes on then, so it has
    /// nothing of the caller's.
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> bool;
    /// A task runs that must not be left here: how long it may stay, [`Duration::MAX`] without a limit. `None` where none does.
    fn stays(&self) -> Option<Duration>;
    /// It stayed for so long: raise the error that says so.
    fn stayed_too_long(&self);
    /// It would stay for ever: raise the error that says that it cannot wait here.
    fn refuse_to_stay(&self);
    /// Is an exception on its way up, so that what runs is a clean-up?
    fn is_unwinding(&self) -> bool;
    /// This process is a new copy of another, made by PHP code: waits belong to the other one.
    fn forked(&self);
    /// A signal arrived while every task waited.
    fn interrupted(&self);
    /// The id of the task that runs on this thread; 0 if none does.
    fn task(&self) -> u64;
    /// The running code wants to send or receive on what another task waits on: true, with an exception under way, if it is
    /// a task's.
    fn refuse(&self, fd: i32, owner: u64) -> bool;
    /// The same, on what two tasks have sent on.
    fn refuse_poisoned(&self, fd: i32) -> bool;
    /// This descriptor is about to be closed or replaced.
    fn closing(&self, fd: i32);
    /// A lock on this file may have become free.
    fn unlocked(&self, fd: i32);
    /// Wait until a lock on this file may be free, or `at_most` so long; false when the wait was ended early.
    fn wait_for_lock(&self, fd: i32, at_most: Duration) -> bool;
}

/// Two words of a trait object, behind one pointer that can be stored atomically.
static WAITER: AtomicPtr<&'static dyn Waiter> = AtomicPtr::new(std::ptr::null_mut());

/// From now on, blocking calls inside tasks wait by `waiter`. Once per process.
pub fn install(waiter: &'static dyn Waiter) {
    WAITER.store(Box::into_raw(Box::new(waiter)), Ordering::Release);
}

/// The waiter, whether or not a task runs.
#[inline]
fn installed() -> Option<&'static dyn Waiter> {
    let waiter = WAITER.load(Ordering::Acquire);
    // SAFETY: null, or a box leaked by `install` and never changed.
    unsafe { waiter.as_ref() }.copied()
}

/// The waiter, if a task runs: one that blocks, for a limited time, where that must not be left.
#[inline]
fn waiter() -> Option<&'static dyn Waiter> {
    installed()
        .filter(|waiter| waiter.can_wait())
        .or_else(stay::waiter)
}

/// Wait until `fd` is ready; false when the time is over or the wait was ended early (`errno` says which).
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
