//! Descriptors that were closed while another task waited on them.
//!
//! Their numbers stay taken for a while: the task that waits goes on with the number, and what is opened next would get it, so it
//! would read the answer of a connection that is not its own. In place of what was closed stands a socket whose other end is
//! closed: the end of file to a receive, a broken pipe to a send.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::c_int;

use crate::{installed, owners};

/// The most numbers that stay taken. One more frees the oldest, whose task has long gone on.
const MOST: usize = 64;

static SEVERED: Mutex<VecDeque<c_int>> = Mutex::new(VecDeque::new());

/// Whether there are any: nearly always there are none, and every close asks.
static ANY: AtomicBool = AtomicBool::new(false);

/// Does another task than the running one wait on `fd`?
pub(crate) fn is_waited_on(fd: c_int) -> bool {
    owners::owner(fd).is_some_and(|owner| installed().is_none_or(|waiter| waiter.task() != owner))
}

/// `fd` is about to be closed for good, so it is none of these any more.
pub(crate) fn forget(fd: c_int) {
    if ANY.load(Relaxed)
        && let Ok(mut severed) = SEVERED.lock()
    {
        severed.retain(|other| *other != fd);
        ANY.store(!severed.is_empty(), Relaxed);
    }
}

fn close(fd: c_int) -> c_int {
    // SAFETY: the number is one of ours, or the caller of close(2) has given it up.
    unsafe { libc::syscall(libc::SYS_close, fd) as c_int }
}

/// A socket whose other end is closed.
fn dead_socket() -> Option<c_int> {
    let mut ends = [-1; 2];
    // SAFETY: socketpair(2) writes two numbers.
    let made = unsafe {
        libc::socketpair(
            libc::AF_UNIX,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            0,
            ends.as_mut_ptr(),
        )
    };
    if made != 0 {
        return None;
    }
    close(ends[1]);
    Some(ends[0])
}

/// Closes what `fd` stands for, as close(2), and keeps the number taken. False if it cannot be: no descriptor is free.
pub(crate) fn sever(fd: c_int) -> bool {
    let Some(dead) = dead_socket() else {
        return false;
    };
    // It has the number already where that was free.
    if dead != fd {
        // SAFETY: dup3(2) closes what `fd` stands for, which the caller has given up.
        let replaced = unsafe { libc::syscall(libc::SYS_dup3, dead, fd, libc::O_CLOEXEC) } >= 0;
        close(dead);
        if !replaced {
            return false;
        }
    }
    if let Ok(mut severed) = SEVERED.lock() {
        severed.push_back(fd);
        ANY.store(true, Relaxed);
        if severed.len() > MOST
            && let Some(oldest) = severed.pop_front()
        {
            drop(severed);
            close(oldest);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn hooked_close(fd: c_int) -> c_int {
        // SAFETY: a number that the test owns.
        unsafe { libc::close(fd) }
    }

    #[test]
    fn the_number_of_a_descriptor_that_a_task_waits_on_stays_taken() {
        let (ours, mut far) = UnixStream::pair().unwrap();
        let fd = ours.into_raw_fd();
        owners::own(fd, 7);
        assert_eq!(hooked_close(fd), 0);
        assert_eq!(far.read(&mut [0]).unwrap(), 0, "it is closed");
        let another = File::open("/dev/null").unwrap();
        assert_ne!(another.as_raw_fd(), fd, "the number is free");
        // SAFETY: the number is taken, as was just seen, and this test's.
        let mut stale = unsafe { UnixStream::from_raw_fd(fd) };
        assert_eq!(stale.read(&mut [0]).unwrap(), 0);
        let broken = stale.write(b"x").unwrap_err();
        assert_eq!(broken.kind(), ErrorKind::BrokenPipe);
        // A second close is a close.
        drop(stale);
        assert!(!SEVERED.lock().unwrap().contains(&fd));
    }
}
