//! A file as an answer: its type, validators, conditions and ranges, as RFC 9110 has them.
//!
//! The file is opened once; what its head says is read from that descriptor, so a file replaced meanwhile is sent as it
//! was, never as a mixture.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue,
    LAST_MODIFIED,
};
use http::{HeaderMap, Method, Response, StatusCode};
use rustix::fs::{FileType, Mode, OFlags, Stat};

use crate::body::FileBody;
use crate::conditions::{self, Verdict};
use crate::range::{self, Wanted};

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
    pub fn answer(self, method: &Method, headers: &HeaderMap) -> Response<FileBody> {
        if *method != Method::GET && *method != Method::HEAD {
            return not_allowed();
        }
        self.answer_any(method, headers)
    }

    /// The same where the file is the answer to any method; conditions and ranges are those of GET and HEAD.
    #[must_use]
    pub fn answer_any(self, method: &Method, headers: &HeaderMap) -> Response<FileBody> {
        let is_head = *method == Method::HEAD;
        let tag = self.entity_tag();
        if is_head || *method == Method::GET {
            let verdict = conditions::judge(headers, &tag, self.modified.0);
            match verdict {
                Verdict::Send => {}
                Verdict::NotModified => return self.without_body(StatusCode::NOT_MODIFIED, tag),
                Verdict::Failed => return self.without_body(StatusCode::PRECONDITION_FAILED, tag),
            }
            if conditions::range_applies(headers, &tag, self.modified.0) {
                match range::wanted(headers, self.length) {
                    Wanted::All => {}
                    Wanted::Part(first, last) => return self.part(tag, first, last, is_head),
                    Wanted::Nothing => return self.unsatisfiable(tag),
                }
            }
        }
        let length = self.length;
        let mut response = self.head(StatusCode::OK, tag);
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(length));
        if !is_head {
            *response.body_mut() = FileBody::new(self.file, 0, length);
        }
        response
    }

    fn part(self, tag: HeaderValue, first: u64, last: u64, is_head: bool) -> Response<FileBody> {
        let mut response = self.head(StatusCode::PARTIAL_CONTENT, tag);
        let headers = response.headers_mut();
        let range = format!("bytes {first}-{last}/{}", self.length);
        headers.insert(CONTENT_RANGE, text(&range));
        let length = last - first + 1;
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        if !is_head {
            *response.body_mut() = FileBody::new(self.file, first, length);
        }
        response
    }

    fn unsatisfiable(&self, tag: HeaderValue) -> Response<FileBody> {
        let mut response = self.head(StatusCode::RANGE_NOT_SATISFIABLE, tag);
        let headers = response.headers_mut();
        headers.remove(CONTENT_TYPE);
        let range = format!("bytes */{}", self.length);
        headers.insert(CONTENT_RANGE, text(&range));
        response
    }

    fn without_body(&self, status: StatusCode, tag: HeaderValue) -> Response<FileBody> {
        let mut response = self.head(status, tag);
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(ACCEPT_RANGES);
        response
    }

    /// An answer without a body, with what is said of the file in every one.
    fn head(&self, status: StatusCode, tag: HeaderValue) -> Response<FileBody> {
        let mut response = Response::new(FileBody::empty());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type());
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if let Some(date) = http_date(self.modified.0) {
            headers.insert(LAST_MODIFIED, date);
        }
        headers.insert(ETAG, tag);
        response
    }

    fn content_type(&self) -> HeaderValue {
        mime_guess::from_path(&self.path).first_raw().map_or(
            HeaderValue::from_static("application/octet-stream"),
            HeaderValue::from_static,
        )
    }

    /// Strong: a file that was written again in the same nanosecond with the same length is not expected.
    fn entity_tag(&self) -> HeaderValue {
        let (seconds, nanoseconds) = self.modified;
        let nanoseconds = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        text(&format!("\"{nanoseconds:x}-{:x}\"", self.length))
    }
}

/// 405 to anything but GET and HEAD.
fn not_allowed() -> Response<FileBody> {
    let mut response = Response::new(FileBody::full(Bytes::from_static(b"Method Not Allowed\n")));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=UTF-8"),
    );
    response
}

/// Of digits, letters and punctuation.
fn text(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).unwrap_or(HeaderValue::from_static(""))
}

/// `None` for what HTTP has no date for: before 1970, after 9999.
fn http_date(seconds: i64) -> Option<HeaderValue> {
    const END_OF_9999: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).ok().filter(|s| *s <= END_OF_9999)?;
    let time: SystemTime = UNIX_EPOCH + Duration::from_secs(seconds);
    HeaderValue::from_str(&httpdate::fmt_http_date(time)).ok()
}
