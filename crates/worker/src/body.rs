//! Bodies, both ways: hyper's to PHP and PHP's to hyper.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use php::{BodySource, Cancel, Pipe};
use site::FileBody;

use crate::connection::{Life, Phase};

/// A request's body on its way to PHP.
pub(crate) struct RequestBody(pub(crate) Incoming);

impl BodySource for RequestBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, ()>>> {
        loop {
            let frame = match Pin::new(&mut self.0).poll_frame(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Some(Err(()))),
                Poll::Ready(Some(Ok(frame))) => frame,
            };
            // Trailers are not PHP's.
            if let Ok(piece) = frame.into_data()
                && !piece.is_empty()
            {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }
}

/// A response's body on its way to the client.
pub(crate) enum ResponseBody {
    Full(Option<Bytes>),
    Stream(Hanging),
    File(Box<FileBody>),
}

/// A pipe that ends the writing task when hyper drops it before its end: the client is gone.
pub(crate) struct Hanging {
    pipe: Rc<Pipe>,
    writer: Option<Box<dyn Fn(Cancel)>>,
    /// Of the connection that it goes out on.
    life: Option<Rc<Life>>,
}

impl Hanging {
    pub(crate) fn new(pipe: Rc<Pipe>) -> Hanging {
        Hanging {
            pipe,
            writer: None,
            life: None,
        }
    }

    /// `cancel` ends what the writing task waits for; otherwise it learns of the end when it writes again.
    pub(crate) fn written_by(&mut self, cancel: impl Fn(Cancel) + 'static) {
        self.writer = Some(Box::new(cancel));
    }

    /// The connection stays busy until the last of this is written.
    pub(crate) fn keep_busy(&mut self, life: Rc<Life>) {
        self.life = Some(life);
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        if self.pipe.hang_up()
            && let Some(cancel) = &self.writer
        {
            cancel(Cancel::ClientGone);
        }
        if let Some(life) = &self.life {
            life.enter(Phase::Idle);
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

    pub(crate) fn full(bytes: Bytes) -> ResponseBody {
        ResponseBody::Full((!bytes.is_empty()).then_some(bytes))
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            ResponseBody::Full(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            ResponseBody::Stream(pipe) => pipe
                .pipe
                .poll_next(context)
                .map(|next| next.map(|piece| piece.map(Frame::data).map_err(BoxError::from))),
            ResponseBody::File(file) => Pin::new(file).poll_frame(context).map_err(BoxError::from),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Full(bytes) => bytes.is_none(),
            ResponseBody::Stream(_) => false,
            ResponseBody::File(file) => file.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ResponseBody::Stream(_) => SizeHint::default(),
            ResponseBody::File(file) => file.size_hint(),
        }
    }
}
