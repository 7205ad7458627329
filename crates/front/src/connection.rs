//! One client connection: hyper on a stream that notes when it was last heard of.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use ipc::Ends;
use scoreboard::Counter;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::clock::now_ms;
use crate::exchange;
use crate::run::Front;

/// What the clock needs to know to close connections that nothing comes from.
pub(crate) struct Life {
    /// When the current phase began.
    pub(crate) since: Cell<u64>,
    pub(crate) phase: Cell<Phase>,
    close: Cell<Close>,
    /// What was sent is no complete response.
    broken: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

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
    /// A header is expected, or has begun to come.
    Header,
    /// A request is being answered.
    Busy,
}

impl Life {
    fn new() -> Life {
        Life {
            since: Cell::new(now_ms()),
            phase: Cell::new(Phase::Header),
            close: Cell::new(Close::No),
            broken: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// End this connection: between requests gently, in the middle of a header at once.
    pub(crate) fn end(&self) {
        self.close.set(match self.phase.get() {
            Phase::Header => Close::Now,
            Phase::Idle | Phase::Busy => Close::Gently,
        });
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Close with a reset: a response without length would otherwise look complete.
    pub(crate) fn break_off(&self) {
        self.broken.set(true);
    }

    fn take_close(&self) -> bool {
        self.close.get() == Close::Gently && self.close.replace(Close::No) == Close::Gently
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(now_ms());
    }
}

/// Answers up to this many bytes are joined before they are written.
const SMALL: usize = 2048;

/// The stream, watched.
struct Watched<S: AsFd> {
    stream: TokioIo<S>,
    life: Rc<Life>,
}

impl<S: AsFd> Drop for Watched<S> {
    fn drop(&mut self) {
        if self.life.broken.get() {
            let _ = socket2::SockRef::from(self.stream.inner()).set_linger(Some(Duration::ZERO));
        }
    }
}

impl<S: AsyncRead + AsFd + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let step = Pin::new(&mut self.stream).poll_read(context, buffer);
        if step.is_ready() && self.life.phase.get() == Phase::Idle {
            self.life.enter(Phase::Header);
        }
        step
    }
}

impl<S: AsyncWrite + AsFd + Unpin> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
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
            return Pin::new(&mut self.stream).poll_write(context, &joined[..end]);
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}

/// Answer requests on `stream` until either side has had enough.
pub(crate) async fn serve<S>(front: Rc<Front>, stream: S, ends: Ends)
where
    S: AsyncRead + AsyncWrite + AsFd + Unpin + 'static,
{
    let life = Rc::new(Life::new());
    let key = front.opened(&life);
    front.board.count(Counter::ConnectionsOpened, 1);
    let ends: Rc<str> = ends.to_string().into();
    let service = service_fn(|request| {
        let (front, ends, life) = (Rc::clone(&front), Rc::clone(&ends), Rc::clone(&life));
        async move {
            life.phase.set(Phase::Busy);
            let response = exchange::answer(front, ends, Rc::clone(&life), request).await;
            life.enter(Phase::Idle);
            Ok::<_, Infallible>(response)
        }
    });
    let watched = Watched {
        stream: TokioIo::new(stream),
        life: Rc::clone(&life),
    };
    run(
        &life,
        pin!(http1::Builder::new().serve_connection(watched, service)),
    )
    .await;
    front.closed(key);
    front.board.count(Counter::ConnectionsClosed, 1);
}

/// Poll the connection to its end, or until the clock wants one.
async fn run<S, F>(life: &Life, mut connection: Pin<&mut http1::Connection<Watched<S>, F>>)
where
    S: AsyncRead + AsyncWrite + AsFd + Unpin + 'static,
    F: hyper::service::HttpService<hyper::body::Incoming, ResBody = crate::reply::Reply>,
    F::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    poll_fn(|context| {
        // What goes wrong on a connection is the client's doing; hyper has answered 400 where it could.
        if connection.as_mut().poll(context).is_ready() || life.close.get() == Close::Now {
            return Poll::Ready(());
        }
        if life.take_close() {
            connection.as_mut().graceful_shutdown();
            return connection.as_mut().poll(context).map(|_| ());
        }
        let mut waker = life.waker.borrow_mut();
        if waker.is_none() {
            *waker = Some(context.waker().clone());
        }
        Poll::Pending
    })
    .await;
}
