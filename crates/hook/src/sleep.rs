//! Hooks of sleep, usleep, nanosleep and clock_nanosleep.

use std::time::{Duration, Instant};

use libc::{c_int, c_uint, clockid_t, timespec};

use crate::{Waiter, syscall, waiter};

/// # Safety
/// `remaining` is null or valid.
unsafe fn real_nanosleep(time: Duration, remaining: *mut timespec) -> c_int {
    let time = syscall::timespec_of(time);
    // SAFETY: `time` lives during the call; the caller vouches for `remaining`.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, remaining) as c_int }
}

/// Sleeps and returns how much of `time` is left: zero, unless the sleep was ended early.
fn slept(waiter: &dyn Waiter, time: Duration) -> Duration {
    let start = Instant::now();
    if waiter.sleep(time) {
        return Duration::ZERO;
    }
    time.saturating_sub(start.elapsed())
        .max(Duration::from_nanos(1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let time = Duration::from_secs(seconds.into());
    if let Some(waiter) = waiter() {
        return c_uint::try_from(slept(waiter, time).as_secs()).unwrap_or(seconds);
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
        Some(waiter) => interrupted_unless(slept(waiter, time).is_zero()),
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
            let left = slept(waiter, syscall::duration_of(wanted.tv_sec, wanted.tv_nsec));
            if !left.is_zero() && !remaining.is_null() {
                // SAFETY: not null, so valid.
                unsafe { *remaining = syscall::timespec_of(left) };
            }
            interrupted_unless(left.is_zero())
        }
        // SAFETY: the caller's own promise.
        None => unsafe { libc::syscall(libc::SYS_nanosleep, time, remaining) as c_int },
    }
}

/// Sleeps for an interval or until a time; `time_sleep_until()` and other functions of PHP may use the latter.
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
        return if failed { syscall::errno() } else { 0 };
    };
    // SAFETY: valid, says clock_nanosleep(2).
    let wanted = unsafe { *time };
    let mut span = syscall::duration_of(wanted.tv_sec, wanted.tv_nsec);
    if flags & libc::TIMER_ABSTIME != 0 {
        let mut now = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: room for one timespec.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        span = span.saturating_sub(syscall::duration_of(now.tv_sec, now.tv_nsec));
    }
    if waiter.sleep(span) { 0 } else { libc::EINTR }
}

fn interrupted_unless(slept: bool) -> c_int {
    if slept {
        return 0;
    }
    syscall::set_errno(libc::EINTR);
    -1
}
