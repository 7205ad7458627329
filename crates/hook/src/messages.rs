//! Hooks of recvmsg and sendmsg, and MSG_WAITALL. A blocking call transfers all; one with MSG_DONTWAIT may transfer a part, so these go
//! on until all is transferred, or to where the kernel's call would end.

use std::time::Duration;

use libc::{c_int, iovec, msghdr, ssize_t};

use crate::sockets::{Limit, has_error, received, retry, sent};
use crate::{Interest, Waiter, syscall, waiter};

/// The interval of checks of a receive with MSG_PEEK: what is there already keeps poll(2) from telling when more comes.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// A message without buffers.
pub(crate) const EMPTY: msghdr = msghdr {
    msg_name: std::ptr::null_mut(),
    msg_namelen: 0,
    msg_iov: std::ptr::null_mut(),
    msg_iovlen: 0,
    msg_control: std::ptr::null_mut(),
    msg_controllen: 0,
    msg_flags: 0,
};

/// The buffers of a message that are not filled or sent yet.
struct Rest(Vec<iovec>);

impl Rest {
    /// # Safety
    /// As recvmsg(2): the message has as many buffers as it says.
    unsafe fn of(message: &msghdr) -> Rest {
        if message.msg_iov.is_null() {
            return Rest(Vec::new());
        }
        // SAFETY: not null, and the caller's own promise.
        Rest(unsafe { std::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) }.to_vec())
    }

    fn length(&self) -> usize {
        self.0.iter().map(|vector| vector.iov_len).sum()
    }

    /// Leaves out the first `count` bytes.
    fn skip(&mut self, mut count: usize) {
        for vector in &mut self.0 {
            let here = count.min(vector.iov_len);
            vector.iov_base = vector.iov_base.cast::<u8>().wrapping_add(here).cast();
            vector.iov_len -= here;
            count -= here;
        }
        self.0.retain(|vector| vector.iov_len > 0);
    }
}

/// Whether a receive waits until its buffers are full. The flag concerns streams only, and neither the urgent byte nor the error queue.
pub(crate) fn waits_for_all(fd: c_int, flags: c_int) -> bool {
    let others = libc::MSG_DONTWAIT | libc::MSG_OOB | libc::MSG_ERRQUEUE;
    flags & libc::MSG_WAITALL != 0
        && flags & others == 0
        && syscall::socket_option(fd, libc::SO_TYPE) == Some(libc::SOCK_STREAM)
}

/// Whether the kernel ends a receive here although its buffers have room: behind a passed descriptor, and at the urgent mark.
fn ends_here(fd: c_int, message: &msghdr) -> bool {
    let has_passed = message.msg_controllen > 0 || message.msg_flags & libc::MSG_CTRUNC != 0;
    let mut is_at_mark: c_int = 0;
    // SAFETY: room for one int.
    unsafe { libc::ioctl(fd, SIOCATMARK, &raw mut is_at_mark) };
    is_at_mark > 0
        || (has_passed && syscall::socket_option(fd, libc::SO_PASSCRED) != Some(1))
        || has_error(fd)
}

/// From <asm-generic/sockios.h>.
const SIOCATMARK: libc::Ioctl = 0x8905;

/// # Safety
/// As recvmsg(2).
unsafe fn receive(
    waiter: Option<&dyn Waiter>,
    (fd, flags): (c_int, c_int),
    limit: &Limit,
    message: *mut msghdr,
) -> ssize_t {
    let length = retry(waiter, (fd, flags), limit, |flags| {
        // SAFETY: the caller's own promise.
        syscall::size(unsafe { libc::syscall(libc::SYS_recvmsg, fd, message, flags) })
    });
    received(fd, flags, length);
    length
}

/// Receives until the buffers are full, or to where the kernel's call with MSG_WAITALL ends.
///
/// # Safety
/// As recvmsg(2).
pub(crate) unsafe fn receive_all(
    waiter: &dyn Waiter,
    (fd, flags): (c_int, c_int),
    message: &mut msghdr,
) -> ssize_t {
    let call = (fd, flags & !libc::MSG_WAITALL);
    let limit = Limit::new(Interest::Read);
    // SAFETY: the caller's own promise.
    let mut rest = unsafe { Rest::of(message) };
    if flags & libc::MSG_PEEK != 0 {
        // SAFETY: the caller's own promise.
        return unsafe { peek_all(waiter, call, &limit, (message, rest.length())) };
    }
    let (wanted, whole) = (rest.length(), *message);
    let mut done: usize = 0;
    loop {
        let mut part = whole;
        (part.msg_iov, part.msg_iovlen) = (rest.0.as_mut_ptr(), rest.0.len());
        // SAFETY: the vectors are the caller's, without what is filled.
        let length = unsafe { receive(Some(waiter), call, &limit, &raw mut part) };
        if length < 0 || (length == 0 && done > 0) {
            return if done > 0 { done.cast_signed() } else { length };
        }
        (part.msg_iov, part.msg_iovlen) = (whole.msg_iov, whole.msg_iovlen);
        *message = part;
        done += length.unsigned_abs();
        if length == 0 || done >= wanted || ends_here(fd, &part) {
            return done.cast_signed();
        }
        rest.skip(length.unsigned_abs());
    }
}

/// Receives with MSG_PEEK. TCP waits for as much as was asked for, a Unix socket does not.
///
/// # Safety
/// As recvmsg(2).
unsafe fn peek_all(
    waiter: &dyn Waiter,
    call: (c_int, c_int),
    limit: &Limit,
    (message, wanted): (&mut msghdr, usize),
) -> ssize_t {
    let fd = call.0;
    let whole = *message;
    loop {
        *message = whole;
        // SAFETY: the caller's own promise.
        let length = unsafe { receive(Some(waiter), call, limit, message) };
        let is_part = length > 0 && length.unsigned_abs() < wanted;
        if !is_part
            || !syscall::is_tcp(fd)
            || syscall::is_nonblocking(fd)
            || has_ended(fd)
            || limit.left(fd) == Some(Duration::ZERO)
            || !waiter.sleep(CHECK_INTERVAL)
        {
            return length;
        }
    }
}

/// Whether nothing more comes: the other end has closed, or an error waits.
fn has_ended(fd: c_int) -> bool {
    let mut entry = [libc::pollfd {
        fd,
        events: libc::POLLRDHUP,
        revents: 0,
    }];
    syscall::poll_now(&mut entry) > 0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let waiter = waiter();
    if let Some(waiter) = waiter
        && waits_for_all(fd, flags)
        // SAFETY: null or valid, says recvmsg(2).
        && let Some(message) = unsafe { message.as_mut() }
    {
        // SAFETY: the caller's own promise.
        return unsafe { receive_all(waiter, (fd, flags), message) };
    }
    // SAFETY: the caller's own promise.
    unsafe { receive(waiter, (fd, flags), &Limit::new(Interest::Read), message) }
}

/// # Safety
/// As sendmsg(2).
unsafe fn send_once(
    waiter: Option<&dyn Waiter>,
    (fd, flags): (c_int, c_int),
    limit: &Limit,
    message: *const msghdr,
) -> ssize_t {
    let length = retry(waiter, (fd, flags), limit, |flags| {
        // SAFETY: the caller's own promise.
        syscall::size(unsafe { libc::syscall(libc::SYS_sendmsg, fd, message, flags) })
    });
    sent(fd, length);
    length
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    let limit = Limit::new(Interest::Write);
    let waiter = waiter();
    // SAFETY: the caller's own promise.
    let first = unsafe { send_once(waiter, (fd, flags), &limit, message) };
    if first <= 0 || waiter.is_none() || flags & libc::MSG_DONTWAIT != 0 {
        return first;
    }
    // SAFETY: a message of which something was sent.
    let mut part = unsafe { *message };
    // SAFETY: the caller's own promise.
    let mut rest = unsafe { Rest::of(&part) };
    let (wanted, mut done) = (rest.length(), first.unsigned_abs());
    // Descriptors go with the first part.
    (part.msg_control, part.msg_controllen) = (std::ptr::null_mut(), 0);
    let mut length = first;
    while done < wanted && !syscall::is_nonblocking(fd) && !has_error(fd) {
        rest.skip(length.unsigned_abs());
        (part.msg_iov, part.msg_iovlen) = (rest.0.as_mut_ptr(), rest.0.len());
        // SAFETY: the vectors are the caller's, without what is sent.
        length = unsafe { send_once(waiter, (fd, flags), &limit, &raw const part) };
        if length <= 0 {
            break;
        }
        done += length.unsigned_abs();
    }
    done.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(bytes: &mut [u8]) -> iovec {
        iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        }
    }

    #[test]
    fn what_is_transferred_is_left_out_across_buffers() {
        let (mut one, mut two) = ([0; 3], [0; 5]);
        let mut rest = Rest(vec![vector(&mut one), vector(&mut []), vector(&mut two)]);
        rest.skip(2);
        assert_eq!((rest.length(), rest.0.len()), (6, 2));
        rest.skip(4);
        assert_eq!((rest.length(), rest.0.len()), (2, 1));
        let end = two.as_ptr_range().end;
        assert_eq!(rest.0[0].iov_base.cast_const(), end.wrapping_sub(2).cast());
        rest.skip(2);
        assert_eq!(rest.length(), 0);
    }
}
