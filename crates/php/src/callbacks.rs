//! The functions that C calls: one macro makes them all.
//!
//! They run on the stack of a task. A panic must not unwind into C, so it ends the process with its message; while one
//! of them runs, libc hooks let calls pass ([`HookBypass`]).

use std::ffi::{c_char, c_int, c_void};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use ::cache::Locked;
use bytes::Bytes;
use http1::{BodyError, Fields, ResponseHead, Version};
use php_sys::{
    self as sys, hearth_cache_entry, hearth_cache_figure, hearth_cache_found, hearth_cache_mark,
    hearth_cache_write, hearth_header, hearth_request_head, hearth_response, hearth_str,
};

use crate::budget;
use crate::children;
use crate::engine::Level;
use crate::host::{self, host};
use crate::request::{Body, Known, Request, Response};
use crate::runner;
use crate::task::{self, TaskCell};
use crate::task_ref::{self, TaskRef};
use crate::wait::{self, Cancel, HookBypass};
use crate::{cache, cache_many, session};

macro_rules! callbacks {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$doc])*
        const _: php_sys::called_by_c::$name = $name;
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) $(-> $result)? {
            let run = AssertUnwindSafe(move || { let _busy = HookBypass::enter(); $body });
            catch_unwind(run).unwrap_or_else(|_| std::process::abort())
        }
    )*};
}

/// For those that only read or count: nothing in them can reach a hook.
macro_rules! quick_callbacks {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)*) => {$(
        const _: php_sys::called_by_c::$name = $name;
        #[unsafe(no_mangle)]
        extern "C" fn $name($($arg: $type),*) $(-> $result)? {
            catch_unwind(AssertUnwindSafe(move || $body)).unwrap_or_else(|_| std::process::abort())
        }
    )*};
}

/// # Safety
/// `request` must be a pointer that `Task::request` gave to C, not yet released.
unsafe fn request_of<'a>(request: *mut c_void) -> &'a Request {
    // SAFETY: see above; C holds a reference for as long as it uses the pointer.
    unsafe { &*request.cast::<Request>() }
}

/// # Safety
/// `owner` must be a pointer from [`hearth_on_task_new`] or the owner of a running task.
unsafe fn cell_of<'a>(owner: *mut c_void) -> &'a TaskCell {
    // SAFETY: see above.
    unsafe { &*owner.cast::<TaskCell>() }
}

/// # Safety
/// The bytes must be valid during the call.
unsafe fn text<'a>(string: hearth_str) -> std::borrow::Cow<'a, str> {
    // SAFETY: see above.
    String::from_utf8_lossy(unsafe { string.bytes() })
}

fn str_or_none(bytes: Option<&[u8]>) -> hearth_str {
    bytes.map_or(hearth_str::NONE, hearth_str::new)
}

fn head_of(request: &Request) -> hearth_request_head {
    let head = &request.head;
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
    match response.kind {
        sys::HEARTH_BODY_STREAM => Body::Stream(Rc::default()),
        // SAFETY: the caller vouches for the pointers.
        sys::HEARTH_BODY_FILE => Body::File(unsafe { text(response.body) }.into_owned()),
        _ if response.retained.is_null() => {
            // SAFETY: as above.
            Body::Full(Bytes::copy_from_slice(unsafe { response.body.bytes() }))
        }
        _ => Body::Full(Bytes::from_owner(Retained {
            bytes: response.body,
            retained: response.retained,
        })),
    }
}

fn note(name: &[u8], known: &mut Known) {
    // Their lengths tell nearly all others apart.
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

/// What most fields of a response need, all together.
const USUAL_BYTES: usize = 128;

/// # Safety
/// All pointers in `response` must be valid during the call.
unsafe fn fields_of(response: &hearth_response) -> (Fields, Known) {
    let mut known = Known::default();
    if response.header_count == 0 {
        return (Fields::new(), known);
    }
    let mut fields = Fields::with_capacity(response.header_count + 1, USUAL_BYTES);
    for i in 0..response.header_count {
        // SAFETY: C gives `header_count` headers whose bytes live during the call.
        let (name, value) = unsafe {
            let header = *response.headers.add(i);
            (header.name.bytes(), header.value.bytes())
        };
        if fields.try_push(name, value).is_ok() {
            note(name, &mut known);
        } else {
            host::log(
                Level::Warning,
                &format!(
                    "a response header with characters that HTTP forbids was left out: {}",
                    String::from_utf8_lossy(name)
                ),
                task::current_request_id(),
            );
        }
    }
    (fields, known)
}

fn level_of(level: c_int) -> Level {
    match level {
        0 => Level::Debug,
        1 => Level::Notice,
        2 => Level::Warning,
        _ => Level::Error,
    }
}

quick_callbacks! {
    fn hearth_on_holds_lock() -> bool {
        host::holds_lock()
    }

    fn hearth_on_head(request: *mut c_void, out: *mut hearth_request_head) {
        // SAFETY: C passes a live request and a place for the answer.
        unsafe { out.write(head_of(request_of(request))) };
    }

    fn hearth_on_content(request: *mut c_void, kind: *mut hearth_str, length: *mut i64) {
        // SAFETY: C passes a live request and places for the answers.
        unsafe {
            let fields = &request_of(request).head.fields;
            kind.write(str_or_none(fields.get("Content-Type")));
            length.write(fields.text("Content-Length").and_then(|value| value.parse().ok()).unwrap_or(-1));
        }
    }

    fn hearth_on_header(request: *mut c_void, name: hearth_str, out: *mut hearth_str) -> bool {
        // SAFETY: C passes a live request, a name that lives during the call, and a place for the answer.
        let (request, name) = unsafe { (request_of(request), name.bytes()) };
        let Some(value) = request.raw_field(name) else { return false };
        // SAFETY: as above.
        unsafe { out.write(value) };
        true
    }

    fn hearth_on_headers(request: *mut c_void, out: *mut hearth_header, capacity: usize) -> usize {
        // SAFETY: C passes a live request and room for `capacity` headers.
        let fields = &unsafe { request_of(request) }.head.fields;
        for (i, (name, value)) in fields.iter().take(capacity).enumerate() {
            let header = hearth_header { name: hearth_str::new(name), value: hearth_str::new(value) };
            // SAFETY: i < capacity.
            unsafe { out.add(i).write(header) };
        }
        fields.len()
    }

    fn hearth_on_client(request: *mut c_void, address: *mut hearth_str, port: *mut c_int, local: *mut hearth_str, local_port: *mut c_int, secure: *mut bool) {
        // SAFETY: C passes a live request and places for the answers.
        unsafe {
            let client = &request_of(request).client;
            let ends = client.endpoints();
            let port_of = |end: Option<SocketAddr>| end.map_or(0, |end| c_int::from(end.port()));
            address.write(hearth_str::new(client.address_text().as_bytes()));
            port.write(port_of(ends.client));
            local.write(hearth_str::new(client.local_text().as_bytes()));
            local_port.write(port_of(ends.local));
            secure.write(ends.secure);
        }
    }

    fn hearth_on_request_retain(request: *mut c_void) {
        // SAFETY: the pointer came from Rc::into_raw and is live.
        unsafe { Rc::increment_strong_count(request.cast::<Request>()) };
    }

    fn hearth_on_respond(request: *mut c_void, response: *const hearth_response) {
        // SAFETY: C passes a live request and a response whose pointers live during the call.
        unsafe {
            let response = &*response;
            let status = u16::try_from(response.status).unwrap_or(500);
            let reason = Bytes::copy_from_slice(response.reason.bytes());
            let (fields, known) = fields_of(response);
            let head = ResponseHead { status, reason, fields };
            request_of(request).respond(Response { head, known, body: body_of(response), more: response.more });
        }
    }
}

quick_callbacks! {
    fn hearth_on_cache_is_current(marks: *const hearth_cache_mark, count: usize, expires: u64) -> bool {
        // SAFETY: C passes `count` marks, at least one.
        cache::is_current(unsafe { std::slice::from_raw_parts(marks, count) }, expires)
    }

    fn hearth_on_cache_read(key: hearth_str, out: *mut hearth_cache_found) -> c_int {
        // SAFETY: the bytes live during the call.
        let (outcome, found) = cache::read(unsafe { key.bytes() });
        if let Some(found) = found {
            // SAFETY: C passes a place for the answer.
            unsafe { out.write(found) };
        }
        outcome
    }

    fn hearth_on_cache_read_many(keys: *const hearth_str, count: usize, out: *mut hearth_cache_found) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call, and as many initialised places.
        let (keys, out) = unsafe { (cache::names(keys, count), std::slice::from_raw_parts_mut(out, count)) };
        cache_many::read(&keys, out)
    }

    fn hearth_on_cache_write_many(writes: *const hearth_cache_write, count: usize, outcomes: *mut c_int) {
        // SAFETY: C passes `count` writes whose pointers live during the call, and as many initialised numbers.
        unsafe { cache_many::write(std::slice::from_raw_parts(writes, count), std::slice::from_raw_parts_mut(outcomes, count)) }
    }

    fn hearth_on_cache_delete_many(keys: *const hearth_str, count: usize, deleted: *mut usize) -> c_int {
        // SAFETY: C passes `count` keys whose bytes live during the call, and an initialised number.
        let (keys, deleted) = unsafe { (cache::names(keys, count), &mut *deleted) };
        cache_many::delete(&keys, deleted)
    }

    fn hearth_on_cache_write(write: *const hearth_cache_write) -> c_int {
        // SAFETY: C passes a write whose pointers live during the call.
        unsafe { cache::write(&*write) }
    }

    fn hearth_on_cache_increment(write: *const hearth_cache_write, sum: *mut i64) -> c_int {
        // SAFETY: as above, and an initialised number for the sum.
        unsafe { cache::increment(&*write, &mut *sum) }
    }

    fn hearth_on_cache_delete(key: hearth_str) -> c_int {
        // SAFETY: the bytes live during the call.
        cache::delete(unsafe { key.bytes() })
    }

    fn hearth_on_cache_delete_tag(tag: hearth_str) -> c_int {
        // SAFETY: the bytes live during the call.
        cache::delete_tag(unsafe { tag.bytes() })
    }

    fn hearth_on_cache_clear() -> c_int {
        cache::clear()
    }

    fn hearth_on_cache_tags(tags: *const hearth_str, count: usize, out: *mut hearth_cache_mark) -> c_int {
        // SAFETY: C passes `count` names that live during the call, and room for as many initialised marks.
        let (names, out) = unsafe { (cache::names(tags, count), std::slice::from_raw_parts_mut(out, count)) };
        cache::tags(&names, out)
    }

    fn hearth_on_cache_claim(space: c_int, name: hearth_str, owner: hearth_str, time: u64, number: *mut u64) -> c_int {
        // SAFETY: the bytes live during the call; C passes an initialised number of its own.
        unsafe { cache::claim(space, name.bytes(), owner.bytes(), time, &mut *number) }
    }

    fn hearth_on_cache_token(space: c_int, name: hearth_str, owner: hearth_str, number: *mut u64) -> c_int {
        // SAFETY: the bytes live during the call; C passes an initialised number of its own.
        unsafe { cache::token(space, name.bytes(), owner.bytes(), &mut *number) }
    }

    fn hearth_on_cache_give_back(space: c_int, name: hearth_str, token: u64) -> c_int {
        // SAFETY: the bytes live during the call.
        cache::give_back(space, unsafe { name.bytes() }, token)
    }

    fn hearth_on_cache_extend(space: c_int, name: hearth_str, token: u64, time: u64) -> c_int {
        // SAFETY: the bytes live during the call.
        cache::extend(space, unsafe { name.bytes() }, token, time)
    }

    fn hearth_on_cache_holds(space: c_int, name: hearth_str, token: u64) -> c_int {
        // SAFETY: the bytes live during the call.
        cache::holds(space, unsafe { name.bytes() }, token)
    }

    fn hearth_on_cache_wait(key: hearth_str) -> c_int {
        // SAFETY: the caller's key is valid during the call.
        cache::wait_for(unsafe { key.bytes() })
    }

    fn hearth_on_cache_count(event: c_int) {
        cache::count(event);
    }

    fn hearth_on_cache_now() -> u64 {
        cache::now()
    }

    fn hearth_on_cache_largest() -> usize {
        cache::largest()
    }

    fn hearth_on_cache_list(prefix: hearth_str) -> usize {
        // SAFETY: the bytes live during the call.
        cache::list(unsafe { prefix.bytes() })
    }

    fn hearth_on_cache_listed(at: usize) -> hearth_cache_entry {
        cache::listed(at)
    }

    fn hearth_on_cache_stats(out: *mut hearth_cache_figure, capacity: usize) -> usize {
        // SAFETY: C passes zeroed room for `capacity` figures.
        cache::stats(unsafe { std::slice::from_raw_parts_mut(out, capacity) })
    }

    fn hearth_on_session_lock(key: hearth_str, number: *mut u64) -> c_int {
        // SAFETY: the bytes live during the call; C passes an initialised number of its own.
        unsafe { session::lock(key.bytes(), &mut *number) }
    }

    fn hearth_on_session_unlock(key: hearth_str, token: u64) -> c_int {
        // SAFETY: the bytes live during the call.
        session::unlock(Locked { key: unsafe { key.bytes() }, token })
    }

    fn hearth_on_session_exists(key: hearth_str) -> c_int {
        // SAFETY: the bytes live during the call.
        session::exists(unsafe { key.bytes() })
    }

    fn hearth_on_session_read(key: hearth_str, token: u64, seconds: i64, out: *mut hearth_str) -> c_int {
        // SAFETY: the bytes live during the call; C passes an initialised place for the answer.
        unsafe { session::read(Locked { key: key.bytes(), token }, seconds, &mut *out) }
    }

    fn hearth_on_session_write(key: hearth_str, token: u64, data: hearth_str, seconds: i64, evicted: *mut u64) -> c_int {
        // SAFETY: the bytes live during the call; C passes an initialised number of its own.
        unsafe { session::write(Locked { key: key.bytes(), token }, data.bytes(), seconds, &mut *evicted) }
    }

    fn hearth_on_session_touch(key: hearth_str, token: u64, seconds: i64) -> c_int {
        // SAFETY: the bytes live during the call.
        session::touch(Locked { key: unsafe { key.bytes() }, token }, seconds)
    }

    fn hearth_on_session_destroy(key: hearth_str) -> c_int {
        // SAFETY: the bytes live during the call.
        session::destroy(unsafe { key.bytes() })
    }

    fn hearth_on_session_collect(removed: *mut u64) -> c_int {
        // SAFETY: C passes an initialised number of its own.
        session::collect(unsafe { &mut *removed })
    }

    fn hearth_on_session_awaited() {
        session::awaited();
    }
}

callbacks! {
    /// Writes the id as text into the request's own buffer.
    fn hearth_on_request_id(request: *mut c_void, buffer: *mut c_char) {
        // SAFETY: C passes a live request and 16 bytes of room.
        unsafe {
            let id = request_of(request).id_text();
            std::ptr::copy_nonoverlapping(id.as_ptr(), buffer.cast(), id.len().min(16));
        }
    }

    fn hearth_on_body_read(request: *mut c_void, buffer: *mut c_char, length: usize) -> isize {
        // SAFETY: C passes a live request and `length` bytes of room.
        unsafe { request_of(request).read_body(std::slice::from_raw_parts_mut(buffer.cast(), length)) }
    }

    fn hearth_on_body_error(request: *mut c_void) -> hearth_str {
        // SAFETY: C passes a live request.
        let error = unsafe { request_of(request) }.body_error();
        let text = error.map_or("", BodyError::text);
        hearth_str::new(text.trim_end_matches(['.', '\n']).as_bytes())
    }

    fn hearth_on_body_arrived(request: *mut c_void) -> bool {
        // SAFETY: C passes a live request.
        unsafe { request_of(request) }.has_body()
    }

    fn hearth_on_finish(request: *mut c_void, last: hearth_str) {
        // SAFETY: C passes a live request and bytes that live during the call.
        unsafe { request_of(request).finish(Bytes::copy_from_slice(last.bytes())) };
    }

    fn hearth_on_write(request: *mut c_void, piece: hearth_str) -> bool {
        // SAFETY: C passes a live request and bytes that live during the call.
        unsafe { request_of(request).write(Bytes::copy_from_slice(piece.bytes())) }
    }

    fn hearth_on_broken(owner: *mut c_void) {
        // SAFETY: the owner is the running task's.
        unsafe { cell_of(owner) }.break_off();
    }

    fn hearth_on_leave(reason: hearth_str) {
        // SAFETY: the bytes live during the call.
        host().leave(&unsafe { text(reason) });
    }

    fn hearth_on_request_release(request: *mut c_void) {
        // SAFETY: each release answers one retain, or the reference that Task::request gave.
        unsafe { Rc::decrement_strong_count(request.cast::<Request>()) };
    }

    fn hearth_on_time_limit(owner: *mut c_void, seconds: f64) {
        // SAFETY: the owner is the running task's.
        if let Some(request) = &unsafe { cell_of(owner) }.request {
            host().time_limit(request, Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
    }

    fn hearth_on_cpu_limit(seconds: i64) {
        host().cpu_limit(u32::try_from(seconds).unwrap_or(0));
    }

    fn hearth_on_log(level: c_int, message: hearth_str) {
        // SAFETY: the bytes live during the call.
        host::log(level_of(level), &unsafe { text(message) }, task::current_request_id());
    }

    fn hearth_on_task_log(owner: *mut c_void, level: c_int, message: hearth_str) {
        // SAFETY: the Task object of PHP holds a reference.
        let request = unsafe { cell_of(owner) }.request_id();
        // SAFETY: the bytes live during the call.
        host::log(level_of(level), &unsafe { text(message) }, request);
    }

    fn hearth_on_task_new(parent: *mut c_void, task: *mut sys::hearth_task, child: bool) -> *mut c_void {
        // SAFETY: the parent is the running task.
        let cell = children::new_task(unsafe { cell_of(parent) }, task, child);
        Rc::into_raw(cell).cast_mut().cast()
    }

    fn hearth_on_task_start(owner: *mut c_void) {
        // SAFETY: the pointer is from hearth_on_task_new and holds a reference; this adds one for the run.
        let cell = unsafe {
            Rc::increment_strong_count(owner.cast::<TaskCell>());
            Rc::from_raw(owner.cast::<TaskCell>())
        };
        runner::start(cell);
    }

    fn hearth_on_await(owner: *mut c_void, seconds: f64) -> c_int {
        // SAFETY: the Task object of PHP holds a reference.
        children::await_task(unsafe { cell_of(owner) }, seconds)
    }

    fn hearth_on_cancel(owner: *mut c_void) {
        // SAFETY: as above.
        unsafe { cell_of(owner) }.cancel(Cancel::Task);
    }

    fn hearth_on_two_tasks(owner: *mut c_void, task: u64, function: hearth_str) {
        let request = if owner.is_null() {
            0
        } else {
            // SAFETY: the owner of a task that waits.
            unsafe { cell_of(owner) }.request_id()
        };
        // SAFETY: valid during the call.
        let what = format!("calls {}() on a connection or stream", unsafe { text(function) });
        task_ref::throw_two_tasks(&what, TaskRef { task, request });
        host().two_tasks(task, TaskRef::current().task);
    }

    fn hearth_on_refuses(fd: c_int) -> bool {
        host().refuses(fd)
    }

    fn hearth_on_owner_release(owner: *mut c_void) {
        // SAFETY: releases the reference of hearth_on_task_new.
        task::reuse(&mut unsafe { Rc::from_raw(owner.cast::<TaskCell>()) });
    }

    fn hearth_on_join_children(cancel: bool) -> bool {
        children::join_children(cancel)
    }

    fn hearth_on_park(seconds: f64) -> c_int {
        children::park(seconds)
    }

    fn hearth_on_unpark(owner: *mut c_void) -> bool {
        // SAFETY: C found the owner of a task that has not ended.
        children::unpark(unsafe { cell_of(owner) })
    }

    fn hearth_on_yield() {
        children::yield_now();
    }

    fn hearth_on_timer(seconds: f64, repeat: bool, callback: u64) {
        host::start_timer(callback, Duration::try_from_secs_f64(seconds).unwrap_or_default(), repeat);
    }

    fn hearth_on_timer_stop(timer: u64) -> bool {
        host::stop_timer(timer)
    }

    fn hearth_on_interrupt() {
        wait::on_interrupt();
    }

    fn hearth_on_told(message: hearth_str) -> bool {
        // SAFETY: the bytes live during the call.
        wait::on_told(unsafe { message.bytes() })
    }

    fn hearth_on_budget(name: hearth_str, total: i64) -> i64 {
        // SAFETY: the bytes live during the call.
        budget::open(unsafe { name.bytes() }, total)
    }

    fn hearth_on_budget_acquire(handle: i64, n: i64) -> bool {
        budget::acquire(handle, n)
    }

    fn hearth_on_budget_release(handle: i64, n: i64) {
        budget::release(handle, n);
    }

    fn hearth_on_budget_used(handle: i64) -> i64 {
        budget::used(handle)
    }

    fn hearth_on_report(report: hearth_str) {
        // SAFETY: the bytes live during the call.
        host::report(&unsafe { text(report) });
    }
}
