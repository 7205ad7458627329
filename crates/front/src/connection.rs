//! One client connection: what it asks goes to a worker.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use http1::{
    Admission, ConnectionState, Exchange, Incoming, NotAdmitted, Options, Rejection, RequestHead,
    Response, Stream,
};
use ipc::FromFront;
use relay::Endpoints;
use server::access::{Entry, Served};
use shm::Counter;
use tokio::task::spawn_local;

use crate::hangup::Hangup;
use crate::process::Front;
use crate::proxy;
use crate::response::{self, ResponseBody};

/// The connection's view of this server: one request in, one answer out.
struct Service {
    front: Rc<Front>,
    endpoints: Rc<str>,
    /// Of the request that is answered.
    hangup: RefCell<Rc<Hangup>>,
    logged: RefCell<Option<(u64, Entry)>>,
    /// The address, for the access log.
    client: String,
}

impl http1::Service for Service {
    type Body = ResponseBody;

    fn call(
        &self,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<ResponseBody>> {
        let hangup = Rc::new(Hangup::new(head.method()));
        self.hangup.replace(Rc::clone(&hangup));
        let (front, endpoints) = (Rc::clone(&self.front), Rc::clone(&self.endpoints));
        let id = front.next_request_id();
        let entry = front.access.entry(&head);
        self.logged.replace(entry.map(|entry| (id, entry)));
        proxy::answer(front, (id, endpoints, hangup), head, body)
    }

    fn outlasts_sending(&self) -> bool {
        self.hangup.borrow().goes_on(&self.front.workers)
    }

    fn refused(&self, refused: &Rejection<'_>) {
        if let Some(status) = refused.status {
            self.front.board.answered(status);
        }
        self.front.board.count(Counter::BytesOut, refused.sent);
        self.front.tell(refused, &self.endpoints);
        self.front.access.refused(&self.client, refused);
    }

    fn ended(&self, exchange: &Exchange) {
        let board = &self.front.board;
        board.count(Counter::BytesIn, exchange.received);
        board.count(Counter::BytesOut, exchange.sent);
        if let Some((id, entry)) = self.logged.take() {
            let served = Served {
                client: &self.client,
                id,
                exchange,
                spent: self.hangup.borrow().spent(),
            };
            self.front.access.served(&entry, &served);
        }
    }
}

impl Front {
    /// This request's answer is one of our own: for the log, not too often.
    pub(crate) fn tell(&self, refused: &Rejection<'_>, endpoints: &str) {
        let client = Endpoints::parse(endpoints).and_then(|endpoints| endpoints.client);
        if let Some(message) = self.rejections.line(refused, client) {
            self.say(&FromFront::Notice { message });
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
    let address = endpoints.client.map(|peer| peer.ip());
    let admission = Admission::new(&front.http.get());
    let admission_lock = front.thread.admission();
    let in_all = front.connections.in_process() + 1;
    if let Err(full) = front.connections.admit(&admission, in_all, address) {
        if full == NotAdmitted::Full {
            front.thread.ask_others_to_end_idle();
        }
        front.board.answered(503);
        let rejection = Rejection::connection(503, full.why());
        front.tell(&rejection, &endpoints.to_string());
        front.access.refused(&address_text(&endpoints), &rejection);
        return http1::turn_away(stream);
    }
    let state = Rc::new(ConnectionState::default());
    let key = front.opened(&state, address);
    drop(admission_lock);
    front.board.count(Counter::ConnectionsOpened, 1);
    spawn_local(serve(front, stream, endpoints, (state, key)));
}

fn address_text(endpoints: &Endpoints) -> String {
    let address = endpoints.client.map(|peer| peer.ip().to_string());
    address.unwrap_or_default()
}

/// Until either side has had enough.
async fn serve(
    front: Rc<Front>,
    stream: impl Stream,
    endpoints: Endpoints,
    (state, key): (Rc<ConnectionState>, usize),
) {
    let service = Service {
        front: Rc::clone(&front),
        endpoints: endpoints.to_string().into(),
        client: address_text(&endpoints),
        logged: RefCell::default(),
        hangup: RefCell::default(),
    };
    let options = Options::from(&front.http.get());
    http1::serve(stream, state, &service, options).await;
    front.closed(key);
    front.board.count(Counter::ConnectionsClosed, 1);
}
