//! A connection to a worker: hyper's client, driven by whoever waits for its answer.
//!
//! hyper means a connection to run as a task of its own, which costs every request two wake-ups through the scheduler.
//! Here the one who waits polls it. What hyper's halves tell each other only sets a flag ([`Again`]); what must come
//! from outside, bytes, wakes the task that waits.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::upload::Outgoing;

/// Rounds without a byte from outside, before others have their turn.
const ROUNDS: usize = 32;

/// The connection.
pub(crate) struct Link {
    /// Its name to both sides.
    pub(crate) number: u64,
    sender: SendRequest<Outgoing>,
    /// `None` once it is closed: what still waits in it is told so when it is dropped.
    connection: Option<Connection<Wire, Outgoing>>,
    /// Of the task that waits; the wire uses it.
    waker: Rc<RefCell<Waker>>,
    again: Arc<Again>,
    inner: Waker,
}

/// Why there is no answer.
pub(crate) enum Failed {
    /// Not a byte of the request was sent.
    Unsent,
    /// The worker may have seen it.
    Broken,
}

impl Link {
    pub(crate) async fn open(number: u64, stream: UnixStream) -> hyper::Result<Link> {
        let waker = Rc::new(RefCell::new(Waker::noop().clone()));
        let wire = Wire {
            stream: TokioIo::new(stream),
            waker: Rc::clone(&waker),
        };
        let (sender, connection) = Builder::new().handshake(wire).await?;
        let again = Arc::new(Again::default());
        Ok(Link {
            number,
            sender,
            connection: Some(connection),
            waker,
            inner: Waker::from(Arc::clone(&again)),
            again,
        })
    }

    /// Send a request and wait for the head of its answer.
    pub(crate) async fn ask(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, Failed> {
        let mut promise = pin!(self.sender.try_send_request(request));
        let answered = std::future::poll_fn(|context| {
            self.drive(context, |inner| promise.as_mut().poll(inner))
        });
        answered
            .await
            .map_err(|mut error| match error.take_message() {
                Some(_) => Failed::Unsent,
                None => Failed::Broken,
            })
    }

    /// The next piece of an answer's body; trailers are dropped.
    pub(crate) fn poll_body(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Bytes>>> {
        self.drive(context, |inner| {
            loop {
                match Pin::new(&mut *body).poll_frame(inner) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(piece) = frame.into_data() {
                            return Poll::Ready(Some(Ok(piece)));
                        }
                    }
                }
            }
        })
    }

    /// After an answer was read to its end: whether another request can be sent.
    pub(crate) fn is_reusable(&mut self) -> bool {
        // Nobody waits for anything now: the next who asks brings his own waker.
        let _ = self.drive(&mut Context::from_waker(Waker::noop()), |_| {
            Poll::<()>::Pending
        });
        self.connection.is_some() && self.sender.is_ready()
    }

    fn drive<T>(
        &mut self,
        context: &mut Context<'_>,
        mut step: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let inner = &mut Context::from_waker(&self.inner);
        {
            let mut waker = self.waker.borrow_mut();
            if !waker.will_wake(context.waker()) {
                waker.clone_from(context.waker());
            }
        }
        for _ in 0..ROUNDS {
            self.again.take();
            self.connection
                .take_if(|connection| Pin::new(connection).poll(inner).is_ready());
            let stepped = step(inner);
            if stepped.is_ready() || !self.again.take() {
                return stepped;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Something inside of hyper has moved: look once more.
#[derive(Default)]
struct Again(AtomicBool);

impl Again {
    fn take(&self) -> bool {
        let set = self.0.load(Ordering::Relaxed);
        if set {
            self.0.store(false, Ordering::Relaxed);
        }
        set
    }
}

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The socket, which wakes the task that waits and not the one that hyper thinks of.
struct Wire {
    stream: TokioIo<UnixStream>,
    waker: Rc<RefCell<Waker>>,
}

impl Wire {
    fn outside<T>(
        &mut self,
        poll: impl FnOnce(Pin<&mut TokioIo<UnixStream>>, &mut Context<'_>) -> T,
    ) -> T {
        let waker = self.waker.borrow();
        poll(Pin::new(&mut self.stream), &mut Context::from_waker(&waker))
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.outside(|stream, context| stream.poll_read(context, buffer))
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.outside(|stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outside(|stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outside(|stream, context| stream.poll_shutdown(context))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.outside(|stream, context| stream.poll_write_vectored(context, pieces))
    }
}
