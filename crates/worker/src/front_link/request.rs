//! A request as the front wrote it.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{BodyError, Endpoints, Limits, RequestHead, Version};
use php::{BodySource, Client};
use relay::RequestKey;
use relay::frame::{Payload, RequestFrame, StreamFrame};

use super::FrontLink;
use super::claimers::Claimer;
use crate::request::upload::Upload;

/// What a request consists of.
pub(super) struct Received {
    pub(super) id: u64,
    pub(super) client: Rc<Client>,
    pub(super) head: RequestHead,
    pub(super) body: Option<Box<dyn BodySource>>,
    /// A worker has died with it.
    pub(super) is_retry: bool,
}

impl FrontLink {
    /// What the front wrote; `None` if its client has left.
    pub(super) async fn receive(&self, claimer: &Claimer, key: RequestKey) -> Option<Received> {
        let mut bytes = self.all.buffer.take();
        bytes.clear();
        self.consumer.read(key, &mut bytes);
        let received = self.parse(claimer, key, &bytes).await;
        self.all.buffer.replace(bytes);
        received
    }

    async fn parse(&self, claimer: &Claimer, key: RequestKey, bytes: &[u8]) -> Option<Received> {
        let Some(asked) = RequestFrame::parse(bytes) else {
            logging::alert!("the front asked for something we do not understand");
            return None;
        };
        let in_files = [asked.head, asked.body].map(|part| matches!(part, Payload::File(_)));
        let mut files = match in_files {
            [false, false] => Vec::new(),
            _ => self.files(claimer, key).await?,
        }
        .into_iter();
        let limits = Limits {
            head: usize::MAX,
            target: usize::MAX,
            fields: 128,
        };
        let parsed = match asked.head {
            Payload::Here(text) => RequestHead::parse(text, limits),
            Payload::None | Payload::File(_) => {
                let text = Upload::new(files.next()?).read_all().ok()?;
                RequestHead::parse(&text, limits)
            }
        };
        let Ok(Some((mut head, _))) = parsed else {
            logging::alert!("the front sent a head that is none");
            return None;
        };
        if asked.is_http10 {
            head.version = Version::Http10;
        }
        let body: Option<Box<dyn BodySource>> = match asked.body {
            Payload::None => None,
            Payload::Here(bytes) => Some(Box::new(Whole(Bytes::copy_from_slice(bytes)))),
            Payload::File(_) => Some(Box::new(Upload::new(files.next()?))),
        };
        Some(Received {
            id: asked.id,
            client: self.client(asked.endpoints)?,
            head,
            body,
            is_retry: asked.is_retry,
        })
    }

    /// Files of a request; `None` if its client has left.
    async fn files(&self, claimer: &Claimer, key: RequestKey) -> Option<Vec<OwnedFd>> {
        self.send_mark(key, StreamFrame::Files).await.ok()?;
        std::future::poll_fn(|_| match claimer.take_files() {
            Some(files) => Poll::Ready(Some(files)),
            None if self.is_unwanted(key) => Poll::Ready(None),
            None => Poll::Pending,
        })
        .await
    }

    fn client(&self, endpoints: &str) -> Option<Rc<Client>> {
        if let Some((text, client)) = &*self.all.client.borrow()
            && text == endpoints
        {
            return Some(Rc::clone(client));
        }
        let client = Rc::new(Client::new(&Endpoints::parse(endpoints)?));
        let known = (endpoints.to_owned(), Rc::clone(&client));
        self.all.client.replace(Some(known));
        Some(client)
    }
}

/// A body that came with the request.
struct Whole(Bytes);

impl BodySource for Whole {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
    }
}
