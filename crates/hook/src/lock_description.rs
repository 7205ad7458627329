//! An open file description that has the record locks of this process on one file.
//!
//! Locks of a description (`F_OFD_SETLK`, "open file description locks") last until the description is closed, whatever other
//! descriptors of the file the process closes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{c_int, c_long, c_short, flock};

use crate::lock_ranges::Span;
use crate::syscall;

/// An open file description of this process alone, which has the locks.
pub(crate) struct Own {
    pub(crate) fd: c_int,
    pub(crate) is_writable: bool,
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: close(2) touches no memory; no other code knows the number.
        unsafe { libc::syscall(libc::SYS_close, self.fd) };
    }
}

impl Own {
    /// Opens the file of `fd` once more. A duplicate would not do: after fork(2) parent and child have its description in
    /// common, and so its locks.
    pub(crate) fn open(fd: c_int) -> Option<Own> {
        // SAFETY: F_GETFL touches no memory.
        let mode = unsafe { syscall::fcntl(fd, libc::F_GETFL, 0) } & libc::O_ACCMODE;
        let is_writable = mode != libc::O_RDONLY;
        let mode = if is_writable {
            libc::O_RDWR
        } else {
            libc::O_RDONLY
        };
        let path = std::ffi::CString::new(format!("/proc/self/fd/{fd}")).ok()?;
        // SAFETY: the path is a C string that lives during the call.
        let fd = unsafe { libc::open(path.as_ptr(), mode | libc::O_CLOEXEC) };
        let own = (fd >= 0).then(|| Own { fd, is_writable })?;
        own.is_supported().then_some(own)
    }

    /// Whether the kernel has these locks. Linux does since 3.15, its substitutes may not.
    fn is_supported(&self) -> bool {
        static IS: AtomicBool = AtomicBool::new(false);
        let any = Span { start: 0, end: 0 };
        let try_it = || self.call(libc::F_OFD_GETLK, &mut record(libc::F_RDLCK, any)) == 0;
        let is = IS.load(Relaxed) || try_it();
        IS.store(is, Relaxed);
        is
    }

    #[inline]
    pub(crate) fn call(&self, command: c_int, lock: &mut flock) -> c_int {
        // SAFETY: the lock lives during the call.
        unsafe { syscall::fcntl(self.fd, command, std::ptr::from_mut(lock) as c_long) }
    }

    #[inline]
    pub(crate) fn set(&self, kind: c_int, span: Span) -> c_int {
        self.call(libc::F_OFD_SETLK, &mut record(kind, span))
    }
}

#[inline]
pub(crate) fn record(kind: c_int, span: Span) -> flock {
    flock {
        l_type: kind as c_short,
        l_whence: libc::SEEK_SET as c_short,
        l_start: span.start,
        // 0 is up to the end of all files.
        l_len: match span.end {
            i64::MAX => 0,
            end => end - span.start + 1,
        },
        l_pid: 0,
    }
}

/// Returns the bytes that `lock` names; `None` if they are invalid, which the kernel then reports.
#[inline]
pub(crate) fn span(fd: c_int, lock: &flock) -> Option<Span> {
    let base = match c_int::from(lock.l_whence) {
        libc::SEEK_SET => 0,
        // SAFETY: lseek(2) touches no memory.
        libc::SEEK_CUR => unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) },
        libc::SEEK_END => syscall::stat(fd)?.st_size,
        _ => return None,
    };
    let from = base.checked_add(lock.l_start)?;
    let (start, end) = match lock.l_len {
        0 => (from, i64::MAX),
        len if len > 0 => (from, from.checked_add(len - 1)?),
        len => (from.checked_add(len)?, from - 1),
    };
    (base >= 0 && start >= 0).then_some(Span { start, end })
}
