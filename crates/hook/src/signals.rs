//! Hooks of sigtimedwait and sigwaitinfo. There is no descriptor to wait on: signalfd(2) reports a signal to whichever process
//! reads it, and takes a descriptor of the worker for each wait. So the pending signals are checked again and again.

use std::time::{Duration, Instant};

use libc::{c_int, siginfo_t, sigset_t, timespec};

use crate::{syscall, waiter};

/// The longest pause between two checks.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// # Safety
/// As sigtimedwait(2).
unsafe fn real(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec) -> c_int {
    // SAFETY: the type of sigtimedwait(2).
    let real: unsafe extern "C" fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int =
        unsafe { syscall::next(c"sigtimedwait") };
    // SAFETY: the caller's own promise.
    unsafe { real(set, info, time) }
}

/// Makes the call without waiting until there is a signal, the wait is ended early, or it is `end`.
///
/// # Safety
/// As sigtimedwait(2).
unsafe fn wait(
    waiter: &dyn crate::Waiter,
    set: *const sigset_t,
    info: *mut siginfo_t,
    end: Option<Instant>,
) -> c_int {
    let mut pause = Duration::from_millis(1);
    loop {
        // SAFETY: the caller's own promise; the time lives during the call.
        let signal = unsafe { real(set, info, &syscall::timespec_of(Duration::ZERO)) };
        if signal != -1 || syscall::errno() != libc::EAGAIN {
            return signal;
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            syscall::set_errno(libc::EAGAIN);
            return -1;
        }
        if !waiter.sleep(left.map_or(pause, |left| left.min(pause))) {
            syscall::set_errno(libc::EINTR);
            return -1;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    let Some(waiter) = waiter() else {
        // SAFETY: the caller's own promise.
        return unsafe { real(set, info, time) };
    };
    // SAFETY: null or a time: the caller's own promise.
    let time = unsafe { time.as_ref() };
    if time.is_some_and(|time| time.tv_sec < 0 || !(0..1_000_000_000).contains(&time.tv_nsec)) {
        syscall::set_errno(libc::EINVAL);
        return -1;
    }
    let end = time.and_then(|time| {
        Instant::now().checked_add(syscall::duration_of(time.tv_sec, time.tv_nsec))
    });
    // SAFETY: the caller's own promise.
    unsafe { wait(waiter, set, info, end) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: the caller's own promise; without a time it waits for ever, as sigwaitinfo(2).
    unsafe { sigtimedwait(set, info, std::ptr::null()) }
}
