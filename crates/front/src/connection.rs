//! One client connection: what it asks goes to a worker.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use http1::{
    Admission, ConnectionState, Endpoints, Exchange, ForwardedError, Incoming, NotAdmitted,
    Options, Peer, Rejection, RequestHead, Response, Stream,
};
use server::access::{Entry, Served};
use shm::Counter;
use tokio::task::spawn_local;

use crate::hangup::Hangup;
use crate::process::Front;
use crate::proxy::{self, Asked};
use crate::response::{self, ResponseBody};

/// The connection's view of this server: one request in, one answer out.
struct Service {
    front: Rc<Front>,
    peer: Peer,
    /// Who it is, where a request does not say otherwise.
    client: RefCell<Client>,
    /// Of the request that is answered.
    hangup: RefCell<Rc<Hangup>>,
    logged: RefCell<Option<Logged>>,
    route: Cell<usize>,
}

/// A client as text, for workers and for the access log.
#[derive(Clone)]
struct Client {
    endpoints: Rc<str>,
    address: Rc<str>,
}

impl Client {
    fn new(endpoints: &Endpoints) -> Client {
        let address = endpoints.client.map(|peer| peer.ip().to_string());
        Client {
            endpoints: endpoints.to_string().into(),
            address: address.unwrap_or_default().into(),
        }
    }
}

/// What the access log is to have of a request.
struct Logged {
    id: u64,
    entry: Entry,
    address: Rc<str>,
}

impl Service {
    /// Who asks, and why that cannot be believed.
    fn client_of(&self, head: &mut RequestHead) -> (Client, Option<ForwardedError>) {
        self.front.look_for_proxy(&self.peer, head);
        match self.peer.of_request(head) {
            Ok(Some(said)) => (Client::new(&said), None),
            Ok(None) => (self.client.borrow().clone(), None),
            Err(error) => (self.client.borrow().clone(), Some(error)),
        }
    }
}

impl http1::Service for Service {
    type Body = ResponseBody;

    fn call(
        &self,
        mut head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<ResponseBody>> {
        let hangup = Rc::new(Hangup::new(&head));
        self.hangup.replace(Rc::clone(&hangup));
        let (client, error) = self.client_of(&mut head);
        let front = Rc::clone(&self.front);
        let id = front.next_request_id();
        self.route.set(front.routes.of(head.path()));
        let logged = front.access.entry(&head).map(|entry| Logged {
            id,
            entry,
            address: client.address,
        });
        self.logged.replace(logged);
        let asked = Asked {
            id,
            endpoints: client.endpoints,
            error,
            hangup,
        };
        proxy::answer(front, asked, head, body)
    }

    fn outlasts_sending(&self) -> bool {
        self.hangup.borrow().goes_on(&self.front.workers)
    }

    fn stands_for(&self, endpoints: Endpoints) {
        self.peer.stands_for(endpoints);
        self.client.replace(Client::new(&endpoints));
    }

    fn refused(&self, refused: &Rejection<'_>) {
        if let Some(status) = refused.status {
            self.front.board.answered(status);
        }
        self.front.board.count(Counter::BytesOut, refused.sent);
        let client = self.client.borrow();
        self.front.tell(refused, &client.endpoints);
        self.front.access.refused(&client.address, refused);
    }

    fn ended(&self, exchange: &Exchange) {
        let board = &self.front.board;
        board.count(Counter::BytesIn, exchange.received);
        board.count(Counter::BytesOut, exchange.sent);
        let time = exchange.began.elapsed();
        board.took(self.route.get(), exchange.status, time);
        if let Some(logged) = self.logged.take() {
            let served = Served {
                client: &logged.address,
                id: logged.id,
                exchange,
                spent: self.hangup.borrow().spent(),
            };
            self.front.access.served(&logged.entry, &served);
        }
    }
}

impl Front {
    /// This request's answer is one of our own: for the log, not too often.
    pub(crate) fn tell(&self, refused: &Rejection<'_>, endpoints: &str) {
        let client = Endpoints::parse(endpoints).and_then(|endpoints| endpoints.client);
        if let Some(message) = self.rejections.line(refused, client) {
            logging::info!("{message}");
        }
    }

    /// That answer.
    pub(crate) fn refuse(
        &self,
        status: u16,
        why: &'static str,
        head: &RequestHead,
        endpoints: &str,
    ) -> Response<ResponseBody> {
        self.tell(&Rejection::new(status, why, head), endpoints);
        response::plain(status, why)
    }
}

/// Answer requests on `stream`, if one more connection may be opened.
pub(crate) fn open(front: Rc<Front>, stream: impl Stream, endpoints: Endpoints) {
    let peer = Peer::new(endpoints, Rc::clone(&front.trusted_proxies.borrow()));
    let address = peer.counted_address();
    let admission = Admission::new(&front.http.get());
    let admission_lock = front.thread.admission();
    let in_all = front.connections.in_process() + 1;
    if let Err(full) = front.connections.admit(&admission, in_all, address) {
        if full == NotAdmitted::Full {
            front.thread.ask_others_to_end_idle();
        }
        front.board.answered(503);
        let rejection = Rejection::connection(503, full.why());
        let client = Client::new(&endpoints);
        front.tell(&rejection, &client.endpoints);
        front.access.refused(&client.address, &rejection);
        return http1::turn_away(stream);
    }
    let state = Rc::new(ConnectionState::default());
    let key = front.opened(&state, address);
    drop(admission_lock);
    front.board.count(Counter::ConnectionsOpened, 1);
    spawn_local(serve(front, stream, peer, (state, key)));
}

/// Until either side has had enough.
async fn serve(
    front: Rc<Front>,
    stream: impl Stream,
    peer: Peer,
    (state, key): (Rc<ConnectionState>, usize),
) {
    let options = Options {
        proxy_protocol: peer.is_proxy(),
        ..Options::from(&front.http.get())
    };
    let service = Service {
        front: Rc::clone(&front),
        client: RefCell::new(Client::new(&peer.endpoints())),
        peer,
        logged: RefCell::default(),
        route: Cell::new(0),
        hangup: RefCell::default(),
    };
    http1::serve(stream, state, &service, options).await;
    front.closed(key);
    front.board.count(Counter::ConnectionsClosed, 1);
}
