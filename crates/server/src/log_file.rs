//! A file that several processes append lines to.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use http1::RESERVED_DESCRIPTORS;
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// Open it, or make it: for its user to write, and for its group to read. Each write is whole.
///
/// # Errors
/// Those of the system.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options.append(true).create(true).mode(0o640);
    Ok(above_reserved(options.open(path)?.into())?.into())
}

/// PHP's own descriptors are the low ones (see `http1::RESERVED_DESCRIPTORS`).
pub(crate) fn above_reserved(fd: OwnedFd) -> io::Result<OwnedFd> {
    match fcntl_dupfd_cloexec(&fd, RESERVED_DESCRIPTORS as i32) {
        Err(Errno::INVAL) => Ok(fd),
        high => Ok(high?),
    }
}
