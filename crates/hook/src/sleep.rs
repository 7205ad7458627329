//! sleep, usleep, nanosleep, clock_nanosleep.

use std::time::Duration;

use libc::{c_int, c_uint, clockid_t, timespec};

use crate::{real, waiter};

/// # Safety
/// `remaining` is null or valid.
unsafe fn real_nanosleep(time: Duration, remaining: *mut timespec) -> c_int {
    let time = real::timespec_of(time);
    // SAFETY: `time` lives during the call; the caller vouches for `remaining`.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, remaining) as c_int }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let time = Duration::from_secs(seconds.into());
    if let Some(waiter) = waiter() {
        return if waiter.sleep(time) { 0 } else { seconds };
    }
    let mut left = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: room for one timespec.
    if unsafe { real_nanosleep(time, &raw mut left) } == 0 {
        0
    } else {
        c_uint::try_from(left.tv_sec).unwrap_or(0)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    let time = Duration::from_micros(microseconds.into());
    match waiter() {
        Some(waiter) => interrupted_unless(waiter.sleep(time)),
        // SAFETY: no remaining time is asked for.
        None => unsafe { real_nanosleep(time, std::ptr::null_mut()) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const timespec, remaining: *mut timespec) -> c_int {
    // SAFETY: valid, says nanosleep(2).
    let wanted = unsafe { *time };
    let valid = wanted.tv_sec >= 0 && (0..1_000_000_000).contains(&wanted.tv_nsec);
    match waiter().filter(|_| valid) {
        Some(waiter) => {
            let slept = waiter.sleep(real::duration_of(wanted.tv_sec, wanted.tv_nsec));
            if !slept && !remaining.is_null() {
                // SAFETY: not null, so valid.
                unsafe {
                    *remaining = timespec {
                        tv_sec: 0,
                        tv_nsec: 0,
                    }
                };
            }
            interrupted_unless(slept)
        }
        // SAFETY: the caller's own promise.
        None => unsafe { libc::syscall(libc::SYS_nanosleep, time, remaining) as c_int },
    }
}

/// PHP's `time_sleep_until()` and others may sleep towards a moment.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    let Some(waiter) = waiter() else {
        // SAFETY: the caller's own promise.
        let failed =
            unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, remaining) } != 0;
        return if failed { real::errno() } else { 0 };
    };
    // SAFETY: valid, says clock_nanosleep(2).
    let wanted = unsafe { *time };
    let mut span = real::duration_of(wanted.tv_sec, wanted.tv_nsec);
    if flags & libc::TIMER_ABSTIME != 0 {
        let mut now = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: room for one timespec.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        span = span.saturating_sub(real::duration_of(now.tv_sec, now.tv_nsec));
    }
    if waiter.sleep(span) { 0 } else { libc::EINTR }
}

fn interrupted_unless(slept: bool) -> c_int {
    if slept {
        return 0;
    }
    real::set_errno(libc::EINTR);
    -1
}
