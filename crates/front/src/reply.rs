//! A response on its way from a worker to a client.
//!
//! What has come with its head is passed on at once, and its worker is free. The rest is taken from the worker by a task
//! of its own into a [`Store`], as fast as the worker gives it.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use site::FileBody;
use tokio::task::spawn_local;

use crate::connection::Life;
use crate::forward::{self, Said};
use crate::store::{Broken, Store};
use crate::workers::Lease;

/// What a client gets.
pub(crate) enum Reply {
    Whole(Option<Bytes>),
    Stored(Stored),
    /// Of a classic site.
    File(FileBody),
}

/// The reading end of a store.
pub(crate) struct Stored {
    store: Rc<Store>,
    life: Rc<Life>,
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.store.abandon();
    }
}

/// An answer of our own.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Reply> {
    let mut response = Response::new(Reply::Whole(Some(Bytes::from_static(text.as_bytes()))));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=UTF-8"),
    );
    response
}

/// The worker's answer, and the worker's release as soon as it has come whole.
pub(crate) async fn pass_on(
    mut lease: Lease,
    response: Response<Incoming>,
    life: &Rc<Life>,
) -> Response<Reply> {
    let (mut head, mut body) = response.into_parts();
    let said = forward::response(&mut head.headers);
    let Some(first) = arrived(&mut lease, &mut body).await else {
        lease.finish(said.more, said.leaves);
        return Response::from_parts(head, Reply::Whole(None));
    };
    if body.is_end_stream()
        && let Ok(first) = first
    {
        lease.finish(said.more, said.leaves);
        return Response::from_parts(head, Reply::Whole(first));
    }
    let store = Rc::new(Store::default());
    match first {
        Ok(Some(piece)) => store.push(piece),
        Ok(None) => {}
        Err(broken) => store.end(Err(broken)),
    }
    spawn_local(take(lease, body, said, Rc::clone(&store)));
    let life = Rc::clone(life);
    Response::from_parts(head, Reply::Stored(Stored { store, life }))
}

/// The piece of the body that is there already, if one is; the outer `None` is the end.
async fn arrived(lease: &mut Lease, body: &mut Incoming) -> Option<Result<Option<Bytes>, Broken>> {
    if body.is_end_stream() {
        return None;
    }
    let link = lease.link.as_mut()?;
    poll_fn(|context| {
        Poll::Ready(match link.poll_body(body, context) {
            Poll::Pending => Some(Ok(None)),
            Poll::Ready(None) => None,
            Poll::Ready(Some(Ok(piece))) => Some(Ok(Some(piece))),
            Poll::Ready(Some(Err(_))) => Some(Err(Broken)),
        })
    })
    .await
}

/// Take the rest from the worker.
async fn take(mut lease: Lease, mut body: Incoming, said: Said, store: Rc<Store>) {
    let taken = poll_fn(|context| poll_take(&mut lease, &mut body, &store, context)).await;
    if taken.is_ok() {
        lease.finish(said.more, said.leaves);
    }
    // Otherwise dropping the lease breaks the request off.
    store.end(taken);
}

fn poll_take(
    lease: &mut Lease,
    body: &mut Incoming,
    store: &Store,
    context: &mut Context<'_>,
) -> Poll<Result<(), Broken>> {
    let Some(link) = lease.link.as_mut() else {
        return Poll::Ready(Err(Broken));
    };
    loop {
        match store.poll_room(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(false) => return Poll::Ready(Err(Broken)),
            Poll::Ready(true) => {}
        }
        match link.poll_body(body, context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Ready(Some(Err(_))) => return Poll::Ready(Err(Broken)),
            Poll::Ready(Some(Ok(piece))) => store.push(piece),
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match &mut *self {
            Reply::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Reply::File(file) => Pin::new(file).poll_frame(context),
            Reply::Stored(stored) => stored.store.poll_next(context).map(|next| {
                next.map(|piece| {
                    piece.map(Frame::data).map_err(|Broken| {
                        stored.life.break_off();
                        std::io::Error::other("the worker's response broke off")
                    })
                })
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Reply::Whole(bytes) => bytes.is_none(),
            Reply::Stored(stored) => stored.store.is_read(),
            Reply::File(file) => file.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Reply::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Reply::Stored(_) => SizeHint::default(),
            Reply::File(file) => file.size_hint(),
        }
    }
}
