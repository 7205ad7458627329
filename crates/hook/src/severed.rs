//! Descriptors that were closed while another task waited on them.
//!
//! Such a number stays taken for a while: the waiting task goes on with it, and if the next socket got the number, the task
//! would read the answer of a connection that is not its own. A socket whose peer is closed replaces the closed descriptor:
//! it gives end of file to a receive and a broken pipe to a send.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::c_int;

use crate::{installed, owners};

/// The most numbers that stay taken. One more frees the oldest, whose task has gone on long ago.
const MOST: usize = 64;

static SEVERED: Mutex<VecDeque<c_int>> = Mutex::new(VecDeque::new());

/// Whether `SEVERED` contains any: nearly always it is empty, and every close asks.
static ANY: AtomicBool = AtomicBool::new(false);

/// Whether another task than the running one waits on `fd`.
pub(crate) fn is_waited_on(fd: c_int) -> bool {
    owners::owner(fd).is_some_and(|owner| installed().is_none_or(|waiter| waiter.task() != owner))
}

/// Removes `fd` from the list: it is about to be closed for good.
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

/// Makes a socket whose peer is closed.
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

/// Closes `fd` as close(2) does, but keeps the number taken. False if that fails because no descriptor is free.
pub(crate) fn sever(fd: c_int) -> bool {
    let Some(dead) = dead_socket() else {
        return false;
    };
    // If the number was free, the socket has it already.
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
