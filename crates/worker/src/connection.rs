//! One client connection: what it asks goes to PHP.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http1::{Incoming, Life, Limits, Options, RequestHead, Stream, Version};
use php::{BodySource, Client};
use scoreboard::Counter;

use crate::body::{RequestBody, ResponseBody};
use crate::door::{Caller, Passage};
use crate::handler::{self, Answering, refused, refused_to_front};
use crate::worker::Worker;

/// Fields of a request from the front: the clients' limit, and what it adds.
const MAX_FIELDS: usize = 102;

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

/// The connection's view of this server: one request in, one answer out.
struct Service {
    worker: Rc<Worker>,
    client: Rc<Client>,
    /// If it is the front's.
    passage: Option<Rc<Passage>>,
}

impl http1::Service for Service {
    type Body = ResponseBody;

    fn call(
        &self,
        mut head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = handler::Answer> {
        let caller = self.caller(&mut head);
        let body = body.map(|body| Box::new(RequestBody(body)) as Box<dyn BodySource>);
        match (refused(&self.worker, &head), &self.passage) {
            (Some(answer), None) => Answer::Refused(Some(answer)),
            (Some(answer), Some(_)) => Answer::Refused(Some(refused_to_front(body, answer))),
            (None, passage) => Answer::Coming(self.begin(caller, head, body, passage.clone())),
        }
    }
}

impl Service {
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
#[allow(
    clippy::large_enum_variant,
    reason = "the large one is nearly every one"
)]
enum Answer {
    Refused(Option<handler::Answer>),
    Coming(Answering),
}

impl Future for Answer {
    type Output = handler::Answer;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Answer::Refused(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Answer::Coming(answering) => Pin::new(answering).poll(context),
        }
    }
}

/// Answer requests on `stream` until either side has had enough.
pub(crate) async fn serve(
    worker: Rc<Worker>,
    stream: impl Stream,
    client: Client,
    passage: Option<Rc<Passage>>,
) {
    let is_private = passage.is_some();
    let life = Rc::new(Life::new(is_private));
    let key = worker.opened(&life);
    if !is_private {
        worker.host.count(Counter::ConnectionsOpened);
    }
    let service = Service {
        worker: Rc::clone(&worker),
        client: Rc::new(client),
        passage,
    };
    http1::serve(stream, life, &service, options(is_private)).await;
    worker.closed(key);
    if !is_private {
        worker.host.count(Counter::ConnectionsClosed);
    }
}

fn options(is_private: bool) -> Options {
    let mut options = Options::default();
    if is_private {
        // The front adds a date to what it sends.
        options.limits = Limits {
            fields: MAX_FIELDS,
            ..options.limits
        };
        options.date = false;
    }
    options
}
