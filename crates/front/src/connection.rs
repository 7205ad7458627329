//! The front as the [`Handler`] of clients' connections: each request goes to a worker.

use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use http1::{Endpoints, Incoming, Rejection, RequestHead, Response};
use server::access::RequestTimes;
use server::{Handler, HttpServer, Request};

use crate::hangup::Hangup;
use crate::process::Front;
use crate::proxy;
use crate::response::{self, ResponseBody};

/// A client's addresses, in the forms that workers and the access log use.
#[derive(Clone)]
pub(crate) struct Client {
    socket: Option<SocketAddr>,
    /// The addresses of the connection as [`Endpoints::pack`] writes them.
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

    fn spent(hangup: &Rc<Hangup>) -> RequestTimes {
        hangup.spent()
    }

    fn accepted(self: &Rc<Self>, connection: OwnedFd) {
        let _admission = self.thread.admission();
        // An error means that the client has hung up meanwhile.
        let _ = server::accept::serve(self, connection, ());
    }

    fn connections_in_all(&self) -> u64 {
        self.http.connections.in_process() + 1
    }

    fn is_full(&self) {
        self.thread.end_idle_of_others();
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
    /// Returns the front's own response to a request that it refuses, and logs the refusal (rate-limited).
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
