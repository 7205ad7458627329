//! waitpid: waits for a child by its descriptor.

use libc::{c_int, c_long, pid_t};

use crate::{Interest, real, wait_ready, waiter};

/// # Safety
/// As waitpid(2).
unsafe fn real_waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the caller's own promise; no resource usage is asked for.
    unsafe {
        libc::syscall(
            libc::SYS_wait4,
            pid,
            status,
            options,
            std::ptr::null_mut::<libc::rusage>(),
        ) as pid_t
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    let Some(waiter) = waiter().filter(|_| pid > 0 && options & libc::WNOHANG == 0) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_waitpid(pid, status, options) };
    };
    // SAFETY: the caller's own promise.
    let done = unsafe { real_waitpid(pid, status, options | libc::WNOHANG) };
    if done != 0 {
        return done;
    }
    // SAFETY: pidfd_open touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0 as c_long) as c_int };
    if fd < 0 {
        // SAFETY: the caller's own promise.
        return unsafe { real_waitpid(pid, status, options) };
    }
    let ended = wait_ready(waiter, fd, Interest::Read, None);
    let error = real::errno();
    waiter.closing(fd);
    // SAFETY: opened above.
    unsafe { libc::syscall(libc::SYS_close, fd) };
    if !ended {
        real::set_errno(error);
        return -1;
    }
    // SAFETY: the caller's own promise.
    unsafe { real_waitpid(pid, status, options) }
}
