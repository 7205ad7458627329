//! Callbacks by which C code sends a response.

use std::ffi::c_void;
use std::rc::Rc;

use bytes::Bytes;
use http1::{Fields, ResponseHead};
use php_sys::{self as sys, hearth_header, hearth_response, hearth_str};

use crate::cgi::Status;
use crate::engine::Level;
use crate::host;
use crate::request::{Body, Known, Request, Response};
use crate::task;

/// A string of the engine whose bytes a response sends without a copy.
struct Retained {
    bytes: hearth_str,
    retained: *mut c_void,
}

// SAFETY: `Bytes` asks for Send; the process has one thread that touches response bodies, the engine's.
unsafe impl Send for Retained {}

impl AsRef<[u8]> for Retained {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the engine keeps the string alive until hearth_release.
        unsafe { self.bytes.bytes() }
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: taken over from C with this response, released once, here.
        unsafe { sys::hearth_release(self.retained) };
    }
}

/// # Safety
/// All pointers in `response` must be valid during the call.
unsafe fn body_of(response: &hearth_response) -> Body {
    if response.kind == sys::HEARTH_BODY_STREAM {
        return Body::Stream(Rc::default());
    }
    if !response.retained.is_null() {
        return Body::Full(Bytes::from_owner(Retained {
            bytes: response.body,
            retained: response.retained,
        }));
    }
    // SAFETY: the body is bytes of C that live during the call, as the caller promises.
    let bytes = unsafe { response.body.bytes() };
    if response.kind == sys::HEARTH_BODY_FILE {
        Body::File(String::from_utf8_lossy(bytes).into_owned())
    } else {
        Body::Full(Bytes::copy_from_slice(bytes))
    }
}

fn note(name: &[u8], known: &mut Known) {
    // The lengths rule out nearly all other names.
    match name.len() {
        12 => known.content_type |= name.eq_ignore_ascii_case(b"content-type"),
        10 => {
            known.framing |= name.eq_ignore_ascii_case(b"connection");
            known.file |= name.eq_ignore_ascii_case(b"x-sendfile");
        }
        16 => known.file |= name.eq_ignore_ascii_case(b"x-accel-redirect"),
        14 => known.framing |= name.eq_ignore_ascii_case(b"content-length"),
        17 => known.framing |= name.eq_ignore_ascii_case(b"transfer-encoding"),
        _ => {}
    }
}

/// Bytes that the fields of most responses need, names and values together.
const USUAL_BYTES: usize = 128;

/// # Safety
/// All pointers in `response` must be valid for as long as it is borrowed.
unsafe fn headers_of(response: &hearth_response) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
    let headers: &[hearth_header] = if response.header_count == 0 {
        &[]
    } else {
        // SAFETY: C gives `header_count` headers.
        unsafe { std::slice::from_raw_parts(response.headers, response.header_count) }
    };
    // SAFETY: the bytes of a header live as long as the list.
    let bytes = |text: hearth_str| unsafe { text.bytes() };
    headers
        .iter()
        .map(move |header| (bytes(header.name), bytes(header.value)))
}

fn fields_of<'a>(
    headers: impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])>,
    mut status: Option<&mut Status<'a>>,
) -> (Fields, Known) {
    let mut known = Known::default();
    if headers.len() == 0 {
        return (Fields::new(), known);
    }
    let mut fields = Fields::with_capacity(headers.len() + 1, USUAL_BYTES);
    for (name, value) in headers {
        match &mut status {
            Some(status) if name.eq_ignore_ascii_case(b"status") => status.set(value),
            _ if fields.try_push(name, value).is_ok() => note(name, &mut known),
            _ => log_forbidden(name),
        }
    }
    (fields, known)
}

#[cold]
fn log_forbidden(name: &[u8]) {
    let name = String::from_utf8_lossy(name);
    host::log(
        Level::Warning,
        &format!("a response header with characters that HTTP forbids was left out: {name}"),
        task::current_request_id(),
    );
}

quick_callbacks! {
    fn hearth_on_respond(request: &Request, response: &hearth_response) {
        // SAFETY: C passes a response whose pointers live during the call.
        let body = unsafe { body_of(response) };
        // SAFETY: the list of headers and their bytes live until C gets the answer of this callback.
        let headers = unsafe { headers_of(response) };
        // SAFETY: the status line is empty, or bytes of the engine that it frees after this callback.
        let mut status = Status::new(response.status, unsafe { response.status_line.bytes() });
        let (fields, known) = fields_of(headers, response.cgi.then_some(&mut status));
        let head = ResponseHead {
            status: status.code,
            reason: status.reason.into(),
            fields,
        };
        request.respond(Response { head, known, body, more: response.more });
    }
}

callbacks! {
    fn hearth_on_finish(request: &Request, last: &[u8]) {
        request.finish(Bytes::copy_from_slice(last));
    }

    fn hearth_on_break_off(request: &Request) {
        request.break_off();
    }

    fn hearth_on_write(request: &Request, piece: &[u8]) -> bool {
        request.write(Bytes::copy_from_slice(piece))
    }
}
