//! A file as an answer: its type, validators, conditions and ranges, as RFC 9110 has them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http1::{Fields, Response};

use crate::body::FileBody;
use crate::conditions::{self, Verdict};
use crate::encoding::Encoding;
use crate::files::StaticFile;
use crate::lookup::Bounds;
use crate::precompressed::Precompressed;
use crate::range::{self, Wanted};
use crate::text;

/// The bytes that are sent for a file, its own or compressed ones, and what is said of them.
#[derive(Debug)]
pub struct Representation<'a> {
    file: StaticFile,
    content_type: &'static str,
    /// Strong, and another for each encoding.
    entity_tag: String,
    /// Of the file, in seconds since 1970.
    modified: i64,
    encoding: Option<Encoding>,
    /// Another client may get another encoding.
    varies: bool,
    cache_control: Option<&'a str>,
}

impl<'a> Representation<'a> {
    /// The file as it is.
    #[must_use]
    pub fn new(file: StaticFile) -> Representation<'a> {
        Representation {
            content_type: file.content_type(),
            entity_tag: file.entity_tag(""),
            modified: file.modified(),
            encoding: None,
            varies: false,
            cache_control: None,
            file,
        }
    }

    /// The same with the bytes of what lies compressed beside the file, if this client takes that.
    pub(crate) fn compressed(
        mut self,
        precompressed: &Precompressed,
        bounds: &Bounds,
        fields: &Fields,
    ) -> Representation<'a> {
        let chosen = precompressed.choose(bounds, &self.file, self.content_type, fields);
        self.varies = chosen.varies;
        if let Some((file, encoding)) = chosen.encoded {
            self.entity_tag = file.entity_tag(encoding.suffix());
            self.encoding = Some(encoding);
            self.file = file;
        }
        self
    }

    pub(crate) fn cache_control(mut self, value: Option<&'a str>) -> Representation<'a> {
        self.cache_control = value;
        self
    }

    /// The same with a tag that an app gave it.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Representation<'a> {
        tag.clone_into(&mut self.entity_tag);
        self
    }

    /// The file as the answer to any request, whatever its conditions and ranges.
    #[must_use]
    pub fn whole(self, is_head: bool) -> Response<FileBody> {
        let (response, length) = (self.head(200), self.file.length());
        self.with_body(response, (0, length), is_head)
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
        if is_head || method == b"GET" {
            let (tag, modified) = (&self.entity_tag, self.modified);
            match conditions::judge(fields, tag, modified) {
                Verdict::Send => {}
                Verdict::NotModified => return self.head(304),
                Verdict::Failed => return self.head(412),
            }
            if conditions::range_applies(fields, tag, modified) {
                match range::wanted(fields, self.file.length()) {
                    Wanted::All => {}
                    Wanted::Part(first, last) => return self.part(first, last, is_head),
                    Wanted::Nothing => return self.unsatisfiable(),
                }
            }
        }
        self.whole(is_head)
    }

    fn part(self, first: u64, last: u64, is_head: bool) -> Response<FileBody> {
        let mut response = self.head(206);
        let range = format!("bytes {first}-{last}/{}", self.file.length());
        response.head.fields.push("Content-Range", range);
        self.with_body(response, (first, last - first + 1), is_head)
    }

    fn with_body(
        self,
        mut response: Response<FileBody>,
        (offset, length): (u64, u64),
        is_head: bool,
    ) -> Response<FileBody> {
        let fields = &mut response.head.fields;
        fields.push("Content-Length", length.to_string());
        if !is_head {
            response.body = self.file.body(offset, length);
        }
        response
    }

    fn unsatisfiable(&self) -> Response<FileBody> {
        let mut response = self.head(416);
        let fields = &mut response.head.fields;
        fields.push("Accept-Ranges", "bytes");
        fields.push("Content-Range", format!("bytes */{}", self.file.length()));
        response
    }

    /// An answer without a body, with what is said of the file where it has this status.
    fn head(&self, status: u16) -> Response<FileBody> {
        let mut response = Response::new(status, FileBody::empty());
        let fields = &mut response.head.fields;
        if let 200 | 206 = status {
            fields.push("Content-Type", self.content_type);
            fields.push("Accept-Ranges", "bytes");
            if let Some(encoding) = self.encoding {
                fields.push("Content-Encoding", encoding.name());
            }
        }
        if let Some(date) = http_date(self.modified) {
            fields.push("Last-Modified", date);
        }
        fields.push("ETag", &self.entity_tag);
        if self.varies {
            fields.push("Vary", "Accept-Encoding");
        }
        if let (200 | 206 | 304, Some(value)) = (status, self.cache_control) {
            fields.push("Cache-Control", value);
        }
        response
    }
}

/// `None` for what HTTP has no date for: before 1970, after 9999.
fn http_date(seconds: i64) -> Option<String> {
    const END_OF_9999: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).ok().filter(|s| *s <= END_OF_9999)?;
    let time: SystemTime = UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time))
}
