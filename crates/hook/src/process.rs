//! Hooks of wait, waitpid, wait3 and wait4, which wait by pidfds, and of fork.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use libc::{c_int, c_long, pid_t, rusage};

use crate::blocking_waiter::BlockingWaiter;
use crate::{Waiter, held, inherit, installed, record_locks, syscall, waiter, waitid};

/// The arguments of wait4(2) besides the child.
#[derive(Clone, Copy)]
struct Call {
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
}

impl Call {
    fn without_wait(self) -> Call {
        let options = self.options | libc::WNOHANG;
        Call { options, ..self }
    }

    /// Whether the call also returns for a child that has not ended.
    fn is_for_stops(self) -> bool {
        self.options & (libc::WUNTRACED | libc::WCONTINUED) != 0
    }
}

/// # Safety
/// As wait4(2).
unsafe fn real_wait4(pid: pid_t, call: Call) -> pid_t {
    let mut status: c_int = 0;
    // SAFETY: the status is a variable of this function; the rest is the caller's own promise.
    let child = unsafe {
        libc::syscall(
            libc::SYS_wait4,
            pid,
            &raw mut status,
            call.options,
            call.usage,
        ) as pid_t
    };
    if child > 0 {
        if !call.status.is_null() {
            // SAFETY: not null, so it has room for a status: the caller's own promise.
            unsafe { call.status.write(status) };
        }
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            inherit::child_ended(child);
        }
    }
    child
}

/// The `errno` of a wait for a child that was ended early: EINTR after a signal. After a cancellation it is ECHILD, because PHP would
/// wait again at EINTR.
pub(crate) fn ended_early(waiter: &dyn Waiter) -> c_int {
    if waiter.is_unwinding() {
        libc::ECHILD
    } else {
        libc::EINTR
    }
}

/// Lets another thread wait until a child has changed state, without consuming the state, and then calls wait4(2) here.
///
/// # Safety
/// As wait4(2).
unsafe fn wait_by_thread(waiter: &dyn Waiter, pid: pid_t, call: Call) -> pid_t {
    let mut events = libc::WNOWAIT | libc::WEXITED;
    if call.options & libc::WUNTRACED != 0 {
        events |= libc::WSTOPPED;
    }
    if call.options & libc::WCONTINUED != 0 {
        events |= libc::WCONTINUED;
    }
    let (kind, id) = match pid {
        -1 => (libc::P_ALL, 0),
        // SAFETY: getpgrp takes nothing.
        0 => (libc::P_PGID, unsafe { libc::getpgrp() }),
        group if group < 0 => (libc::P_PGID, group.saturating_neg()),
        one => (libc::P_PID, one),
    };
    loop {
        let finished = waiter.blocking(Box::new(move || {
            let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::uninit();
            // SAFETY: room for one siginfo.
            unsafe { waitid::real(kind, id.cast_unsigned(), info.as_mut_ptr(), events) };
        }));
        if !finished {
            syscall::set_errno(ended_early(waiter));
            return -1;
        }
        // SAFETY: the caller's own promise.
        let done = unsafe { real_wait4(pid, call.without_wait()) };
        if done != 0 {
            return done;
        }
    }
}

/// A descriptor that refers to one child, and is ready only when that has ended.
fn pidfd(pid: pid_t) -> Option<OwnedFd> {
    // SAFETY: pidfd_open touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0 as c_long) as c_int };
    // SAFETY: the kernel has just opened it for this call, and nothing else has the number.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Waits until one of these has ended, or the time is over; false, with `errno`, if the wait was ended early.
fn until_one_ends(waiter: &dyn Waiter, ends: &[OwnedFd], time: Option<Duration>) -> bool {
    let entry = |end: &OwnedFd| libc::pollfd {
        fd: end.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut fds: Vec<_> = ends.iter().map(entry).collect();
    if syscall::poll_now(&mut fds) > 0 {
        return true;
    }
    let goes_on = waiter.poll(&mut fds, time) >= 0;
    let error = match syscall::errno() {
        libc::EINTR => ended_early(waiter),
        _ => libc::ECHILD,
    };
    ends.iter().for_each(|end| waiter.closing(end.as_raw_fd()));
    syscall::set_errno(error);
    goes_on
}

/// # Safety
/// As wait4(2).
unsafe fn wait_in_task(waiter: &dyn Waiter, pid: pid_t, call: Call) -> pid_t {
    // SAFETY: the caller's own promise.
    let done = unsafe { real_wait4(pid, call.without_wait()) };
    if done != 0 {
        return done;
    }
    let one = (pid > 0 && !call.is_for_stops()).then(|| pidfd(pid));
    let Some(end) = one.flatten() else {
        // SAFETY: the caller's own promise.
        return unsafe { wait_by_thread(waiter, pid, call) };
    };
    if !until_one_ends(waiter, &[end], None) {
        return -1;
    }
    // SAFETY: the caller's own promise.
    unsafe { real_wait4(pid, call) }
}

/// How long a wait for any child goes on with the same children: the request may start others meanwhile.
const SAME_CHILDREN: Duration = Duration::from_millis(100);
/// The interval of checks of a child whose stop no pidfd reports, or which has no pidfd.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Returns the first of these children that has changed state, -1 with `errno` if none of them is left, 0 if all go on.
///
/// # Safety
/// As wait4(2).
unsafe fn first_of(children: &[pid_t], call: Call) -> pid_t {
    let mut is_left = false;
    for child in children {
        // SAFETY: the caller's own promise.
        let done = unsafe { real_wait4(*child, call.without_wait()) };
        if done > 0 {
            return done;
        }
        is_left |= done == 0;
    }
    if is_left {
        return 0;
    }
    syscall::set_errno(libc::ECHILD);
    -1
}

/// Waits for the first of the children that a call for `pid` means, which `own` returns.
///
/// # Safety
/// As wait4(2).
unsafe fn wait_for_own(pid: pid_t, own: impl Fn() -> Vec<pid_t>, call: Call) -> pid_t {
    let waiter = waiter().unwrap_or(&BlockingWaiter);
    loop {
        let children = own();
        // SAFETY: the caller's own promise.
        let done = unsafe { first_of(&children, call) };
        if done != 0 || call.options & libc::WNOHANG != 0 {
            return done;
        }
        let ends: Vec<_> = children.iter().filter_map(|child| pidfd(*child)).collect();
        let time = match call.is_for_stops() || ends.len() < children.len() {
            true => Some(CHECK_INTERVAL),
            false => (pid <= 0).then_some(SAME_CHILDREN),
        };
        if !until_one_ends(waiter, &ends, time) {
            return -1;
        }
    }
}

/// Waits as wait4(2): with PHP code that may wait for some children only, for these.
///
/// # Safety
/// As wait4(2).
unsafe fn wait_for(pid: pid_t, call: Call) -> pid_t {
    if inherit::own_children(pid).is_some() {
        let own = || inherit::own_children(pid).unwrap_or_default();
        // SAFETY: the caller's own promise.
        return unsafe { wait_for_own(pid, own, call) };
    }
    match waiter().filter(|_| call.options & libc::WNOHANG == 0) {
        // SAFETY: the caller's own promise.
        Some(waiter) => unsafe { wait_in_task(waiter, pid, call) },
        // SAFETY: the caller's own promise.
        None => unsafe { real_wait4(pid, call) },
    }
}

/// Called by pcntl_fork(). The tasks and the reactor belong to the parent only.
#[unsafe(no_mangle)]
extern "C" fn fork() -> pid_t {
    // SAFETY: the type of fork(2); as unsafe as PHP's own call of it.
    let real = unsafe { syscall::next::<extern "C" fn() -> pid_t>(c"fork") };
    let pid = held::forking(|| record_locks::forking(|| real()));
    if pid == 0 {
        inherit::forked();
        if let Some(waiter) = installed() {
            waiter.forked();
        }
    }
    pid
}

const NO_USAGE: *mut rusage = std::ptr::null_mut();

#[unsafe(no_mangle)]
unsafe extern "C" fn wait4(
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> pid_t {
    let call = Call {
        status,
        options,
        usage,
    };
    // SAFETY: the caller's own promise.
    unsafe { wait_for(pid, call) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the caller's own promise; no usage is to be written.
    unsafe { wait4(pid, status, options, NO_USAGE) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t {
    // SAFETY: the caller's own promise.
    unsafe { wait4(-1, status, options, usage) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait(status: *mut c_int) -> pid_t {
    // SAFETY: the caller's own promise; no usage is to be written.
    unsafe { wait4(-1, status, 0, NO_USAGE) }
}
