//! Hooks of recv and send. They try the call without blocking first. See messages.rs for recvmsg, sendmsg and MSG_WAITALL.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use libc::{c_int, c_void, iovec, size_t, sockaddr, socklen_t, ssize_t};

use crate::early_end::unless_ended;
use crate::{Interest, Waiter, installed, messages, owners, syscall, wait_ready, waiter};

/// How long one call may wait, from its first wait on: SO_RCVTIMEO or SO_SNDTIMEO.
pub(crate) struct Limit {
    pub(crate) interest: Interest,
    end: OnceCell<Option<Instant>>,
}

impl Limit {
    pub(crate) fn new(interest: Interest) -> Self {
        Self {
            interest,
            end: OnceCell::new(),
        }
    }

    /// Returns the time that is left; `None` is no limit.
    pub(crate) fn left(&self, fd: c_int) -> Option<Duration> {
        let option = match self.interest {
            Interest::Read => libc::SO_RCVTIMEO,
            Interest::Write => libc::SO_SNDTIMEO,
        };
        let of_socket = || Instant::now().checked_add(syscall::socket_timeout(fd, option)?);
        let end = *self.end.get_or_init(of_socket);
        end.map(|end| end.saturating_duration_since(Instant::now()))
    }
}

/// Tries `call` with MSG_DONTWAIT. While a blocking descriptor gives EAGAIN, waits and tries again.
pub(crate) fn retry(
    waiter: Option<&dyn Waiter>,
    (fd, flags): (c_int, c_int),
    limit: &Limit,
    mut call: impl FnMut(c_int) -> ssize_t,
) -> ssize_t {
    let interest = limit.interest;
    let refused = match interest {
        Interest::Read => owners::refuses_receive(fd),
        Interest::Write => owners::refuses(fd),
    };
    if refused {
        return unless_ended(fd, -1);
    }
    let Some(waiter) = waiter.filter(|_| flags & libc::MSG_DONTWAIT == 0) else {
        return unless_ended(fd, call(flags));
    };
    let error = syscall::errno();
    loop {
        let result = call(flags | libc::MSG_DONTWAIT);
        if result >= 0 {
            // A call that succeeds leaves it alone, and `socket_read()` of a line looks at it.
            syscall::set_errno(error);
        }
        if result >= 0 || syscall::errno() != libc::EAGAIN || syscall::is_nonblocking(fd) {
            return unless_ended(fd, result);
        }
        if !wait_ready(waiter, fd, interest, limit.left(fd)) {
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

/// Whether an error waits on the socket. A blocking call that has transferred something leaves it to the next one.
pub(crate) fn has_error(fd: c_int) -> bool {
    let mut entry = [libc::pollfd {
        fd,
        events: 0,
        revents: 0,
    }];
    syscall::poll_now(&mut entry);
    entry[0].revents & libc::POLLERR != 0
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
    if let Some(waiter) = waiter
        && messages::waits_for_all(fd, flags)
    {
        // SAFETY: the caller's own promise.
        return unsafe { receive_all(waiter, (fd, flags), (buffer, length), (from, from_length)) };
    }
    let limit = Limit::new(Interest::Read);
    let received = retry(waiter, (fd, flags), &limit, |flags| {
        // SAFETY: the caller's own promise.
        syscall::size(unsafe {
            libc::syscall(
                libc::SYS_recvfrom,
                fd,
                buffer,
                length,
                flags,
                from,
                from_length,
            )
        })
    });
    self::received(fd, flags, received);
    if let Some(waiter) = waiter
        && received > 0
    {
        note_filling(waiter, (fd, flags), received.unsigned_abs() < length);
    }
    received
}

/// Receives with MSG_WAITALL, as recvfrom(2).
///
/// # Safety
/// As recvfrom(2).
unsafe fn receive_all(
    waiter: &dyn Waiter,
    call: (c_int, c_int),
    (buffer, length): (*mut c_void, size_t),
    (from, from_length): (*mut sockaddr, *mut socklen_t),
) -> ssize_t {
    let mut vector = iovec {
        iov_base: buffer,
        iov_len: length,
    };
    let mut message = messages::EMPTY;
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_name = from.cast();
    // SAFETY: null or valid, says recvfrom(2).
    if let Some(room) = unsafe { from_length.as_ref() } {
        message.msg_namelen = *room;
    }
    // SAFETY: the message refers to the caller's buffers, which are valid by its own promise.
    let received = unsafe { messages::receive_all(waiter, call, &mut message) };
    // SAFETY: as before.
    if let Some(room) = unsafe { from_length.as_mut() }
        && received >= 0
        && !from.is_null()
    {
        *room = message.msg_namelen;
    }
    received
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
    let limit = Limit::new(Interest::Write);
    let mut done: usize = 0;
    loop {
        let sent = retry(waiter, (fd, flags), &limit, |flags| {
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
            || has_error(fd)
        {
            return done.cast_signed();
        }
    }
}
