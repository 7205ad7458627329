//! One client connection: what it asks goes to a worker.

use std::future::Future;
use std::rc::Rc;

use http1::{Incoming, Life, Options, Refusal, RequestHead, Response, Stream};
use ipc::Ends;
use scoreboard::Counter;

use crate::exchange;
use crate::reply::Reply;
use crate::run::Front;

/// The connection's view of this server: one request in, one answer out.
struct Service {
    front: Rc<Front>,
    ends: Rc<str>,
}

impl http1::Service for Service {
    type Body = Reply;

    fn call(
        &self,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<Reply>> {
        exchange::answer(Rc::clone(&self.front), Rc::clone(&self.ends), head, body)
    }

    fn refused(&self, refusal: Refusal) {
        self.front.board.answered(refusal.status());
    }
}

/// Answer requests on `stream` until either side has had enough.
pub(crate) async fn serve(front: Rc<Front>, stream: impl Stream, ends: Ends) {
    let life = Rc::new(Life::default());
    let key = front.opened(&life);
    front.board.count(Counter::ConnectionsOpened, 1);
    let service = Service {
        front: Rc::clone(&front),
        ends: ends.to_string().into(),
    };
    let options = Options {
        body: front.max_body.get(),
        ..Options::default()
    };
    http1::serve(stream, life, &service, options).await;
    front.closed(key);
    front.board.count(Counter::ConnectionsClosed, 1);
}
