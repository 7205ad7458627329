//! What stdio writes to a program of popen(3), as mail() and imap_mail() do. libc itself writes there, where no hook sees it, and
//! blocks while the program does not read. So it is collected in memory, and the thread that waits for the program writes it.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use libc::{FILE, c_int};

use crate::{WaitMode, waiter};

/// The pipes of programs whose FILE writes to memory, by the address of the FILE.
static PIPES: Mutex<Vec<(usize, File)>> = Mutex::new(Vec::new());

/// Takes ownership of the result of a system call that opens a descriptor.
fn opened(fd: c_int) -> io::Result<OwnedFd> {
    match fd {
        // SAFETY: the kernel has just opened it for this call, and nothing else has the number.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the FILE write to memory from now on, unless the running code writes to its descriptor itself.
///
/// # Safety
/// A FILE that popen(3) has just made for writing.
pub(crate) unsafe fn collect(file: *mut FILE) {
    let suspends = waiter().filter(|waiter| waiter.mode() == WaitMode::Suspends);
    if suspends.is_some_and(|waiter| !waiter.writes_to_descriptor()) {
        // SAFETY: the caller's own promise.
        let fd = unsafe { libc::fileno(file) };
        // Without memory or descriptors it writes to the pipe, and may block.
        if let Ok(pipe) = replace(fd) {
            let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
            pipes.push((file.addr(), File::from(pipe)));
        }
    }
}

/// Makes `fd` refer to memory. Returns what it referred to.
fn replace(fd: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string.
    let memory = opened(unsafe { libc::memfd_create(c"hearth".as_ptr(), libc::MFD_CLOEXEC) })?;
    // SAFETY: F_DUPFD_CLOEXEC touches no memory.
    let pipe = opened(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: dup3 touches no memory, and the FILE of `fd` has written nothing yet.
    match unsafe { libc::dup3(memory.as_raw_fd(), fd, libc::O_CLOEXEC) } {
        0.. => Ok(pipe),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns the pipe of a FILE that writes to memory. Not called by the thread that waits for the program: a process that is forked
/// meanwhile would find the list locked.
pub(crate) fn take_pipe(file: *mut FILE) -> Option<File> {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    let index = pipes.iter().position(|(known, _)| *known == file.addr())?;
    Some(pipes.swap_remove(index).1)
}

/// Writes what was collected to the program, which then sees the end of its input. Blocks while it does not read.
///
/// # Safety
/// A FILE of popen(3), which no other thread uses.
pub(crate) unsafe fn deliver(file: *mut FILE, mut pipe: File) {
    // SAFETY: the caller's own promise.
    unsafe { libc::fflush(file) };
    // SAFETY: the caller's own promise.
    let fd = unsafe { libc::fileno(file) };
    // SAFETY: F_DUPFD_CLOEXEC touches no memory.
    let memory = opened(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) });
    // A program that ends before it has read all tells so by its exit code.
    let _ = memory.map(File::from).and_then(|mut memory| {
        io::Seek::rewind(&mut memory)?;
        io::copy(&mut memory, &mut pipe)
    });
}
