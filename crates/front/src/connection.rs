//! One client connection: what it asks goes to a worker.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use http1::{
    Admission, ConnectionState, Incoming, NotAdmitted, Options, Rejection, RequestHead, Response,
    Stream,
};
use ipc::FromFront;
use relay::Endpoints;
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
        proxy::answer(front, (endpoints, hangup), head, body)
    }

    fn outlasts_sending(&self) -> bool {
        self.hangup.borrow().goes_on(&self.front.workers)
    }

    fn refused(&self, refused: &Rejection<'_>) {
        if let Some(status) = refused.status {
            self.front.board.answered(status);
        }
        self.front.tell(refused, &self.endpoints);
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
        front.tell(
            &Rejection::connection(503, full.why()),
            &endpoints.to_string(),
        );
        return http1::turn_away(stream);
    }
    let state = Rc::new(ConnectionState::default());
    let key = front.opened(&state, address);
    drop(admission_lock);
    front.board.count(Counter::ConnectionsOpened, 1);
    spawn_local(serve(front, stream, endpoints, (state, key)));
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
        hangup: RefCell::default(),
    };
    let options = Options::from(&front.http.get());
    http1::serve(stream, state, &service, options).await;
    front.closed(key);
    front.board.count(Counter::ConnectionsClosed, 1);
}
