//! A file that is opened once: its metadata and bytes are read from one descriptor, so a file that is replaced meanwhile is
//! sent as it was, never as a mixture.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::body::FileBody;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct StaticFile {
    file: File,
    path: PathBuf,
    length: u64,
    /// When the file was modified: seconds since 1970, and nanoseconds.
    modified: (i64, u32),
}

impl StaticFile {
    pub(crate) fn new(fd: OwnedFd, stat: &Stat, path: PathBuf) -> StaticFile {
        StaticFile {
            file: fd.into(),
            path,
            length: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (
                stat.st_mtime,
                u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            ),
        }
    }

    /// Opens any regular file that this process may read.
    ///
    /// # Errors
    /// If there is no such file at `path`.
    pub fn open(path: &Path) -> io::Result<StaticFile> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        Ok(StaticFile::new(fd, &stat, path.to_owned()))
    }

    /// Returns whether the file begins as PHP code does, behind an optional `#!` line and white space.
    pub(crate) fn is_php_code(&self) -> bool {
        let mut first = [0; 128];
        let length = rustix::io::pread(&self.file, &mut first, 0).unwrap_or(0);
        let mut text = &first[..length];
        if text.starts_with(b"#!") {
            let line = text.iter().position(|byte| *byte == b'\n');
            text = &text[line.unwrap_or(length)..];
        }
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let text = text.trim_ascii_start().get(..5).unwrap_or_default();
        text.eq_ignore_ascii_case(b"<?php") || text.starts_with(b"<?=")
    }

    /// Returns the path that the file was opened with: absolute for a site's files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    pub(crate) fn descriptor(&self) -> &File {
        &self.file
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns when the file was modified, in seconds since 1970.
    pub(crate) fn modified(&self) -> i64 {
        self.modified.0
    }

    /// Returns a body with this part of the file.
    pub(crate) fn body(self, offset: u64, length: u64) -> FileBody {
        FileBody::new(self.file, offset, length)
    }

    pub(crate) fn content_type(&self) -> &'static str {
        mime_guess::from_path(&self.path)
            .first_raw()
            .unwrap_or("application/octet-stream")
    }

    /// Returns a strong tag: it assumes that no file is written twice in the same nanosecond with the same length. `suffix`
    /// distinguishes the representations of one file.
    pub(crate) fn entity_tag(&self, suffix: &str) -> String {
        let (seconds, nanoseconds) = self.modified;
        let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        format!("\"{nanoseconds:x}-{:x}{suffix}\"", self.length)
    }
}
