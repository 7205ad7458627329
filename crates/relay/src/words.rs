//! The atomic words that front and workers share.
//!
//! With the feature `model` they are shuttle's, which decides the order of all accesses (`tests/interleavings.rs`).

use std::io;
use std::os::fd::OwnedFd;

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::atomic::AtomicU64;

#[cfg(feature = "model")]
pub(crate) use shuttle::sync::atomic::AtomicU64;

#[cfg(not(feature = "model"))]
pub(crate) type Words = shm::Mapping;

#[cfg(feature = "model")]
pub(crate) type Words = std::sync::Arc<[AtomicU64]>;

#[cfg(not(feature = "model"))]
pub(crate) fn of(fd: &OwnedFd) -> io::Result<Words> {
    shm::Mapping::of(fd)
}

/// Memory of this process alone; a consumer is made with [`crate::Consumer::beside`].
#[cfg(feature = "model")]
pub(crate) fn of(_: &OwnedFd) -> io::Result<Words> {
    Ok((0..crate::layout::WORDS)
        .map(|_| AtomicU64::new(0))
        .collect())
}
