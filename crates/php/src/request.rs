//! An HTTP request as PHP sees it, and its response.

mod time;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{BodyError, RequestHead, ResponseHead};
use php_sys::hearth_str;

use crate::client::Client;
use crate::host::{host, is_forked};
use crate::incoming::{BodySource, Incoming};
use crate::pipe::Pipe;
use crate::timings::Timings;
use crate::wait::{Cancel, may_leave, wait};
use time::Computing;

/// The script that a request of a classic site runs.
#[derive(Debug)]
pub struct Script {
    /// `SCRIPT_FILENAME`.
    pub filename: CString,
    /// `SCRIPT_NAME`.
    pub name: Vec<u8>,
    /// `PATH_INFO`; empty without one.
    pub path_info: Vec<u8>,
    /// `QUERY_STRING`, if it differs from the request's.
    pub query: Option<Vec<u8>>,
    /// `DOCUMENT_ROOT`.
    pub document_root: Rc<[u8]>,
}

/// An HTTP request, its body and its response.
pub struct Request {
    pub(crate) head: RequestHead,
    pub(crate) id: u64,
    pub(crate) client: Rc<Client>,
    incoming: RefCell<Incoming>,
    response: RefCell<Option<Response>>,
    pipe: RefCell<Option<Rc<Pipe>>>,
    responded: Cell<bool>,
    ended: Cell<bool>,
    joined: RefCell<Vec<u8>>,
    /// When the request's time is over, in milliseconds of the host's clock.
    deadline: Cell<u64>,
    /// Why the request's time is over, once the timeout error was raised.
    overdue: Cell<Option<Cancel>>,
    /// How often the request was notified that its time is over.
    notices: Cell<u32>,
    /// The limit of computing time, waits not counted, once the code has set one.
    computing: Cell<Option<Computing>>,
    /// The client no longer waits for the response.
    abandoned: Cell<bool>,
    /// The script, in classic mode.
    script: OnceCell<Rc<Script>>,
    /// When the request counts as slow, in the host's milliseconds; `u64::MAX` without a slow log, and once it is logged.
    slow_at: Cell<u64>,
    /// The request's timings, if they are measured.
    timings: OnceCell<Rc<Timings>>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} {:?}", self.id, self.head)
    }
}

/// A response of the handler.
#[derive(Debug)]
pub struct Response {
    pub head: ResponseHead,
    pub known: Known,
    pub body: Body,
    /// The task goes on after the response, so it has to be polled in the background.
    pub more: bool,
}

/// Whether the handler has set fields that the server otherwise sets itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    pub content_type: bool,
    /// `Connection`, `Transfer-Encoding` or `Content-Length`.
    pub framing: bool,
    /// `X-Sendfile` or `X-Accel-Redirect`.
    pub file: bool,
}

/// A response's body.
#[derive(Debug)]
pub enum Body {
    Full(Bytes),
    /// A stream that the task fills.
    Stream(Rc<Pipe>),
    /// The path of a file that the server sends.
    File(String),
}

impl Request {
    /// `limit` is the most bytes that the body may have (PHP's `post_max_size`); 0 for no limit.
    pub fn new(
        head: RequestHead,
        id: u64,
        client: Rc<Client>,
        body: Option<Box<dyn BodySource>>,
        limit: u64,
    ) -> Rc<Request> {
        Rc::new(Request {
            head,
            id,
            client,
            incoming: RefCell::new(Incoming::new(body, limit)),
            response: RefCell::new(None),
            pipe: RefCell::new(None),
            responded: Cell::new(false),
            ended: Cell::new(false),
            joined: RefCell::default(),
            deadline: Cell::new(u64::MAX),
            overdue: Cell::new(None),
            notices: Cell::new(0),
            computing: Cell::new(None),
            abandoned: Cell::new(false),
            script: OnceCell::new(),
            slow_at: Cell::new(u64::MAX),
            timings: OnceCell::new(),
        })
    }

    /// Records in `timings` where the request's time goes.
    pub fn measure(&self, timings: Rc<Timings>) {
        let _ = self.timings.set(timings);
    }

    pub fn timings(&self) -> Option<&Timings> {
        self.timings.get().map(Rc::as_ref)
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// Sets the script that the request runs, and keeps it as long as the request.
    pub(crate) fn set_script(&self, script: Rc<Script>) -> &Script {
        self.script.get_or_init(|| script)
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn head(&self) -> &RequestHead {
        &self.head
    }

    /// Takes the response, as soon as there is one.
    pub fn take_response(&self) -> Option<Response> {
        self.response.borrow_mut().take()
    }

    /// The bytes of the body that have arrived and are unread. With `is_whole` no client has to be waited for.
    pub fn body_here(&self, is_whole: bool) -> Bytes {
        self.incoming.borrow_mut().here(is_whole)
    }

    /// Why the body ended early, if it did and was read so far.
    pub fn body_error(&self) -> Option<BodyError> {
        self.incoming.borrow().error()
    }

    /// Becomes ready when `most` bytes of the body, or all of it, have arrived. Called before the request runs.
    pub fn poll_first_of_body(
        &self,
        most: u64,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BodyError>> {
        self.incoming.borrow_mut().poll_first(most, context)
    }

    /// Takes the part of the body that has arrived, and the source of the rest; `None` if no more is to come.
    pub fn take_body(&self) -> Option<(Bytes, Box<dyn BodySource>)> {
        let mut incoming = self.incoming.borrow_mut();
        let rest = incoming.take_source()?;
        Some((incoming.take_piece(), rest))
    }

    /// Sets the whole body, in place of what [`take_body`](Request::take_body) took.
    pub fn put_body(&self, whole: Box<dyn BodySource>) {
        self.incoming.borrow_mut().replace(whole);
    }

    /// Whether the handler has ended, in any way.
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// The rest of the body that the handler left unread. It must be read to its end before the connection can be reused.
    pub fn take_unread(&self) -> Option<Box<dyn BodySource>> {
        self.incoming.borrow_mut().take_source()
    }

    /// Marks the client as gone: further output is discarded, and a task that waits to write is woken.
    pub fn abandon(&self) {
        self.abandoned.set(true);
        if let Some(pipe) = &*self.pipe.borrow() {
            pipe.hang_up();
        }
    }

    pub(crate) fn respond(&self, response: Response) {
        if self.responded.replace(true) || self.abandoned.get() {
            return;
        }
        if let Body::Stream(pipe) = &response.body {
            *self.pipe.borrow_mut() = Some(Rc::clone(pipe));
        }
        *self.response.borrow_mut() = Some(response);
    }

    /// Sends the last piece of the body and ends it. Never waits.
    pub(crate) fn finish(&self, last: Bytes) {
        if let Some(pipe) = self.pipe.borrow_mut().take() {
            if !last.is_empty() {
                pipe.push(last);
            }
            pipe.close();
        }
    }

    /// Marks the handler's task as ended: nothing more is sent.
    pub fn end(&self) {
        self.ended.set(true);
        host().forget_held(self.id);
        self.finish(Bytes::new());
    }

    /// Breaks the stream off (an exception or a fatal error after the head was sent), so that the client does not take the
    /// response for complete.
    pub(crate) fn break_off(&self) {
        if let Some(pipe) = self.pipe.borrow_mut().take() {
            pipe.fail();
        }
    }

    /// Marks the handler's task as ended by a fatal error.
    pub fn fail(&self) {
        self.break_off();
        self.end();
    }

    /// Sends a piece of a streamed body; false when the client is gone. Waits while the client is slow, if the task may be
    /// suspended. In a process that PHP code forked the piece goes nowhere: the client gets the parent's response.
    pub(crate) fn write(&self, piece: Bytes) -> bool {
        if is_forked() {
            return true;
        }
        let Some(pipe) = self.pipe.borrow().clone() else {
            return false;
        };
        if piece.is_empty() {
            return !pipe.is_gone();
        }
        // Where it must not wait, the piece is queued in any case: it was in memory before, too.
        if pipe.is_full()
            && may_leave()
            && wait(std::future::poll_fn(|context| pipe.poll_room(context))).is_err()
        {
            return false;
        }
        pipe.push(piece)
    }

    /// Reads the body: the number of bytes, 0 at the end, -1 if the rest cannot be read. Waits for the client.
    pub(crate) fn read_body(&self, buffer: &mut [u8]) -> isize {
        loop {
            if let Some(step) = self.incoming.borrow_mut().read(buffer) {
                return match step {
                    Ok(count) => isize::try_from(count).unwrap_or(0),
                    Err(_) => -1,
                };
            }
            let more =
                std::future::poll_fn(|context| self.incoming.borrow_mut().poll_more(context));
            if wait(more).is_err() {
                return -1;
            }
        }
    }

    /// Whether the whole body has arrived. Does not wait.
    pub(crate) fn has_body(&self) -> bool {
        self.incoming.borrow_mut().gather()
    }

    pub(crate) fn id_text(&self) -> String {
        format!("{:016x}", self.id)
    }

    /// The value of a field; several of one name are joined (RFC 9110, section 5.3).
    pub(crate) fn field(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        let mut values = self.head.fields.get_all(name);
        let first = values.next()?;
        let Some(second) = values.next() else {
            return Some(Cow::Borrowed(first));
        };
        let separator: &[u8] = if name.eq_ignore_ascii_case(b"cookie") {
            b"; "
        } else {
            b", "
        };
        let all: Vec<_> = [first, second].into_iter().chain(values).collect();
        Some(Cow::Owned(all.join(separator)))
    }

    /// The same value for C, which copies it at once: a joined value is valid until the next call.
    pub(crate) fn raw_field(&self, name: &[u8]) -> Option<hearth_str> {
        Some(match self.field(name)? {
            Cow::Borrowed(value) => hearth_str::new(value),
            Cow::Owned(value) => {
                let mut joined = self.joined.borrow_mut();
                *joined = value;
                hearth_str::new(&joined)
            }
        })
    }
}
