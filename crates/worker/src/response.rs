//! Responses as a connection sends them: converted from PHP's, from a file, or a short text of the server's own.
//!
//! The connection decides how a message is framed, so PHP's fields about that are removed here.

pub(crate) mod body;
pub(crate) mod files;
pub(crate) mod send_file;
mod unread;

use http1::{Fields, ResponseHead, StaticHeader};
use php::{Body, Response};

use self::body::{ResponseBody, StreamBody};

pub(crate) type HttpResponse = http1::Response<ResponseBody>;

const HTML: StaticHeader = StaticHeader::new("Content-Type: text/html; charset=UTF-8");
const PLAIN: StaticHeader = StaticHeader::new("Content-Type: text/plain; charset=UTF-8");

/// Returns a plain-text response of the server's own.
pub(crate) fn plain(status: u16, text: &'static str) -> HttpResponse {
    let mut answer = HttpResponse::new(status, ResponseBody::text(text));
    answer.head.fields = Fields::fixed(PLAIN);
    answer
}

/// Removes the fields by which PHP would frame the message, except `Connection: close`; also the length of a body that is
/// `whole`.
fn take_framing(fields: &mut Fields, whole: bool) {
    let close = fields.has_token("Connection", "close");
    fields.remove("Transfer-Encoding");
    fields.remove("Connection");
    if close {
        fields.push("Connection", "close");
    }
    if whole {
        fields.remove("Content-Length");
    }
}

/// Converts PHP's response. `complete`: PHP's head is complete, the content type included. `is_head`: the request is a HEAD
/// request, to which a script may set the length without the body.
pub(crate) fn convert(mut response: Response, complete: bool, is_head: bool) -> HttpResponse {
    let head = &mut response.head;
    if response.known.framing {
        let is_whole = match &response.body {
            Body::Full(bytes) => !(is_head && bytes.is_empty()),
            Body::Stream(_) | Body::File(_) => false,
        };
        take_framing(&mut head.fields, is_whole);
    }
    if !(100..=999).contains(&head.status) {
        head.status = 500;
    }
    // RFC 9110, 15.3.6: a 205 has no content either, but a length of 0.
    let has_body = !matches!(head.status, 100..=199 | 204 | 205 | 304);
    if has_body && !complete && !response.known.content_type {
        if head.fields.is_empty() {
            head.fields = Fields::fixed(HTML);
        } else {
            head.fields.push(HTML.name(), HTML.value());
        }
    }
    if (complete || response.known.content_type) && is_untyped(head) {
        head.fields.remove("Content-Type");
    }
    let body = match response.body {
        body if !has_body => {
            if let Body::Stream(pipe) = body {
                // Otherwise the task that writes the body would wait for a reader.
                pipe.hang_up();
            }
            ResponseBody::Full(None)
        }
        Body::Full(bytes) => ResponseBody::full(bytes),
        Body::Stream(pipe) => ResponseBody::Stream(StreamBody::new(pipe)),
        Body::File(_) => unreachable!("files are answered by send_file"),
    };
    HttpResponse {
        head: response.head,
        body,
    }
}

/// Whether the response has no content type, as nginx decides for php-fpm: a 304, or one with `header('Content-Type:')`.
fn is_untyped(head: &ResponseHead) -> bool {
    head.status == 304 || head.fields.get("Content-Type") == Some(b"")
}
