//! A file as an answer: its type, validators, conditions and ranges, as RFC 9110 has them.
//!
//! The file is opened once; what its head says is read from that descriptor, so a file replaced meanwhile is sent as it
//! was, never as a mixture.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http1::{Fields, Response};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::body::FileBody;
use crate::conditions::{self, Verdict};
use crate::range::{self, Wanted};
use crate::text;

/// A regular file, open for reading.
#[derive(Debug)]
pub struct StaticFile {
    file: File,
    path: PathBuf,
    length: u64,
    /// Seconds since 1970 and nanoseconds.
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

    /// Any regular file that this process may read.
    ///
    /// # Errors
    /// If there is none at `path`.
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

    /// Does it begin as PHP code does? A first line for the shell and blanks may stand before that.
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

    /// What it was found as: absolute for a site's files.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }

    /// Answer a request for this file: 200, 206, 304, 405, 412 or 416.
    #[must_use]
    pub fn answer(self, method: &[u8], fields: &Fields) -> Response<FileBody> {
        if method != b"GET" && method != b"HEAD" {
            return text::not_allowed();
        }
        self.answer_any(method, fields)
    }

    /// The same where the file is the answer to any method; conditions and ranges are those of GET and HEAD.
    #[must_use]
    pub fn answer_any(self, method: &[u8], fields: &Fields) -> Response<FileBody> {
        let is_head = method == b"HEAD";
        let tag = &self.entity_tag();
        if is_head || method == b"GET" {
            let verdict = conditions::judge(fields, tag, self.modified.0);
            match verdict {
                Verdict::Send => {}
                Verdict::NotModified => return self.without_body(304, tag),
                Verdict::Failed => return self.without_body(412, tag),
            }
            if conditions::range_applies(fields, tag, self.modified.0) {
                match range::wanted(fields, self.length) {
                    Wanted::All => {}
                    Wanted::Part(first, last) => return self.part(tag, first, last, is_head),
                    Wanted::Nothing => return self.unsatisfiable(tag),
                }
            }
        }
        let length = self.length;
        let mut response = self.head(200, tag);
        response
            .head
            .fields
            .push("Content-Length", length.to_string());
        if !is_head {
            response.body = FileBody::new(self.file, 0, length);
        }
        response
    }

    fn part(self, tag: &str, first: u64, last: u64, is_head: bool) -> Response<FileBody> {
        let mut response = self.head(206, tag);
        let fields = &mut response.head.fields;
        let range = format!("bytes {first}-{last}/{}", self.length);
        fields.push("Content-Range", range);
        let length = last - first + 1;
        fields.push("Content-Length", length.to_string());
        if !is_head {
            response.body = FileBody::new(self.file, first, length);
        }
        response
    }

    fn unsatisfiable(&self, tag: &str) -> Response<FileBody> {
        let mut response = self.head(416, tag);
        let fields = &mut response.head.fields;
        fields.remove("Content-Type");
        let range = format!("bytes */{}", self.length);
        fields.push("Content-Range", range);
        response
    }

    fn without_body(&self, status: u16, tag: &str) -> Response<FileBody> {
        let mut response = self.head(status, tag);
        response.head.fields.remove("Content-Type");
        response.head.fields.remove("Accept-Ranges");
        response
    }

    /// An answer without a body, with what is said of the file in every one.
    fn head(&self, status: u16, tag: &str) -> Response<FileBody> {
        let mut response = Response::new(status, FileBody::empty());
        let fields = &mut response.head.fields;
        fields.push("Content-Type", self.content_type());
        fields.push("Accept-Ranges", "bytes");
        if let Some(date) = http_date(self.modified.0) {
            fields.push("Last-Modified", date);
        }
        fields.push("ETag", tag);
        response
    }

    fn content_type(&self) -> &'static str {
        mime_guess::from_path(&self.path)
            .first_raw()
            .unwrap_or("application/octet-stream")
    }

    /// Strong: a file that was written again in the same nanosecond with the same length is not expected.
    fn entity_tag(&self) -> String {
        let (seconds, nanoseconds) = self.modified;
        let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        format!("\"{nanoseconds:x}-{:x}\"", self.length)
    }
}

/// `None` for what HTTP has no date for: before 1970, after 9999.
fn http_date(seconds: i64) -> Option<String> {
    const END_OF_9999: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).ok().filter(|s| *s <= END_OF_9999)?;
    let time: SystemTime = UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time))
}
