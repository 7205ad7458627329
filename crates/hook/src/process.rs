//! Hooks of waitpid, which waits by a pidfd, and of fork.

use libc::{c_int, c_long, pid_t};

use crate::{Interest, Waiter, inherit, installed, syscall, wait_ready, waiter};

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

/// Lets another thread wait until a child has changed state, without consuming the state, and then calls waitpid(2) here.
///
/// # Safety
/// As waitpid(2).
unsafe fn waitpid_by_thread(
    waiter: &dyn Waiter,
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
) -> pid_t {
    let mut events = libc::WNOWAIT | libc::WEXITED;
    if options & libc::WUNTRACED != 0 {
        events |= libc::WSTOPPED;
    }
    if options & libc::WCONTINUED != 0 {
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
            unsafe { libc::waitid(kind, id.cast_unsigned(), info.as_mut_ptr(), events) };
        }));
        if !finished {
            syscall::set_errno(libc::EINTR);
            return -1;
        }
        // SAFETY: the caller's own promise.
        let done = unsafe { real_waitpid(pid, status, options | libc::WNOHANG) };
        if done != 0 {
            return done;
        }
    }
}

/// Called by pcntl_fork(). The tasks and the reactor belong to the parent only.
#[unsafe(no_mangle)]
extern "C" fn fork() -> pid_t {
    // SAFETY: the type of fork(2); as unsafe as PHP's own call of it.
    let pid = unsafe { syscall::next::<extern "C" fn() -> pid_t>(c"fork")() };
    if pid == 0 {
        inherit::forked();
        if let Some(waiter) = installed() {
            waiter.forked();
        }
    }
    pid
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    let Some(waiter) = waiter().filter(|_| options & libc::WNOHANG == 0) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_waitpid(pid, status, options) };
    };
    // SAFETY: the caller's own promise.
    let done = unsafe { real_waitpid(pid, status, options | libc::WNOHANG) };
    if done != 0 {
        return done;
    }
    // A pidfd refers to one child, and is ready only when that has ended.
    if pid <= 0 || options & (libc::WUNTRACED | libc::WCONTINUED) != 0 {
        // SAFETY: the caller's own promise.
        return unsafe { waitpid_by_thread(waiter, pid, status, options) };
    }
    // SAFETY: pidfd_open touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0 as c_long) as c_int };
    if fd < 0 {
        // SAFETY: the caller's own promise.
        return unsafe { waitpid_by_thread(waiter, pid, status, options) };
    }
    let ended = wait_ready(waiter, fd, Interest::Read, None);
    let error = syscall::errno();
    waiter.closing(fd);
    // SAFETY: opened above.
    unsafe { libc::syscall(libc::SYS_close, fd) };
    if !ended {
        syscall::set_errno(error);
        return -1;
    }
    // SAFETY: the caller's own promise.
    unsafe { real_waitpid(pid, status, options) }
}
