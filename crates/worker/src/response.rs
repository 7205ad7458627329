//! What a connection gets to send: from what PHP said, a file, or a few words of ours.
//!
//! How a message is framed is the connection's to say, so what PHP says of that is taken out here.

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

/// An answer of ours in a few words.
pub(crate) fn plain(status: u16, text: &'static str) -> HttpResponse {
    let mut answer = HttpResponse::new(status, ResponseBody::text(text));
    answer.head.fields = Fields::fixed(PLAIN);
    answer
}

/// How this connection frames the message is not PHP's business, `Connection: close` apart. Nor is the length of what is
/// there whole.
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

/// `complete`: PHP has said all that the head is to say, the type too. `is_head`: to a HEAD request, to which a script may say
/// the length without the body.
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
                // Otherwise its writer would wait for a reader.
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

/// As nginx answers for php-fpm: a 304 is of no type, and `header('Content-Type:')` says that there is none.
fn is_untyped(head: &ResponseHead) -> bool {
    head.status == 304 || head.fields.get("Content-Type") == Some(b"")
}
