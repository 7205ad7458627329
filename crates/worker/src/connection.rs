//! One client connection: hyper on a stream that notes when it was last heard of, and whether the client still waits.
//!
//! **When a client hangs up.** Whether the end of what a client sends means that it left or only that it has no more to
//! say (`shutdown(SHUT_WR)`, `nc -N`), TCP does not tell before a write fails. As nginx does in front of php-fpm, the end
//! counts as leaving as soon as an answer has to be waited for: its request is cancelled. An answer that is there at
//! once is sent all the same. The look costs nothing per request: it is one question about readiness, asked only when
//! nothing else is left to do, and hyper is told not to look itself (`half_close`), for which it would make and throw
//! away a read buffer with every request.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use http_body::Body as _;
use http1::{Fields, RequestHead, Version};
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1 as hyper1;
use hyper_util::rt::TokioIo;
use php::{BodySource, Client};
use scoreboard::Counter;

use crate::body::{RequestBody, ResponseBody};
use crate::door::{Caller, Passage};
use crate::handler::{Answering, plain, refused, refused_to_front};
use crate::stream::Stream;
use crate::waiter::now_ms;
use crate::worker::Worker;

/// What the clock needs to know to close connections that nothing comes from.
pub(crate) struct Life {
    /// When the current phase began: idle, or receiving a header.
    pub(crate) since: Cell<u64>,
    pub(crate) phase: Cell<Phase>,
    /// It is the front's, which alone decides when to close it.
    pub(crate) is_private: bool,
    close: Cell<Close>,
    /// The client has sent more, which is read when the answer is out: its end cannot be seen before.
    unread: Cell<bool>,
    /// Of the connection's task; set once, it is always the same.
    waker: RefCell<Option<Waker>>,
}

/// What the clock wants of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    No,
    /// After the answer that is under way, if any.
    Gently,
    /// Whatever it is doing.
    Now,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Between requests.
    Idle,
    /// The first bytes of a header have come.
    Header,
    /// A request is being answered: the handler runs or waits, or its response is being streamed.
    Busy,
}

impl Life {
    fn new(is_private: bool) -> Life {
        Life {
            since: Cell::new(now_ms()),
            phase: Cell::new(Phase::Header),
            is_private,
            close: Cell::new(Close::No),
            unread: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// End this connection: between requests gently, in the middle of a header at once.
    pub(crate) fn end(&self) {
        self.close.set(if self.phase.get() == Phase::Header {
            Close::Now
        } else {
            Close::Gently
        });
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    fn is_cut_off(&self) -> bool {
        self.close.get() == Close::Now
    }

    fn take_close(&self) -> bool {
        self.close.get() == Close::Gently && self.close.replace(Close::No) == Close::Gently
    }

    fn set_waker(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if known.is_none() {
            *known = Some(waker.clone());
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(now_ms());
    }
}

/// Header fields in a request from the front: hyper's limit for clients, and ours.
const MAX_HEADERS: usize = 102;

/// Answers up to this many bytes are joined before they are written.
const SMALL: usize = 512;

/// The stream, watched.
struct Watched<S> {
    stream: Rc<RefCell<TokioIo<S>>>,
    life: Rc<Life>,
}

impl<S: Stream> Read for Watched<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.life.unread.set(false);
        let step = Pin::new(&mut *self.stream.borrow_mut()).poll_read(context, buffer);
        if step.is_ready() && self.life.phase.get() == Phase::Idle {
            self.life.enter(Phase::Header);
        }
        step
    }
}

impl<S: Stream> Write for Watched<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.stream.borrow_mut()).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.borrow().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // For a head and a small body, one copy is cheaper than the kernel's list of pieces.
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        if total <= SMALL {
            let mut joined = [0; SMALL];
            let mut end = 0;
            for piece in pieces {
                joined[end..end + piece.len()].copy_from_slice(piece);
                end += piece.len();
            }
            return Pin::new(&mut *self.stream.borrow_mut()).poll_write(context, &joined[..end]);
        }
        Pin::new(&mut *self.stream.borrow_mut()).poll_write_vectored(context, pieces)
    }
}

/// Who a TCP connection connects.
pub(crate) fn tcp_client(peer: SocketAddr, local: SocketAddr) -> Client {
    let (address, local_address) = (canonical(peer.ip()), canonical(local.ip()));
    Client {
        address: Some(address),
        port: peer.port(),
        local_address: Some(local_address),
        local_port: local.port(),
        secure: false,
        address_text: address.to_string(),
        local_text: local_address.to_string(),
    }
}

/// An IPv4 address that came in on an IPv6 socket is shown as what it is.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// hyper's view of this server: one request in, one answer out.
struct Service {
    worker: Rc<Worker>,
    client: Rc<Client>,
    life: Rc<Life>,
    /// If it is the front's.
    passage: Option<Rc<Passage>>,
}

impl hyper::service::Service<hyper::Request<Incoming>> for Service {
    type Response = hyper::Response<ResponseBody>;
    type Error = Infallible;
    type Future = Exchange;

    fn call(&self, request: hyper::Request<Incoming>) -> Exchange {
        self.life.phase.set(Phase::Busy);
        let life = Rc::clone(&self.life);
        let (parts, body) = request.into_parts();
        let body =
            (!body.is_end_stream()).then(|| Box::new(RequestBody(body)) as Box<dyn BodySource>);
        let answer = match self.head(&parts) {
            Ok(mut head) => {
                let caller = self.caller(&mut head);
                match (refused(&self.worker, &head), &self.passage) {
                    (Some(answer), None) => Answer::Refused(Some(answer)),
                    (Some(answer), Some(_)) => {
                        Answer::Refused(Some(refused_to_front(body, answer)))
                    }
                    (None, passage) => {
                        Answer::Coming(self.begin(caller, head, body, passage.clone()))
                    }
                }
            }
            Err(_) => Answer::Refused(Some(plain(400, "Bad Request\n"))),
        };
        Exchange { life, answer }
    }
}

/// Until the front is hyper's no more.
fn to_hyper(answer: crate::handler::Answer) -> hyper::Response<ResponseBody> {
    let mut response = hyper::Response::new(answer.body);
    *response.status_mut() = hyper::StatusCode::from_u16(answer.head.status).expect("checked");
    for (name, value) in answer.head.fields.iter() {
        if let (Ok(name), Ok(value)) = (
            http::HeaderName::from_bytes(name),
            http::HeaderValue::from_bytes(value),
        ) {
            response.headers_mut().append(name, value);
        }
    }
    if let (false, Ok(reason)) = (answer.head.reason.is_empty(), answer.head.reason.try_into()) {
        response
            .extensions_mut()
            .insert::<hyper::ext::ReasonPhrase>(reason);
    }
    response
}

impl Service {
    fn head(&self, parts: &http::request::Parts) -> Result<RequestHead, http1::Malformed> {
        let version = match parts.version {
            hyper::Version::HTTP_10 => Version::Http10,
            _ => Version::Http11,
        };
        let fields: Fields = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let target = parts.uri.to_string();
        RequestHead::build(
            parts.method.as_str().as_bytes(),
            target.as_bytes(),
            version,
            &fields,
        )
    }

    /// Whom the front speaks for, if this connection is the front's; the request is made to be theirs.
    fn caller(&self, head: &mut RequestHead) -> Option<Caller> {
        let caller = self.passage.as_ref()?.caller(&mut head.fields)?;
        if caller.is_http10 {
            head.version = Version::Http10;
        }
        Some(caller)
    }

    fn begin(
        &self,
        caller: Option<Caller>,
        head: RequestHead,
        body: Option<Box<dyn BodySource>>,
        passage: Option<Rc<Passage>>,
    ) -> Answering {
        let (id, client) = match caller {
            Some(caller) => (caller.id, caller.client),
            None => (self.worker.next_request_id(), Rc::clone(&self.client)),
        };
        Answering::new(Rc::clone(&self.worker), client, id, head, body, passage)
    }
}

/// One request being answered, on this connection.
struct Exchange {
    life: Rc<Life>,
    answer: Answer,
}

enum Answer {
    Refused(Option<crate::handler::Answer>),
    Coming(Answering),
}

impl Future for Exchange {
    type Output = Result<hyper::Response<ResponseBody>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut step = match &mut this.answer {
            Answer::Refused(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Answer::Coming(answering) => Pin::new(answering).poll(context),
        };
        if let Poll::Ready(answer) = &mut step {
            match &mut answer.body {
                ResponseBody::Stream(pipe) => pipe.keep_busy(Rc::clone(&this.life)),
                _ => this.life.enter(Phase::Idle),
            }
        }
        step.map(|answer| Ok(to_hyper(answer)))
    }
}

/// While an answer is waited for: ready when the client has hung up. Otherwise the connection's task is woken when
/// anything comes from it.
fn poll_hung_up<S: Stream>(stream: &S, life: &Life, context: &mut Context<'_>) -> Poll<()> {
    while life.phase.get() == Phase::Busy && !life.unread.get() {
        if ready!(stream.poll_readable(context)).is_err() {
            return Poll::Ready(());
        }
        match stream.peek() {
            Ok(0) => return Poll::Ready(()),
            Ok(_) => life.unread.set(true),
            // It was readiness left over from before; it is cleared now.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Poll::Ready(()),
        }
    }
    Poll::Pending
}

/// Answer requests on `stream` until either side has had enough.
pub(crate) async fn serve<S>(
    worker: Rc<Worker>,
    stream: S,
    client: Client,
    passage: Option<Rc<Passage>>,
) where
    S: Stream + 'static,
{
    let is_private = passage.is_some();
    let life = Rc::new(Life::new(is_private));
    let key = worker.opened(&life);
    if !is_private {
        worker.host.count(Counter::ConnectionsOpened);
    }
    let client = Rc::new(client);
    let service = Service {
        worker: Rc::clone(&worker),
        client,
        life: Rc::clone(&life),
        passage,
    };
    let stream = Rc::new(RefCell::new(TokioIo::new(stream)));
    let watched = Watched {
        stream: Rc::clone(&stream),
        life: Rc::clone(&life),
    };
    let mut builder = hyper1::Builder::new();
    builder.half_close(true);
    if is_private {
        // The front adds two to those that it takes, and a date to what it sends.
        builder.max_headers(MAX_HEADERS).auto_date_header(false);
    }
    let connection = builder.serve_connection(watched, service);
    let mut connection = std::pin::pin!(connection);
    std::future::poll_fn(|context| {
        // What goes wrong on a connection is the client's doing; hyper has answered 400 where it could.
        if connection.as_mut().poll(context).is_ready() || life.is_cut_off() {
            return Poll::Ready(());
        }
        if life.take_close() {
            connection.as_mut().graceful_shutdown();
            return connection.as_mut().poll(context).map(|_| ());
        }
        life.set_waker(context.waker());
        poll_hung_up(stream.borrow().inner(), &life, context)
    })
    .await;
    worker.closed(key);
    if !is_private {
        worker.host.count(Counter::ConnectionsClosed);
    }
}
