//! A client's connection: each request is given to the [`Handler`] of this process, and counted and logged when it is over.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use http1::{
    Body, ConnectionState, Endpoints, Exchange, ForwardedError, Incoming, NotAdmitted, Peer,
    Rejection, RequestHead, Response, Stream,
};
use shm::Counter;
use tokio::task::spawn_local;

use crate::HttpServer;
use crate::access::{Entry, RequestTimes, Served};

/// The process behind the connections: the front or a worker.
pub trait Handler: Sized + 'static {
    /// A client in the form that this process uses.
    type Client: Clone;
    type Body: Body + Unpin;
    /// What the process keeps of a request until it is over.
    type Context: Clone + Default;

    fn http(&self) -> &HttpServer;

    fn client(endpoints: &Endpoints) -> Self::Client;

    /// Returns a client's address, for the access log.
    fn address(client: &Self::Client) -> &str;

    fn socket(client: &Self::Client) -> Option<SocketAddr>;

    fn context(&self, head: &RequestHead) -> Self::Context;

    /// Returns where the time of a request went.
    fn spent(context: &Self::Context) -> RequestTimes;

    /// Takes a connection that was just accepted.
    fn accepted(self: &Rc<Self>, connection: OwnedFd);

    /// Returns the number of connections in all processes, including one that was just accepted.
    fn connections_in_all(&self) -> u64;

    /// Returns the number of connections from this address in other processes.
    fn connections_elsewhere(&self, _: IpAddr) -> u64 {
        0
    }

    /// Publishes to other processes that a connection from this address was opened.
    fn opened(&self, _: IpAddr) {}

    /// Publishes to other processes that a connection from this address was closed.
    fn closed(&self, _: IpAddr) {}

    /// Notes that there are as many connections as there may be.
    fn is_full(&self) {}

    /// Answers a request. If the future is dropped before it is ready, the client has left.
    fn answer(
        self: Rc<Self>,
        request: Request<Self>,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// See [`http1::Service::outlasts_sending`].
    fn outlasts_sending(&self, _: &Self::Context) -> bool {
        false
    }
}

/// What belongs to a request besides its head and body.
pub struct Request<H: Handler> {
    pub id: u64,
    pub client: H::Client,
    /// Why the fields in which a proxy names its client are not trusted.
    pub error: Option<ForwardedError>,
    pub context: H::Context,
}

/// One connection, as [`http1::serve`] sees it.
struct Connection<H: Handler> {
    handler: Rc<H>,
    peer: Peer,
    /// The client of requests that name no other.
    client: RefCell<H::Client>,
    /// The context of the request that is being answered.
    context: RefCell<H::Context>,
    route: Cell<usize>,
    logged: RefCell<Option<Logged<H>>>,
}

/// What the access log needs of a request.
struct Logged<H: Handler> {
    entry: Entry,
    id: u64,
    client: H::Client,
}

impl<H: Handler> Connection<H> {
    fn new(handler: Rc<H>, peer: Peer) -> Connection<H> {
        Connection {
            handler,
            client: RefCell::new(H::client(&peer.endpoints())),
            peer,
            context: RefCell::default(),
            route: Cell::new(0),
            logged: RefCell::default(),
        }
    }

    fn client_of(&self, head: &mut RequestHead) -> (H::Client, Option<ForwardedError>) {
        match self.peer.of_request(head) {
            Ok(Some(endpoints)) => (H::client(&endpoints), None),
            Ok(None) => (self.client.borrow().clone(), None),
            Err(error) => (self.client.borrow().clone(), Some(error)),
        }
    }

    fn begin(&self, head: &mut RequestHead) -> Request<H> {
        let http = self.handler.http();
        http.advise_on_proxy(&self.peer, head);
        let (client, error) = self.client_of(head);
        let request: Request<H> = Request {
            id: http.next_request_id(),
            client,
            error,
            context: self.handler.context(head),
        };
        self.context.replace(request.context.clone());
        self.route.set(http.routes.of(head.path()));
        let logged = http.access.entry(head).map(|entry| Logged {
            entry,
            id: request.id,
            client: request.client.clone(),
        });
        self.logged.replace(logged);
        request
    }
}

impl<H: Handler> http1::Service for Connection<H> {
    type Body = H::Body;

    fn call(
        &self,
        mut head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<H::Body>> {
        let request = self.begin(&mut head);
        Rc::clone(&self.handler).answer(request, head, body)
    }

    fn outlasts_sending(&self) -> bool {
        self.handler.outlasts_sending(&self.context.borrow())
    }

    fn stands_for(&self, endpoints: Endpoints) {
        self.peer.stands_for(endpoints);
        self.client.replace(H::client(&endpoints));
    }

    fn refused(&self, rejection: &Rejection<'_>) {
        self.handler.http().count_bytes(0, rejection.sent);
        reject(&*self.handler, rejection, &self.client.borrow());
    }

    fn ended(&self, exchange: &Exchange) {
        let http = self.handler.http();
        http.count_bytes(exchange.received, exchange.sent);
        let time = exchange.time();
        http.board.took(self.route.get(), exchange.status, time);
        if let Some(logged) = self.logged.take() {
            let served = Served {
                client: H::address(&logged.client),
                id: logged.id,
                exchange,
                spent: H::spent(&self.context.borrow()),
            };
            http.access.served(&logged.entry, &served);
        }
    }
}

/// Counts and logs a rejection that comes before any request.
fn reject<H: Handler>(handler: &H, rejection: &Rejection<'_>, client: &H::Client) {
    let http = handler.http();
    if let Some(status) = rejection.status {
        http.board.answered(status);
    }
    http.log_rejection(rejection, H::socket(client));
    http.access.refused(H::address(client), rejection);
}

/// Answers requests on `stream`, if one more connection may be opened. `guard` is dropped when the connection has ended.
pub(crate) fn open<H: Handler>(
    handler: Rc<H>,
    stream: impl Stream,
    endpoints: Endpoints,
    guard: impl Sized + 'static,
) {
    let http = handler.http();
    let peer = Peer::new(endpoints, http.trusted_proxies());
    let admission = http.admission();
    let address = peer
        .counted_address()
        .filter(|_| admission.has_address_limit());
    let elsewhere = address.map_or(0, |address| handler.connections_elsewhere(address));
    let in_all = handler.connections_in_all();
    if let Err(full) = http
        .connections
        .admit(&admission, in_all, (address, elsewhere))
    {
        if full == NotAdmitted::Full {
            handler.is_full();
        }
        let rejection = Rejection::connection(503, full.why());
        reject(&*handler, &rejection, &H::client(&endpoints));
        return http1::turn_away(stream);
    }
    spawn_local(serve(handler, stream, peer, guard));
}

/// Serves a connection until either side ends it. The connection counts as open before the future is polled.
pub fn serve<H: Handler>(
    handler: Rc<H>,
    stream: impl Stream,
    peer: Peer,
    guard: impl Sized + 'static,
) -> impl Future<Output = ()> {
    let http = handler.http();
    if http.connections.is_empty() {
        http.clock.notify_one();
    }
    let state = Rc::new(ConnectionState::default());
    let address = peer.counted_address();
    let key = http.connections.opened(&state, address);
    let counted = address.filter(|_| http.admission().has_address_limit());
    if let Some(address) = counted {
        handler.opened(address);
    }
    http.board.count(Counter::ConnectionsOpened, 1);
    async move {
        let options = handler.http().options(&peer);
        let connection = Connection::new(Rc::clone(&handler), peer);
        http1::serve(stream, state, &connection, options).await;
        handler.http().closed(key);
        if let Some(address) = counted {
            handler.closed(address);
        }
        drop(guard);
    }
}
