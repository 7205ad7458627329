//! Hook of pthread_join. libcurl waits there for its resolver's thread when a transfer ends before the name server has answered.

use std::time::{Duration, SystemTime};

use libc::{c_int, c_void, pthread_t, timespec};

use crate::{WaitMode, Waiter, syscall, waiter};

/// How long the call blocks before the task is suspended. A thread that is about to end needs less.
const ABOUT_TO_END: Duration = Duration::from_millis(1);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// The number of waits that may be ended early. The call blocks after them.
const EARLY_ENDS: usize = 3;

type Join = unsafe extern "C" fn(pthread_t, *mut *mut c_void) -> c_int;
type TimedJoin = unsafe extern "C" fn(pthread_t, *mut *mut c_void, *const timespec) -> c_int;

/// # Safety
/// As pthread_join(3).
unsafe fn real_join(thread: pthread_t, value: *mut *mut c_void) -> c_int {
    // SAFETY: the type of pthread_join(3).
    let real: Join = unsafe { syscall::next(c"pthread_join") };
    // SAFETY: the caller's own promise.
    unsafe { real(thread, value) }
}

/// Joins the thread if it ends within `limit`; else ETIMEDOUT, and it is not joined.
///
/// # Safety
/// As pthread_join(3).
unsafe fn join_within(limit: Duration, thread: pthread_t, value: *mut *mut c_void) -> c_int {
    // SAFETY: the type of pthread_timedjoin_np(3).
    let real: TimedJoin = unsafe { syscall::next(c"pthread_timedjoin_np") };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let until = syscall::timespec_of(now.unwrap_or_default() + limit);
    // SAFETY: the caller's own promise; the time lives during the call.
    unsafe { real(thread, value, &raw const until) }
}

/// Tries again and again, with a pause of the task between. A caller frees the memory of a thread that it has joined, so the call
/// never returns before: it blocks if the wait is ended early too often.
///
/// # Safety
/// As pthread_join(3).
unsafe fn join_in_task(waiter: &dyn Waiter, thread: pthread_t, value: *mut *mut c_void) -> c_int {
    let mut limit = ABOUT_TO_END;
    let mut pause = Duration::from_millis(1);
    let mut early_ends = 0;
    while early_ends < EARLY_ENDS {
        // SAFETY: the caller's own promise.
        let result = unsafe { join_within(limit, thread, value) };
        if result != libc::ETIMEDOUT {
            return result;
        }
        early_ends += usize::from(!waiter.sleep(pause));
        limit = Duration::ZERO;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    // SAFETY: the caller's own promise; the thread is not joined yet.
    unsafe { real_join(thread, value) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int {
    // Where the task must not be suspended, attempts would only make the call longer.
    let suspends = waiter().filter(|waiter| waiter.mode() == WaitMode::Suspends);
    let error = syscall::errno();
    let result = match suspends {
        // SAFETY: the caller's own promise.
        Some(waiter) => unsafe { join_in_task(waiter, thread, value) },
        // SAFETY: the caller's own promise.
        None => unsafe { real_join(thread, value) },
    };
    syscall::set_errno(error);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::early;

    extern "C" fn twice(number: *mut c_void) -> *mut c_void {
        std::thread::sleep(Duration::from_millis(20));
        std::ptr::without_provenance_mut(number.addr() * 2)
    }

    #[test]
    fn a_join_whose_waits_end_early_still_returns_the_value_of_the_thread() {
        let mut thread: pthread_t = 0;
        let mut value = std::ptr::null_mut();
        let number = std::ptr::without_provenance_mut(21);
        // SAFETY: room for a thread; no attributes.
        let made =
            unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), twice, number) };
        // SAFETY: a thread of this test, joined once, and room for a pointer.
        let joined = early(|| unsafe { libc::pthread_join(thread, &raw mut value) });
        assert_eq!((made, joined, value.addr()), (0, 0, 42));
    }

    #[test]
    fn a_thread_that_joins_itself_gets_an_error() {
        let value = std::ptr::null_mut();
        // SAFETY: pthread_self only returns a number.
        let own = unsafe { libc::pthread_self() };
        // SAFETY: the call refuses to join the thread that makes it.
        let joined = early(|| unsafe { libc::pthread_join(own, value) });
        assert_eq!(joined, libc::EDEADLK);
    }
}
