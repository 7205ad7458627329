//! A log file to which several processes append lines.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use http1::RESERVED_DESCRIPTORS;
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Opens the file, or creates it: its user may write it, its group may read it. Each write is whole.
///
/// # Errors
/// Those of the system calls.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options.append(true).create(true).mode(0o640);
    Ok(above_reserved(options.open(path)?.into())?.into())
}

/// Moves a descriptor above the low numbers, which are kept for PHP (see `http1::RESERVED_DESCRIPTORS`).
pub(crate) fn above_reserved(fd: OwnedFd) -> io::Result<OwnedFd> {
    match fcntl_dupfd_cloexec(&fd, RESERVED_DESCRIPTORS as i32) {
        Err(Errno::INVAL) => Ok(fd),
        high => Ok(high?),
    }
}
