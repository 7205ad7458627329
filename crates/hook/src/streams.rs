//! Hooks of read, write and their relatives, for descriptors other than regular files.

use libc::{c_int, c_void, iovec, size_t, ssize_t};

use crate::early_end::unless_ended;
use crate::messages::{EMPTY, sendmsg};
use crate::sockets::{received, send, sent};
use crate::{Interest, owners, syscall, wait_ready, waiter};

/// Waits until a read or a write on `fd` would not block, unless it is a regular file.
fn ready_first(fd: c_int, interest: Interest) -> bool {
    let refused = match interest {
        Interest::Read => owners::refuses_receive(fd),
        Interest::Write => owners::refuses(fd),
    };
    if refused {
        return false;
    }
    let Some(waiter) = waiter() else { return true };
    if syscall::kind(fd) == syscall::Kind::File || syscall::is_nonblocking(fd) {
        return true;
    }
    let timeout = if syscall::kind(fd) == syscall::Kind::Socket {
        syscall::socket_timeout(
            fd,
            if interest == Interest::Read {
                libc::SO_RCVTIMEO
            } else {
                libc::SO_SNDTIMEO
            },
        )
    } else {
        None
    };
    wait_ready(waiter, fd, interest, timeout)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, length: size_t) -> ssize_t {
    if !ready_first(fd, Interest::Read) {
        return unless_ended(fd, -1);
    }
    // SAFETY: the caller's own promise.
    let length = syscall::size(unsafe { libc::syscall(libc::SYS_read, fd, buffer, length) });
    received(fd, 0, length);
    unless_ended(fd, length)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    _size: size_t,
) -> ssize_t {
    // SAFETY: the caller's own promise.
    unsafe { read(fd, buffer, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    if !ready_first(fd, Interest::Read) {
        return unless_ended(fd, -1);
    }
    // SAFETY: the caller's own promise.
    let length = syscall::size(unsafe { libc::syscall(libc::SYS_readv, fd, vectors, count) });
    received(fd, 0, length);
    unless_ended(fd, length)
}

/// The most vectors of one call (IOV_MAX).
const MOST_VECTORS: usize = 1024;

/// Bytes that a writable pipe takes at least without blocking (PIPE_BUF).
const PIECE: usize = 4096;

/// Returns how many bytes a writable pipe takes for sure. An empty pipe takes half of its capacity, even when another
/// process writes to it meanwhile; and the reader gets them in one piece, as without the hook.
fn piece(fd: c_int) -> usize {
    let mut queued: c_int = 0;
    // SAFETY: it asks for a number only.
    let holds = unsafe { libc::fcntl(fd, libc::F_GETPIPE_SZ) };
    // SAFETY: room for one int.
    let status = unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut queued) };
    match usize::try_from(holds) {
        Ok(holds) if status == 0 && queued == 0 => PIECE.max(holds / 2),
        _ => PIECE,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, length: size_t) -> ssize_t {
    let real_write = |from: usize, n: usize| {
        let from = buffer.cast::<u8>().wrapping_add(from);
        // SAFETY: the caller's own promise; `from + n` stays within `length`.
        syscall::size(unsafe { libc::syscall(libc::SYS_write, fd, from, n) })
    };
    if owners::refuses(fd) {
        return unless_ended(fd, -1);
    }
    if waiter().is_none() || syscall::kind(fd) == syscall::Kind::File || syscall::is_nonblocking(fd)
    {
        let wrote = real_write(0, length);
        sent(fd, wrote);
        return unless_ended(fd, wrote);
    }
    if syscall::kind(fd) == syscall::Kind::Socket {
        // SAFETY: the caller's own promise. send(2) without flags is write(2).
        return unsafe { send(fd, buffer, length, 0) };
    }
    let mut done: usize = 0;
    loop {
        if !ready_first(fd, Interest::Write) {
            return if done > 0 { done.cast_signed() } else { -1 };
        }
        let left = length - done;
        let room = if left > PIECE { piece(fd) } else { PIECE };
        let wrote = real_write(done, left.min(room));
        if wrote < 0 {
            return if done > 0 { done.cast_signed() } else { wrote };
        }
        done += wrote.unsigned_abs();
        if done >= length {
            return done.cast_signed();
        }
    }
}

/// Copies what the vectors refer to into one buffer.
///
/// # Safety
/// As writev(2).
unsafe fn gathered(vectors: &[iovec]) -> Vec<u8> {
    let mut all = Vec::with_capacity(vectors.iter().map(|vector| vector.iov_len).sum());
    for vector in vectors.iter().filter(|vector| vector.iov_len > 0) {
        // SAFETY: not empty, so valid for its length, says the caller.
        all.extend_from_slice(unsafe {
            std::slice::from_raw_parts(vector.iov_base.cast::<u8>(), vector.iov_len)
        });
    }
    all
}

/// A blocking writev takes all bytes. A socket gets them as one message; for a pipe they are copied, and written in pieces.
#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    if owners::refuses(fd) {
        return unless_ended(fd, -1);
    }
    let room = usize::try_from(count).unwrap_or(0);
    if waiter().is_none()
        || syscall::kind(fd) == syscall::Kind::File
        || syscall::is_nonblocking(fd)
        || !(1..=MOST_VECTORS).contains(&room)
    {
        // SAFETY: the caller's own promise.
        let length = syscall::size(unsafe { libc::syscall(libc::SYS_writev, fd, vectors, count) });
        sent(fd, length);
        return unless_ended(fd, length);
    }
    if syscall::kind(fd) == syscall::Kind::Socket {
        let mut message = EMPTY;
        (message.msg_iov, message.msg_iovlen) = (vectors.cast_mut(), room);
        // SAFETY: the vectors are the caller's own promise. sendmsg(2) without flags is writev(2).
        return unsafe { sendmsg(fd, &raw const message, 0) };
    }
    // SAFETY: as many vectors as the caller says.
    let vectors = unsafe { std::slice::from_raw_parts(vectors, room) };
    // SAFETY: the vectors are the caller's own promise.
    let all = unsafe { gathered(vectors) };
    // SAFETY: the buffer lives during the call.
    unsafe { write(fd, all.as_ptr().cast(), all.len()) }
}
