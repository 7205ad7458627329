//! Callbacks by which C code reads a request: head, client and body.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::rc::Rc;

use http1::{BodyError, Version};
use php_sys::{hearth_client, hearth_header, hearth_request_head, hearth_str};

use crate::request::Request;

fn head_of(request: &Request) -> hearth_request_head {
    let head = request.head();
    hearth_request_head {
        method: hearth_str::new(head.method()),
        target: hearth_str::new(head.resource()),
        path: hearth_str::new(head.path()),
        query: hearth_str::new(head.query()),
        protocol: hearth_str::new(head.version.as_str().as_bytes()),
        protocol_number: if head.version == Version::Http10 {
            1000
        } else {
            1001
        },
    }
}

fn client_of(request: &Request) -> hearth_client {
    let client = request.client();
    let ends = client.endpoints();
    let port_of = |end: Option<SocketAddr>| end.map_or(0, |end| c_int::from(end.port()));
    hearth_client {
        address: hearth_str::new(client.address_text().as_bytes()),
        port: port_of(ends.client),
        local: hearth_str::new(client.local_text().as_bytes()),
        local_port: port_of(ends.local),
        secure: ends.secure,
    }
}

quick_callbacks! {
    fn hearth_on_head(request: &Request, out: &mut MaybeUninit<hearth_request_head>) {
        out.write(head_of(request));
    }

    fn hearth_on_content(request: &Request, kind: &mut MaybeUninit<hearth_str>, length: &mut MaybeUninit<i64>) {
        let fields = &request.head().fields;
        kind.write(fields.get("Content-Type").map_or(hearth_str::NONE, hearth_str::new));
        length.write(fields.text("Content-Length").and_then(|value| value.parse().ok()).unwrap_or(-1));
    }

    fn hearth_on_header(request: &Request, name: &[u8], out: &mut MaybeUninit<hearth_str>) -> bool {
        request.raw_field(name).map(|value| out.write(value)).is_some()
    }

    fn hearth_on_headers(request: &Request, out: *mut hearth_header, capacity: usize) -> usize {
        let fields = &request.head().fields;
        for (i, (name, value)) in fields.iter().take(capacity).enumerate() {
            let header = hearth_header { name: hearth_str::new(name), value: hearth_str::new(value) };
            // SAFETY: C passes room for `capacity` headers, and i is less.
            let place = unsafe { out.add(i) };
            // SAFETY: it is one of the `capacity` places, and C reads none before the callback returns.
            unsafe { place.write(header) };
        }
        fields.len()
    }

    fn hearth_on_client(request: &Request) -> hearth_client {
        client_of(request)
    }

    fn hearth_on_request_retain(request: *mut c_void) {
        // SAFETY: the pointer came from Rc::into_raw and is live.
        unsafe { Rc::increment_strong_count(request.cast::<Request>()) };
    }
}

callbacks! {
    fn hearth_on_request_release(request: *mut c_void) {
        // SAFETY: each release answers one retain, or the reference that Task::request gave.
        unsafe { Rc::decrement_strong_count(request.cast::<Request>()) };
    }

    /// Writes the id as text into the request's own buffer.
    fn hearth_on_request_id(request: &Request, buffer: *mut c_char) {
        let id = request.id_text();
        // SAFETY: C passes 16 bytes of room.
        unsafe { std::ptr::copy_nonoverlapping(id.as_ptr(), buffer.cast(), id.len().min(16)) };
    }

    fn hearth_on_body_read(request: &Request, buffer: *mut c_char, length: usize) -> isize {
        // SAFETY: C passes `length` bytes of room.
        request.read_body(unsafe { std::slice::from_raw_parts_mut(buffer.cast(), length) })
    }

    fn hearth_on_body_error(request: &Request) -> hearth_str {
        let text = request.body_error().map_or("", BodyError::text);
        hearth_str::new(text.trim_end_matches(['.', '\n']).as_bytes())
    }

    fn hearth_on_body_arrived(request: &Request) -> bool {
        request.has_body()
    }
}
