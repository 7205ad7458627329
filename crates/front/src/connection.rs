//! The front as the server of its clients: what they ask goes to a worker.

use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use http1::{Endpoints, Incoming, Rejection, RequestHead, Response};
use server::access::Spent;
use server::{Handler, HttpServer, Request};

use crate::hangup::Hangup;
use crate::process::Front;
use crate::proxy;
use crate::response::{self, ResponseBody};

/// A client as workers and the access log have it.
#[derive(Clone)]
pub(crate) struct Client {
    socket: Option<SocketAddr>,
    /// [`Endpoints::pack`]
    pub(crate) endpoints: Rc<[u8]>,
    address: Rc<str>,
}

impl Handler for Front {
    type Client = Client;
    type Body = ResponseBody;
    type Context = Rc<Hangup>;

    fn http(&self) -> &HttpServer {
        &self.http
    }

    fn client(endpoints: &Endpoints) -> Client {
        let address = endpoints.client.map(|peer| peer.ip().to_string());
        Client {
            socket: endpoints.client,
            endpoints: endpoints.pack().into(),
            address: address.unwrap_or_default().into(),
        }
    }

    fn address(client: &Client) -> &str {
        &client.address
    }

    fn socket(client: &Client) -> Option<SocketAddr> {
        client.socket
    }

    fn context(&self, head: &RequestHead) -> Rc<Hangup> {
        Rc::new(Hangup::new(self.http.leaves_with_client(head)))
    }

    fn spent(hangup: &Rc<Hangup>) -> Spent {
        hangup.spent()
    }

    fn accepted(self: &Rc<Self>, connection: OwnedFd) {
        let _admission = self.thread.admission();
        // If that fails, the client has hung up meanwhile.
        let _ = server::accept::serve(self, connection, ());
    }

    fn connections_in_all(&self) -> u64 {
        self.http.connections.in_process() + 1
    }

    fn is_full(&self) {
        self.thread.ask_others_to_end_idle();
    }

    fn answer(
        self: Rc<Self>,
        request: Request<Front>,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = Response<ResponseBody>> {
        proxy::answer(self, request, head, body)
    }

    fn outlasts_sending(&self, hangup: &Rc<Hangup>) -> bool {
        hangup.goes_on(&self.workers)
    }
}

impl Front {
    /// An answer of our own, for the log, not too often.
    pub(crate) fn refuse(
        &self,
        status: u16,
        why: &'static str,
        head: &RequestHead,
        client: &Client,
    ) -> Response<ResponseBody> {
        let rejection = Rejection::new(status, why, head);
        self.http.log_rejection(&rejection, client.socket);
        response::plain(status, why)
    }
}
