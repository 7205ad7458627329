//! Hooks of connect and accept.

use std::time::Duration;

use libc::{c_int, c_long, sockaddr, socklen_t};

use crate::sockets::Limit;
use crate::{Interest, Waiter, held, owners, syscall, wait_ready, waiter};

/// The interval of attempts to connect to a Unix socket whose queue is full.
const NEXT_ATTEMPT: Duration = Duration::from_millis(2);

/// # Safety
/// As connect(2).
unsafe fn real_connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { libc::syscall(libc::SYS_connect, fd, address, length) as c_int }
}

fn set_nonblocking(fd: c_int, on: bool) {
    // SAFETY: F_GETFL touches no memory of ours.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    let flags = if on {
        flags | libc::O_NONBLOCK
    } else {
        flags & !libc::O_NONBLOCK
    };
    // SAFETY: nor does F_SETFL.
    unsafe { libc::fcntl(fd, libc::F_SETFL, flags) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    if owners::refuses(fd) {
        return -1;
    }
    held::connected(fd);
    let Some(waiter) = waiter().filter(|_| !syscall::is_nonblocking(fd)) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_connect(fd, address, length) };
    };
    let limit = Limit::new(Interest::Write);
    loop {
        set_nonblocking(fd, true);
        // SAFETY: the caller's own promise.
        let result = unsafe { real_connect(fd, address, length) };
        let error = syscall::errno();
        set_nonblocking(fd, false);
        if result == 0 {
            return 0;
        }
        syscall::set_errno(error);
        match error {
            // A Unix socket whose queue is full gives EAGAIN and cannot be waited for, so the call is tried again soon.
            libc::EAGAIN => match limit.left(fd) {
                Some(Duration::ZERO) => return -1,
                left => {
                    if !waiter.sleep(left.unwrap_or(NEXT_ATTEMPT).min(NEXT_ATTEMPT)) {
                        syscall::set_errno(libc::EINTR);
                        return -1;
                    }
                }
            },
            // The connection has begun: now, or by an earlier call whose time was over.
            libc::EINPROGRESS | libc::EALREADY => return connected(waiter, fd, &limit, error),
            _ => return -1,
        }
    }
}

/// Waits until a connection that has begun is established or has failed. When the time is over, `errno` is `begun`.
fn connected(waiter: &dyn Waiter, fd: c_int, limit: &Limit, begun: c_int) -> c_int {
    if !wait_ready(waiter, fd, Interest::Write, limit.left(fd)) {
        if syscall::errno() == libc::EAGAIN {
            syscall::set_errno(begun);
        }
        return -1;
    }
    let error = syscall::socket_option(fd, libc::SO_ERROR).unwrap_or(0);
    syscall::set_errno(error);
    if error == 0 { 0 } else { -1 }
}

fn accept_waiting(fd: c_int, call: impl Fn() -> c_long) -> c_int {
    if owners::refuses(fd) {
        return -1;
    }
    if let Some(waiter) = waiter().filter(|_| !syscall::is_nonblocking(fd))
        && !wait_ready(
            waiter,
            fd,
            Interest::Read,
            syscall::socket_timeout(fd, libc::SO_RCVTIMEO),
        )
    {
        return -1;
    }
    call() as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's own promise.
    accept_waiting(fd, || unsafe {
        libc::syscall(libc::SYS_accept4, fd, address, length, 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's own promise.
    accept_waiting(fd, || unsafe {
        libc::syscall(libc::SYS_accept4, fd, address, length, flags)
    })
}
