//! A response on its way from a worker to a client.
//!
//! A small response has come whole, and its worker is free. The rest of a large response is read from the worker into a
//! [`ResponseSpool`], as fast as the worker sends it.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{Body, Fields, Response};
use relay::frame::{ResponseFrame, ResponsePayload};
use site::FileBody;

use crate::headers;
use crate::pending::ResponseFuture;
use crate::response_spool::{Broken, ResponseSpool};

/// The body of a response to a client.
pub(crate) enum ResponseBody {
    Whole(Option<Bytes>),
    SpooledBody(SpooledBody),
    File(FileBody),
}

/// The reading end of a spool. Dropping it before its end aborts the request.
pub(crate) struct SpooledBody {
    spool: Rc<ResponseSpool>,
    /// Bytes that are still to come, if that is known.
    left: Option<u64>,
    waiting: ResponseFuture,
}

impl SpooledBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.waiting.workers.poll_if_due();
        self.spool.poll_next(context).map(|next| {
            next.map(|piece| {
                if let (Some(left), Ok(piece)) = (&mut self.left, &piece) {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                piece.map_err(|Broken| io::Error::other("the worker's response broke off"))
            })
        })
    }
}

impl Drop for SpooledBody {
    fn drop(&mut self) {
        self.spool.abandon();
    }
}

/// Returns a plain-text response of the front's own.
pub(crate) fn plain(status: u16, text: &'static str) -> Response<ResponseBody> {
    let body = ResponseBody::Whole(Some(Bytes::from_static(text.as_bytes())));
    let mut response = Response::new(status, body);
    let fields = &mut response.head.fields;
    fields.push("Content-Type", "text/plain; charset=UTF-8");
    response
}

/// Makes the client's response from a worker's response frame; `None` if that is invalid.
pub(crate) fn pass_on(
    answer: &Bytes,
    spool: Option<Rc<ResponseSpool>>,
    waiting: ResponseFuture,
) -> Option<Response<ResponseBody>> {
    let Some(ResponseFrame::Head(head, body)) = ResponseFrame::parse(answer) else {
        return None;
    };
    let mut response = Response::new(head.status, ResponseBody::Whole(None));
    response.head.reason = head.reason.into();
    response.head.fields = Fields::unpack(head.fields)?;
    headers::response(&mut response.head.fields, head.closes);
    let content_length = response.head.fields.text("Content-Length");
    let content_length = content_length.and_then(|length| length.parse().ok());
    response.body = match (body, spool) {
        (ResponsePayload::Here([]), _) => ResponseBody::Whole(None),
        (ResponsePayload::Here(bytes), _) => ResponseBody::Whole(Some(answer.slice_ref(bytes))),
        (ResponsePayload::Stream(length), Some(spool)) => ResponseBody::SpooledBody(SpooledBody {
            spool,
            left: length.or(content_length),
            waiting,
        }),
        (ResponsePayload::Stream(_), None) => return None,
    };
    Some(response)
}

impl Body for ResponseBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            ResponseBody::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            ResponseBody::File(file) => file.poll_piece(context),
            ResponseBody::SpooledBody(stored) => stored.poll_piece(context),
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            ResponseBody::Whole(bytes) => {
                Some(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ResponseBody::SpooledBody(stored) => stored.left,
            ResponseBody::File(file) => file.length(),
        }
    }

    fn was_sent(&mut self) {
        if let ResponseBody::SpooledBody(stored) = self {
            stored.waiting.is_done.set(true);
        }
    }
}
