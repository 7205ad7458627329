//! A shared mapping, as words that are accessed only atomically. Apart from the lock, this is the only unsafe code of the
//! crate.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// Creates a shared memory file whose size is sealed.
pub fn create_file(name: &CStr, words: usize) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&fd, words as u64 * 8)?;
    rustix::fs::fcntl_add_seals(&fd, SEALS)?;
    Ok(fd)
}

/// A mapping of a whole shared memory file, which must be sealed against shrinking.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

impl Mapping {
    pub fn of(fd: &OwnedFd) -> io::Result<Mapping> {
        let seals = rustix::fs::fcntl_get_seals(fd)?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "shared memory must be sealed against shrinking",
            ));
        }
        let bytes = usize::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or(0);
        if bytes == 0 || bytes % 8 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("shared memory of {bytes} bytes"),
            ));
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of this process.
        let start = unsafe {
            rustix::mm::mmap(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                fd,
                0,
            )?
        };
        let start =
            NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        Ok(Mapping {
            start,
            words: bytes / 8,
        })
    }
}

impl Deref for Mapping {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is page-aligned and mapped read-write for `words * 8` bytes until `drop`; the file's size is
        // sealed, so no page can vanish; every bit pattern is an AtomicU64, and all processes touch it only as such.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `of` mapped; borrows of it cannot outlive `self`.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}

// SAFETY: the mapping belongs to the process, not to a thread, and is touched only through atomics.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives nothing but atomics, which threads may touch at once.
unsafe impl Sync for Mapping {}
