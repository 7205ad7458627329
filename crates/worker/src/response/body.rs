//! Bodies in both directions: of requests to PHP, and of responses to the client.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{Body, BodyError, Incoming};
use php::{BodySource, Pipe};
use server::WaitQueue;
use site::FileBody;

use super::unread::{PIECE, Unread};

/// A request's body on its way to PHP.
pub(crate) struct RequestBody(pub(crate) Incoming);

impl BodySource for RequestBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_piece(context)
    }
}

/// A response's body on its way to the client.
pub(crate) enum ResponseBody {
    Full(Option<Bytes>),
    Large(Box<Unread>),
    Stream(StreamBody),
    File(Box<FileBody>),
}

/// A response body that a task writes through a pipe. Dropping it before its end cancels the task: the client has left.
pub(crate) struct StreamBody {
    pipe: Rc<Pipe>,
    writer: Option<Box<dyn Fn()>>,
}

impl StreamBody {
    pub(crate) fn new(pipe: Rc<Pipe>) -> StreamBody {
        StreamBody { pipe, writer: None }
    }

    /// Sets `cancel`, which ends the wait of the writing task. Without it, the task learns of the hang-up when it writes
    /// again.
    pub(crate) fn written_by(&mut self, cancel: impl Fn() + 'static) {
        self.writer = Some(Box::new(cancel));
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        if self.pipe.hang_up()
            && let Some(cancel) = &self.writer
        {
            cancel();
        }
    }
}

impl ResponseBody {
    pub(crate) fn text(text: &'static str) -> ResponseBody {
        ResponseBody::Full(Some(Bytes::from_static(text.as_bytes())))
    }

    pub(crate) fn file(file: FileBody) -> ResponseBody {
        ResponseBody::File(Box::new(file))
    }

    /// Returns the same body; a large one leaves PHP's memory if its client is slow ([`Unread`]).
    pub(crate) fn bounded(self, permits: &Rc<WaitQueue<()>>) -> ResponseBody {
        match self {
            ResponseBody::Full(Some(bytes)) if bytes.len() > PIECE => {
                ResponseBody::Large(Box::new(Unread::new(bytes, permits)))
            }
            body => body,
        }
    }

    pub(crate) fn full(bytes: Bytes) -> ResponseBody {
        ResponseBody::Full((!bytes.is_empty()).then_some(bytes))
    }
}

impl Body for ResponseBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            ResponseBody::Full(bytes) => Poll::Ready(bytes.take().map(Ok)),
            ResponseBody::Large(unread) => Poll::Ready(unread.next()),
            ResponseBody::Stream(hanging) => {
                let next = hanging.pipe.poll_next(context);
                next.map(|next| next.map(|piece| piece.map_err(io::Error::other)))
            }
            ResponseBody::File(file) => file.poll_piece(context),
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            ResponseBody::Full(bytes) => Some(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            ResponseBody::Large(unread) => Some(unread.length()),
            ResponseBody::Stream(_) => None,
            ResponseBody::File(file) => file.length(),
        }
    }

    fn stalled(&mut self) {
        if let ResponseBody::Large(unread) = self {
            unread.stalled();
        }
    }

    fn yields(&self) -> bool {
        !matches!(self, ResponseBody::Large(_))
    }

    fn was_sent(&mut self) {
        if let ResponseBody::Stream(hanging) = self {
            hanging.pipe.discard();
        }
    }
}
