//! Responses with a short text.

use bytes::Bytes;
use http1::Response;

use crate::body::FileBody;

pub(crate) fn answer(status: u16, text: &'static str) -> Response<FileBody> {
    let body = FileBody::full(Bytes::from_static(text.as_bytes()));
    let mut response = Response::new(status, body);
    let fields = &mut response.head.fields;
    fields.push("Content-Type", "text/plain; charset=UTF-8");
    response
}

pub(crate) fn redirect(status: u16, to: &str) -> Response<FileBody> {
    let text = match status {
        302 => "Found\n",
        307 => "Temporary Redirect\n",
        308 => "Permanent Redirect\n",
        _ => "Moved Permanently\n",
    };
    let mut response = answer(status, text);
    response.head.fields.push("Location", to);
    response
}

/// Returns 405, for methods other than GET and HEAD.
pub(crate) fn not_allowed() -> Response<FileBody> {
    let mut response = answer(405, "Method Not Allowed\n");
    response.head.fields.push("Allow", "GET, HEAD");
    response
}
