//! One HTTP request as PHP sees it, and the response that comes back.

mod time;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http1::{BodyError, RequestHead, ResponseHead};
use php_sys::hearth_str;

use crate::client::Client;
use crate::incoming::{BodySource, Incoming};
use crate::pipe::Pipe;
use crate::timings::Timings;
use crate::wait::{Cancel, may_leave, wait};
use time::Computing;

/// What a request of a classic site runs.
#[derive(Debug)]
pub struct Script {
    /// `SCRIPT_FILENAME`.
    pub filename: CString,
    /// `SCRIPT_NAME`.
    pub name: Vec<u8>,
    /// `PATH_INFO`; empty if there is none.
    pub path_info: Vec<u8>,
    /// `QUERY_STRING`, where it is not that of the request.
    pub query: Option<Vec<u8>>,
    /// `DOCUMENT_ROOT`.
    pub document_root: Rc<[u8]>,
}

/// One request.
pub struct Request {
    pub(crate) head: RequestHead,
    pub(crate) id: u64,
    pub(crate) client: Rc<Client>,
    incoming: RefCell<Incoming>,
    response: RefCell<Option<Response>>,
    pipe: RefCell<Option<Rc<Pipe>>>,
    responded: Cell<bool>,
    ended: Cell<bool>,
    waiter: RefCell<Option<Waker>>,
    joined: RefCell<Vec<u8>>,
    /// When its time is over, in the host's milliseconds.
    deadline: Cell<u64>,
    /// Why its time is over, once it was told so.
    overdue: Cell<Option<Cancel>>,
    /// How often.
    told: Cell<u32>,
    /// How long its code may run, waits not counted, if it has said so.
    computing: Cell<Option<Computing>>,
    /// The client no longer waits for the response.
    abandoned: Cell<bool>,
    /// In classic mode.
    script: OnceCell<Rc<Script>>,
    /// When it is slow, in the host's milliseconds; `u64::MAX` without a slow log, and once it is logged.
    slow_at: Cell<u64>,
    /// If they are wanted.
    timings: OnceCell<Rc<Timings>>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} {:?}", self.id, self.head)
    }
}

/// What the handler answered.
#[derive(Debug)]
pub struct Response {
    pub head: ResponseHead,
    pub known: Known,
    pub body: Body,
    /// The task goes on after this: poll it in the background.
    pub more: bool,
}

/// Which fields that the server sets itself are among those of the handler.
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
    /// Filled by the task as it goes.
    Stream(Rc<Pipe>),
    /// The path of a file that the server sends.
    File(String),
}

impl Request {
    /// `limit` is the most bytes its body may have (PHP's `post_max_size`), 0 for no limit.
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
            waiter: RefCell::new(None),
            joined: RefCell::default(),
            deadline: Cell::new(u64::MAX),
            overdue: Cell::new(None),
            told: Cell::new(0),
            computing: Cell::new(None),
            abandoned: Cell::new(false),
            script: OnceCell::new(),
            slow_at: Cell::new(u64::MAX),
            timings: OnceCell::new(),
        })
    }

    /// Note there where its time goes.
    pub fn measure(&self, timings: Rc<Timings>) {
        let _ = self.timings.set(timings);
    }

    pub fn timings(&self) -> Option<&Timings> {
        self.timings.get().map(Rc::as_ref)
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// What it runs; kept for as long as the request.
    pub(crate) fn set_script(&self, script: Rc<Script>) -> &Script {
        self.script.get_or_init(|| script)
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn head(&self) -> &RequestHead {
        &self.head
    }

    /// The response, once, as soon as there is one.
    pub fn take_response(&self) -> Option<Response> {
        self.response.borrow_mut().take()
    }

    /// The beginning of the body, as far as it is here and unread. `is_whole`: no client has to be waited for.
    pub fn body_here(&self, is_whole: bool) -> Bytes {
        self.incoming.borrow_mut().here(is_whole)
    }

    /// Why not all of the body came, if it was asked for.
    pub fn body_error(&self) -> Option<BodyError> {
        self.incoming.borrow().error()
    }

    /// Before the request runs: ready when that many bytes of its body are here, or all.
    pub fn poll_first_of_body(
        &self,
        most: u64,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BodyError>> {
        self.incoming.borrow_mut().poll_first(most, context)
    }

    /// What has come of its body, and the rest, if more is to come: for who keeps it elsewhere.
    pub fn take_body(&self) -> Option<(Bytes, Box<dyn BodySource>)> {
        let mut incoming = self.incoming.borrow_mut();
        let rest = incoming.take_source()?;
        Some((incoming.take_piece(), rest))
    }

    /// All of its body.
    pub fn put_body(&self, whole: Box<dyn BodySource>) {
        self.incoming.borrow_mut().replace(whole);
    }

    /// Wait for the response without running the task: for a caller that handed it over.
    pub fn poll_response(&self, context: &mut Context<'_>) -> Poll<Option<Response>> {
        if let Some(response) = self.take_response() {
            return Poll::Ready(Some(response));
        }
        if self.ended.get() {
            return Poll::Ready(None);
        }
        *self.waiter.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whether its handler has ended, however.
    pub fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// What the handler left unread of the body: read it to its end, or the connection cannot go on.
    pub fn take_unread(&self) -> Option<Box<dyn BodySource>> {
        self.incoming.borrow_mut().take_source()
    }

    /// The client is gone: what is still answered is discarded, and its writer is told.
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
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiter.borrow_mut().take() {
            waker.wake();
        }
    }

    /// This piece and no more of the body will come. Never waits.
    pub(crate) fn finish(&self, last: Bytes) {
        if let Some(pipe) = self.pipe.borrow_mut().take() {
            if !last.is_empty() {
                pipe.push(last);
            }
            pipe.close();
        }
    }

    /// The handler's task has ended: nothing more will come.
    pub fn end(&self) {
        self.ended.set(true);
        self.finish(Bytes::new());
        self.wake();
    }

    /// The stream ends before it is complete (an exception or a fatal error after the head was sent): the client must not take it
    /// for that.
    pub(crate) fn break_off(&self) {
        if let Some(pipe) = self.pipe.borrow_mut().take() {
            pipe.fail();
        }
    }

    /// The handler's task has ended by a fatal error.
    pub fn fail(&self) {
        self.break_off();
        self.end();
    }

    /// Piece of a streamed body; false when the client is gone. Waits while the client is slow, where a task may be left.
    pub(crate) fn write(&self, piece: Bytes) -> bool {
        let Some(pipe) = self.pipe.borrow().clone() else {
            return false;
        };
        if piece.is_empty() {
            return !pipe.is_gone();
        }
        // Where it must not wait it is told nothing: what it writes was in memory before.
        if pipe.is_full()
            && may_leave()
            && wait(std::future::poll_fn(|context| pipe.poll_room(context))).is_err()
        {
            return false;
        }
        pipe.push(piece)
    }

    /// Bytes read, 0 at the end, -1 if there will be none. Waits for the client.
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

    /// Whether all of the body is here. Does not wait.
    pub(crate) fn has_body(&self) -> bool {
        self.incoming.borrow_mut().gather()
    }

    pub(crate) fn id_text(&self) -> String {
        format!("{:016x}", self.id)
    }

    /// The value of a field; several of one name are joined as RFC 9110 (5.3) says.
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

    /// The same for C, which copies it at once: what is joined is kept up to the next call.
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
