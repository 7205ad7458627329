//! Temporary files without a name, for bodies and responses that wait. The total of their bytes is bounded per process.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::fcntl_dupfd_cloexec;

use crate::admission::RESERVED_DESCRIPTORS;
use crate::settings::or_most;

static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static USED: AtomicU64 = AtomicU64::new(0);

/// Bytes that [`Spool::has_room`] wants free: no piece is larger.
const PIECE: u64 = 1 << 20;

/// Sets the limit of this process, in bytes; 0 is no limit.
pub fn set_spool_limit(bytes: u64) {
    LIMIT.store(or_most(bytes), Ordering::Relaxed);
}

/// A temporary file. The bytes written to it count towards the limit until it is dropped.
#[derive(Debug)]
pub struct Spool {
    file: File,
    length: u64,
}

impl Spool {
    /// Creates an empty file.
    ///
    /// # Errors
    /// If no file can be created in the temporary directory.
    pub fn create() -> io::Result<Spool> {
        let file = tempfile::tempfile()?;
        // Low descriptor numbers are left to PHP, as with connections (`RESERVED_DESCRIPTORS`).
        let file = match fcntl_dupfd_cloexec(&file, RESERVED_DESCRIPTORS as i32) {
            Ok(high) => File::from(high),
            Err(_) => file,
        };
        Ok(Spool { file, length: 0 })
    }

    /// Returns whether one more piece can be written within `http.max_spool`.
    #[must_use]
    pub fn has_room() -> bool {
        let used = USED.load(Ordering::Relaxed);
        used.saturating_add(PIECE) <= LIMIT.load(Ordering::Relaxed)
    }

    /// Appends to the file. The write goes to the page cache; a disk slower than the clients blocks this process, as it does
    /// other servers.
    ///
    /// # Errors
    /// If there is no room on the disk, or within `http.max_spool`. The file is unusable then.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let more = bytes.len() as u64;
        let used = USED.fetch_add(more, Ordering::Relaxed) + more;
        self.length += more;
        if used > LIMIT.load(Ordering::Relaxed) {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                "the limit of temporary files is reached (http.max_spool)",
            ));
        }
        self.file.write_all(bytes)
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Empties the file, to use it again.
    ///
    /// # Errors
    /// If the file cannot be made empty.
    pub fn clear(&mut self) -> io::Result<()> {
        USED.fetch_sub(self.length, Ordering::Relaxed);
        self.length = 0;
        self.file.rewind()?;
        self.file.set_len(0)
    }
}

impl AsFd for Spool {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        USED.fetch_sub(self.length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_together_have_a_limit() {
        set_spool_limit(100);
        let mut first = Spool::create().expect("a file");
        first.append(&[0; 60]).expect("there is room");
        let mut second = Spool::create().expect("a file");
        let error = second.append(&[0; 60]).expect_err("there is none");
        assert!(error.to_string().contains("http.max_spool"), "{error}");
        drop(second);
        first.append(&[0; 40]).expect("there is room again");
        first.clear().expect("it is emptied");
        assert!(first.is_empty());
        first.append(&[0; 100]).expect("there is room again");
        assert_eq!(first.file().metadata().expect("it is there").len(), 100);
        drop(first);
        assert_eq!(USED.load(Ordering::Relaxed), 0);
    }
}
