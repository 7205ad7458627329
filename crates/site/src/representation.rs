//! A file as a response: its type, validators, conditions and ranges (RFC 9110).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http1::{Fields, Response};

use crate::body::FileBody;
use crate::conditions::{self, Verdict};
use crate::encoding::Encoding;
use crate::files::StaticFile;
use crate::lookup::Bounds;
use crate::precompressed::Precompressed;
use crate::range::{self, RequestedRange};
use crate::text;

/// The bytes that are sent for a file, its own or compressed ones, with their metadata.
#[derive(Debug)]
pub struct Representation<'a> {
    file: StaticFile,
    content_type: &'static str,
    /// A strong tag, different for each encoding.
    entity_tag: String,
    /// When the file was modified, in seconds since 1970.
    modified: i64,
    encoding: Option<Encoding>,
    /// Whether another client may get another encoding.
    varies: bool,
    cache_control: Option<&'a str>,
}

impl<'a> Representation<'a> {
    /// Makes the representation of the file as it is.
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

    /// Uses the compressed file beside this one, if there is one that the client accepts.
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

    /// Sets a tag that an app has chosen.
    #[must_use]
    pub fn with_tag(mut self, tag: &str) -> Representation<'a> {
        tag.clone_into(&mut self.entity_tag);
        self
    }

    /// Responds with the whole file, whatever the conditions and ranges of the request.
    #[must_use]
    pub fn whole(self, is_head: bool) -> Response<FileBody> {
        let (response, length) = (self.head(200), self.file.length());
        self.with_body(response, (0, length), is_head)
    }

    /// Responds to a request for this file: 200, 206, 304, 405, 412 or 416.
    #[must_use]
    pub fn answer(self, method: &[u8], fields: &Fields) -> Response<FileBody> {
        if method != b"GET" && method != b"HEAD" {
            return text::not_allowed();
        }
        self.answer_any(method, fields)
    }

    /// As [`Representation::answer`], but for any method; conditions and ranges apply to GET and HEAD only.
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
                match range::requested(fields, self.file.length()) {
                    RequestedRange::All => {}
                    RequestedRange::Part(first, last) => return self.part(first, last, is_head),
                    RequestedRange::Nothing => return self.unsatisfiable(),
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

    /// Makes a response without a body, with the fields about the file that belong to this status.
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

/// Returns `None` for years that HTTP dates cannot express: before 1970 or after 9999.
fn http_date(seconds: i64) -> Option<String> {
    const END_OF_9999: u64 = 253_402_300_799;
    let seconds = u64::try_from(seconds).ok().filter(|s| *s <= END_OF_9999)?;
    let time: SystemTime = UNIX_EPOCH + Duration::from_secs(seconds);
    Some(httpdate::fmt_http_date(time))
}
