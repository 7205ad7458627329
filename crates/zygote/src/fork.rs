//! fork(2), the only unsafe system call of this crate.
#![allow(unsafe_code)]

use std::io;

use rustix::process::Pid;

/// Forks. Returns `Some` in the parent, `None` in the child. Fails if this process has more than one thread.
#[expect(clippy::disallowed_methods, reason = "the one fork there is")]
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!(
            "the zygote has {threads} threads, so it cannot fork safely: an extension started one while the app was booted"
        )));
    }
    // SAFETY: one thread, so the child has everything the parent had, locks included, in a consistent state.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}
