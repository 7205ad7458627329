//! Hooks of epoll_wait and epoll_pwait. A task waits for the epoll descriptor itself, which poll(2) reports as readable when one of
//! its descriptors is ready.

use std::time::{Duration, Instant};

use libc::{c_int, epoll_event, sigset_t};

use crate::poll::milliseconds;
use crate::{Waiter, installed, syscall, waiter};

/// # Safety
/// As epoll_pwait(2).
unsafe fn real(
    epoll: c_int,
    (events, count): (*mut epoll_event, c_int),
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    let size = 8 as libc::c_long;
    // SAFETY: the caller's own promise; the kernel's signal set has this size.
    unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait,
            epoll,
            events,
            count,
            timeout,
            mask,
            size,
        ) as c_int
    }
}

/// # Safety
/// As epoll_wait(2).
unsafe fn wait_in_task(
    waiter: &dyn Waiter,
    epoll: c_int,
    room: (*mut epoll_event, c_int),
    timeout: c_int,
) -> c_int {
    let time = milliseconds(timeout);
    let end = time.and_then(|time| Instant::now().checked_add(time));
    loop {
        // SAFETY: the caller's own promise.
        let ready = unsafe { real(epoll, room, 0, std::ptr::null()) };
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if ready != 0 || left == Some(Duration::ZERO) {
            return ready;
        }
        let mut entry = [libc::pollfd {
            fd: epoll,
            events: libc::POLLIN,
            revents: 0,
        }];
        if syscall::poll_now(&mut entry) == 0 && waiter.poll(&mut entry, left) < 0 {
            return -1;
        }
    }
}

/// The reactor waits here when no task can run. A signal ends PHP's sleep() and stream_select(), so it is reported to them.
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
) -> c_int {
    if timeout != 0
        && let Some(waiter) = waiter()
    {
        // SAFETY: the caller's own promise.
        return unsafe { wait_in_task(waiter, epoll, (events, count), timeout) };
    }
    // SAFETY: the caller's own promise.
    let ready = unsafe { real(epoll, (events, count), timeout, std::ptr::null()) };
    if ready < 0
        && syscall::errno() == libc::EINTR
        && let Some(waiter) = installed()
    {
        waiter.interrupted();
        syscall::set_errno(libc::EINTR);
    }
    ready
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    match waiter().filter(|_| timeout != 0 && mask.is_null()) {
        // SAFETY: the caller's own promise.
        Some(waiter) => unsafe { wait_in_task(waiter, epoll, (events, count), timeout) },
        // SAFETY: the caller's own promise.
        None => unsafe { real(epoll, (events, count), timeout, mask) },
    }
}
