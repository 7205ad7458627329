//! One client connection: what it asks goes to PHP.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http1::{
    ConnectionState, Endpoints, Exchange, Incoming, Options, Peer, Rejection, RequestHead, Stream,
};
use php::{BodySource, Client, Timings};
use server::access::{Entry, Served, Spent};
use shm::Counter;
use tokio::task::spawn_local;

use crate::balance::ConnectionGuard;
use crate::request::{RequestFuture, refuse, refused};
use crate::response;
use crate::response_body::{RequestBody, ResponseBody};
use crate::worker::Worker;

/// The connection's view of this server: one request in, one answer out.
struct Service {
    worker: Rc<Worker>,
    peer: Peer,
    /// Who it is, where a request does not say otherwise.
    client: RefCell<Rc<Client>>,
    /// Of the request that is answered.
    logged: RefCell<Option<Logged>>,
    route: Cell<usize>,
}

/// What the access log is to have of a request.
struct Logged {
    entry: Entry,
    id: u64,
    client: Rc<Client>,
    timings: Option<Rc<Timings>>,
}

impl Logged {
    fn spent(&self) -> Spent {
        let spent = self.timings.as_ref().map(|timings| Spent {
            queue: timings.queue(),
            php: timings.php(),
            cpu: timings.cpu(),
        });
        spent.unwrap_or_default()
    }
}

impl Service {
    fn client(&self) -> Rc<Client> {
        Rc::clone(&self.client.borrow())
    }

    /// The next request; its id, and where to note where its time goes.
    fn begin(&self, head: &RequestHead, client: &Rc<Client>) -> (u64, Option<Rc<Timings>>) {
        let id = self.worker.next_request_id();
        let timings = self.worker.timings();
        self.route.set(self.worker.routes.of(head.path()));
        let logged = self.worker.access.entry(head).map(|entry| Logged {
            entry,
            id,
            client: Rc::clone(client),
            timings: timings.clone(),
        });
        self.logged.replace(logged);
        (id, timings)
    }
}

impl http1::Service for Service {
    type Body = ResponseBody;

    fn call(
        &self,
        mut head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = response::HttpResponse> {
        let body = body.map(|body| Box::new(RequestBody(body)) as Box<dyn BodySource>);
        self.worker.look_for_proxy(&self.peer, &head);
        let (client, error) = match self.peer.of_request(&mut head) {
            Ok(Some(endpoints)) => (Rc::new(Client::new(&endpoints)), None),
            Ok(None) => (self.client(), None),
            Err(error) => (self.client(), Some(error)),
        };
        let (id, timings) = self.begin(&head, &client);
        let refused = match error {
            Some(error) => Some(refuse(&self.worker, &client, (400, error.text()), &head)),
            None => refused(&self.worker, &client, &head),
        };
        match refused {
            Some(answer) => HttpResponse::Rejection(Some(Box::new(answer))),
            None => {
                let worker = Rc::clone(&self.worker);
                let coming = RequestFuture::new(worker, client, id, head, body, None, timings);
                HttpResponse::Coming(coming)
            }
        }
    }

    fn stands_for(&self, endpoints: Endpoints) {
        self.peer.stands_for(endpoints);
        self.client.replace(Rc::new(Client::new(&endpoints)));
    }

    fn refused(&self, refused: &Rejection<'_>) {
        if let Some(status) = refused.status {
            self.worker.count(status);
        }
        self.worker.host.count_bytes((0, refused.sent));
        let client = self.client.borrow();
        self.worker.tell(refused, &client);
        self.worker.access.refused(&client.address_text, refused);
    }

    fn ended(&self, exchange: &Exchange) {
        let bytes = (exchange.received, exchange.sent);
        self.worker.host.count_bytes(bytes);
        if let Some(board) = &self.worker.host.board {
            let time = exchange.began.elapsed();
            board.took(self.route.get(), exchange.status, time);
        }
        if let Some(logged) = self.logged.take() {
            let served = Served {
                client: &logged.client.address_text,
                id: logged.id,
                exchange,
                spent: logged.spent(),
            };
            self.worker.access.served(&logged.entry, &served);
        }
    }
}

/// One request being answered, on this connection.
enum HttpResponse {
    Rejection(Option<Box<response::HttpResponse>>),
    Coming(RequestFuture),
}

impl Future for HttpResponse {
    type Output = response::HttpResponse;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            HttpResponse::Rejection(answer) => answer
                .take()
                .map_or(Poll::Pending, |answer| Poll::Ready(*answer)),
            HttpResponse::Coming(answering) => Pin::new(answering).poll(context),
        }
    }
}

/// Answers requests on `stream`, if one more connection may be opened; it counts as open here until it ends.
pub(crate) fn open(
    worker: Rc<Worker>,
    stream: impl Stream,
    endpoints: Endpoints,
    guard: Option<ConnectionGuard>,
) {
    let peer = Peer::new(endpoints, Rc::clone(&worker.trusted_proxies));
    let in_all = match &worker.balancer {
        // This one is among them.
        Some(spread) => spread.total(),
        None => worker.connections.count() as u64 + 1,
    };
    let connections = &worker.connections;
    if let Err(full) = connections.admit(&worker.admission, in_all, peer.counted_address()) {
        worker.count(503);
        let rejection = Rejection::connection(503, full.why());
        let client = Client::new(&endpoints);
        worker.tell(&rejection, &client);
        worker.access.refused(&client.address_text, &rejection);
        return http1::turn_away(stream);
    }
    spawn_local(serve(worker, stream, peer, guard));
}

/// Until either side has had enough. It counts as open before the first step.
pub(crate) fn serve(
    worker: Rc<Worker>,
    stream: impl Stream,
    peer: Peer,
    guard: Option<ConnectionGuard>,
) -> impl Future<Output = ()> {
    let state = Rc::new(ConnectionState::default());
    let key = worker.opened(&state, peer.counted_address());
    worker.host.count(Counter::ConnectionsOpened);
    answer_requests(worker, stream, peer, (state, key), guard)
}

async fn answer_requests(
    worker: Rc<Worker>,
    stream: impl Stream,
    peer: Peer,
    (state, key): (Rc<ConnectionState>, usize),
    guard: Option<ConnectionGuard>,
) {
    let options = Options {
        proxy_protocol: peer.is_proxy(),
        ..Options::from(&worker.http)
    };
    let service = Service {
        worker: Rc::clone(&worker),
        client: RefCell::new(Rc::new(Client::new(&peer.endpoints()))),
        peer,
        logged: RefCell::default(),
        route: Cell::new(0),
    };
    http1::serve(stream, state, &service, options).await;
    worker.closed(key);
    worker.host.count(Counter::ConnectionsClosed);
    drop(guard);
}
