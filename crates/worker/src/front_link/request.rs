//! Receives a request from the front.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{BodyError, Endpoints, RequestHead};
use php::{BodySource, Client};
use relay::RequestKey;
use relay::frame::{Payload, RequestFrame, StreamFrame};

use super::FrontLink;
use super::claimers::Claimer;
use crate::request::upload::Upload;

/// The parts of a request that was received from the front.
pub(super) struct Received {
    pub(super) id: u64,
    pub(super) client: Rc<Client>,
    pub(super) head: RequestHead,
    pub(super) body: Option<Box<dyn BodySource>>,
    /// Whether a worker has died with the request.
    pub(super) is_retry: bool,
}

impl FrontLink {
    /// Reads the request that the front wrote to the slot; `None` if its client has left, or the frame is invalid.
    pub(super) async fn receive(&self, claimer: &Claimer, key: RequestKey) -> Option<Received> {
        let mut bytes = self.all.buffer.take();
        bytes.clear();
        self.consumer.read(key, &mut bytes);
        let received = self.parse(claimer, key, &bytes).await;
        self.all.buffer.replace(bytes);
        received
    }

    async fn parse(&self, claimer: &Claimer, key: RequestKey, bytes: &[u8]) -> Option<Received> {
        let Some(frame) = RequestFrame::parse(bytes) else {
            logging::alert!("invalid request frame from the front");
            return None;
        };
        let in_files = [frame.head, frame.body].map(|part| matches!(part, Payload::File(_)));
        let mut files = match in_files {
            [false, false] => Vec::new(),
            _ => self.files(claimer, key).await?,
        }
        .into_iter();
        let head = match frame.head {
            Payload::Here(packed) => RequestHead::unpack(packed),
            Payload::None | Payload::File(_) => {
                RequestHead::unpack(&Upload::new(files.next()?).read_all().ok()?)
            }
        };
        let Some(head) = head else {
            logging::alert!("the front sent a head that is none");
            return None;
        };
        let body: Option<Box<dyn BodySource>> = match frame.body {
            Payload::None => None,
            Payload::Here(bytes) => Some(Box::new(MemoryBody(Bytes::copy_from_slice(bytes)))),
            Payload::File(_) => Some(Box::new(Upload::new(files.next()?))),
        };
        Some(Received {
            id: frame.id,
            client: self.client(frame.endpoints)?,
            head,
            body,
            is_retry: frame.is_retry,
        })
    }

    /// Asks the front for the files of a request and waits for them; `None` if its client has left.
    async fn files(&self, claimer: &Claimer, key: RequestKey) -> Option<Vec<OwnedFd>> {
        self.send_mark(key, StreamFrame::Files).await.ok()?;
        std::future::poll_fn(|_| match claimer.take_files() {
            Some(files) => Poll::Ready(Some(files)),
            None if self.is_cancelled(key) => Poll::Ready(None),
            None => Poll::Pending,
        })
        .await
    }

    fn client(&self, packed: &[u8]) -> Option<Rc<Client>> {
        let endpoints = Endpoints::unpack(packed)?;
        let mut known = self.all.client.borrow_mut();
        match &*known {
            Some(client) if *client.endpoints() == endpoints => {}
            _ => *known = Some(Rc::new(Client::new(&endpoints))),
        }
        known.clone()
    }
}

/// A body that came with the request.
struct MemoryBody(Bytes);

impl BodySource for MemoryBody {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
    }
}
