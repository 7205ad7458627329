//! A response on its way from a worker to a client.
//!
//! A small one has come whole, and its worker is free. The rest of a large one is taken from the worker into a [`Store`],
//! as fast as the worker gives it.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{Body, Response};
use ipc::frame::{AnswerBody, Answered};
use site::FileBody;

use crate::flight::Waiting;
use crate::forward;
use crate::store::{Broken, Store};

/// What a client gets.
pub(crate) enum Reply {
    Whole(Option<Bytes>),
    Stored(Stored),
    /// Of a classic site.
    File(FileBody),
}

/// The reading end of a store. Dropped before its end, it breaks the request off.
pub(crate) struct Stored {
    store: Rc<Store>,
    /// What is still to come, if that is known.
    left: Option<u64>,
    waiting: Waiting,
}

impl Stored {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.waiting.workers.glance();
        self.store.poll_next(context).map(|next| {
            next.map(|piece| {
                if let (Some(left), Ok(piece)) = (&mut self.left, &piece) {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                piece.map_err(|Broken| io::Error::other("the worker's response broke off"))
            })
        })
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        self.store.abandon();
    }
}

/// An answer of our own.
pub(crate) fn plain(status: u16, text: &'static str) -> Response<Reply> {
    let body = Reply::Whole(Some(Bytes::from_static(text.as_bytes())));
    let mut response = Response::new(status, body);
    let fields = &mut response.head.fields;
    fields.push("Content-Type", "text/plain; charset=UTF-8");
    response
}

/// The worker's answer; `None` if it is none.
pub(crate) fn pass_on(
    answer: &Bytes,
    store: Option<Rc<Store>>,
    waiting: Waiting,
) -> Option<Response<Reply>> {
    let Some(Answered::Head(head, body)) = Answered::parse(answer) else {
        return None;
    };
    let mut response = Response::new(head.status, Reply::Whole(None));
    response.head.reason = answer.slice_ref(head.reason);
    forward::response(&head, &mut response.head.fields);
    let said = response.head.fields.text("Content-Length");
    let said = said.and_then(|length| length.parse().ok());
    response.body = match (body, store) {
        (AnswerBody::Here([]), _) => Reply::Whole(None),
        (AnswerBody::Here(bytes), _) => Reply::Whole(Some(answer.slice_ref(bytes))),
        (AnswerBody::Stream(length), Some(store)) => Reply::Stored(Stored {
            store,
            left: length.or(said),
            waiting,
        }),
        (AnswerBody::Stream(_), None) => return None,
    };
    Some(response)
}

impl Body for Reply {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            Reply::Whole(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Reply::File(file) => file.poll_piece(context),
            Reply::Stored(stored) => stored.poll_piece(context),
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            Reply::Whole(bytes) => Some(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Reply::Stored(stored) => stored.left,
            Reply::File(file) => file.length(),
        }
    }

    fn was_sent(&mut self) {
        if let Reply::Stored(stored) = self {
            stored.waiting.is_done.set(true);
        }
    }
}
