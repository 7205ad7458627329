//! Hooks of recv, send and their relatives, connect and accept. They try the call without blocking first.

use libc::{c_int, c_long, c_void, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use crate::{Interest, Waiter, installed, owners, syscall, wait_ready, waiter};

/// Tries `call` with MSG_DONTWAIT. While a blocking descriptor gives EAGAIN, waits and tries again.
fn retry(
    waiter: Option<&dyn Waiter>,
    (fd, flags): (c_int, c_int),
    interest: Interest,
    call: impl Fn(c_int) -> ssize_t,
) -> ssize_t {
    if owners::refuses(fd) {
        // To a PHP stream, any other error of a receive is the end of the stream, for the task that waits on it, too.
        if interest == Interest::Read && syscall::errno() == libc::EBUSY {
            syscall::set_errno(libc::EAGAIN);
        }
        return -1;
    }
    let Some(waiter) = waiter.filter(|_| flags & libc::MSG_DONTWAIT == 0) else {
        return call(flags);
    };
    loop {
        let result = call(flags | libc::MSG_DONTWAIT);
        if result >= 0 || syscall::errno() != libc::EAGAIN || syscall::is_nonblocking(fd) {
            return result;
        }
        let option = if interest == Interest::Read {
            libc::SO_RCVTIMEO
        } else {
            libc::SO_SNDTIMEO
        };
        if !wait_ready(waiter, fd, interest, syscall::socket_timeout(fd, option)) {
            return -1;
        }
    }
}

/// Notes that something was received, unless with MSG_PEEK.
pub(crate) fn received(fd: c_int, flags: c_int, length: ssize_t) {
    if length > 0 && flags & libc::MSG_PEEK == 0 {
        owners::received(fd);
    }
}

/// Notes whether more is there after a receive with these flags got something, or less than it asked for. The urgent byte and the error
/// queue (MSG_OOB, MSG_ERRQUEUE) say nothing about what else is there.
fn note_filling(waiter: &dyn Waiter, (fd, flags): (c_int, c_int), is_short: bool) {
    if flags & libc::MSG_PEEK != 0 {
        waiter.refilled(fd);
    } else if is_short && flags & (libc::MSG_OOB | libc::MSG_ERRQUEUE) == 0 {
        waiter.drained(fd);
    }
}

/// Notes that the running task, if any, has sent something.
pub(crate) fn sent(fd: c_int, length: ssize_t) {
    if length > 0
        && let Some(waiter) = installed()
    {
        match waiter.task() {
            0 => {}
            task => owners::sent(fd, task),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, buffer: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the caller's own promise.
    unsafe {
        recvfrom(
            fd,
            buffer,
            length,
            flags,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    _size: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's own promise.
    unsafe { recv(fd, buffer, length, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
) -> ssize_t {
    let waiter = waiter();
    let waits_for_all = flags & libc::MSG_WAITALL != 0 && waiter.is_some();
    let once = |offset: usize, flags: c_int| {
        retry(waiter, (fd, flags), Interest::Read, |flags| {
            let (to, room) = (buffer.cast::<u8>().wrapping_add(offset), length - offset);
            // SAFETY: the caller's own promise; offset <= length.
            syscall::size(unsafe {
                libc::syscall(libc::SYS_recvfrom, fd, to, room, flags, from, from_length)
            })
        })
    };
    if !waits_for_all {
        let received = once(0, flags);
        self::received(fd, flags, received);
        if let Some(waiter) = waiter
            && received > 0
        {
            note_filling(waiter, (fd, flags), received.unsigned_abs() < length);
        }
        return received;
    }
    receive_all(length, |offset| {
        let n = once(offset, flags & !libc::MSG_WAITALL);
        if n > 0 {
            received(fd, flags, n);
        }
        n
    })
}

/// Calls `once` with the bytes received so far until `length` bytes, the end of the stream or an error.
fn receive_all(length: usize, once: impl Fn(usize) -> ssize_t) -> ssize_t {
    let mut done: usize = 0;
    while done < length {
        match once(done) {
            n if n > 0 => done += n.unsigned_abs(),
            n if done == 0 => return n,
            _ => break,
        }
    }
    done.cast_signed()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    _size: size_t,
    flags: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the caller's own promise.
    unsafe { recvfrom(fd, buffer, length, flags, from, from_length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let length = retry(waiter(), (fd, flags), Interest::Read, |flags| {
        // SAFETY: the caller's own promise.
        syscall::size(unsafe { libc::syscall(libc::SYS_recvmsg, fd, message, flags) })
    });
    received(fd, flags, length);
    length
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn send(
    fd: c_int,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller's own promise.
    unsafe { sendto(fd, buffer, length, flags, std::ptr::null(), 0) }
}

/// A blocking send takes all bytes; one with MSG_DONTWAIT may take a part, so this loops until all are taken.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_length: socklen_t,
) -> ssize_t {
    let waiter = waiter();
    let mut done: usize = 0;
    loop {
        let sent = retry(waiter, (fd, flags), Interest::Write, |flags| {
            let from = buffer.cast::<u8>().wrapping_add(done);
            // SAFETY: the caller's own promise; done <= length.
            syscall::size(unsafe {
                libc::syscall(
                    libc::SYS_sendto,
                    fd,
                    from,
                    length - done,
                    flags,
                    to,
                    to_length,
                )
            })
        });
        if sent < 0 {
            return if done > 0 { done.cast_signed() } else { sent };
        }
        self::sent(fd, sent);
        done += sent.unsigned_abs();
        if done >= length
            || sent == 0
            || flags & libc::MSG_DONTWAIT != 0
            || waiter.is_none()
            || syscall::is_nonblocking(fd)
        {
            return done.cast_signed();
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let length = retry(waiter(), (fd, flags), Interest::Write, |flags| {
        // SAFETY: the caller's own promise.
        syscall::size(unsafe { libc::syscall(libc::SYS_sendmsg, fd, message, flags) })
    });
    sent(fd, length);
    length
}

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

fn socket_error(fd: c_int) -> c_int {
    let mut error: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    // SAFETY: room for one int.
    unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &raw mut length,
        )
    };
    error
}

#[unsafe(no_mangle)]
unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    if owners::refuses(fd) {
        return -1;
    }
    let Some(waiter) = waiter().filter(|_| !syscall::is_nonblocking(fd)) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_connect(fd, address, length) };
    };
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
            libc::EAGAIN if waiter.sleep(std::time::Duration::from_millis(2)) => {}
            libc::EAGAIN => {
                syscall::set_errno(libc::EINTR);
                return -1;
            }
            libc::EINPROGRESS => return connected(waiter, fd),
            _ => return -1,
        }
    }
}

/// Waits until a connection that has begun is established or has failed.
fn connected(waiter: &dyn Waiter, fd: c_int) -> c_int {
    let timeout = syscall::socket_timeout(fd, libc::SO_SNDTIMEO);
    if !wait_ready(waiter, fd, Interest::Write, timeout) {
        return -1;
    }
    let error = socket_error(fd);
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
