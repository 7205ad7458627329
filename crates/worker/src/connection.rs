//! A worker as the [`Handler`] of clients' connections (direct dispatch): each request goes to PHP.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use http1::{Endpoints, Incoming, RESERVED_DESCRIPTORS, RequestHead};
use php::{BodySource, Client, Timings};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use server::access::RequestTimes;
use server::{Handler, HttpServer, Request};

use crate::balance::{self, ConnectionGuard};
use crate::request::{RequestFuture, refuse, refused};
use crate::response::HttpResponse;
use crate::response::body::{RequestBody, ResponseBody};
use crate::worker::Worker;

impl Handler for Worker {
    type Client = Rc<Client>;
    type Body = ResponseBody;
    /// Where the time of a request goes, if the access log has a field for it.
    type Context = Option<Rc<Timings>>;

    fn http(&self) -> &HttpServer {
        &self.http
    }

    fn client(endpoints: &Endpoints) -> Rc<Client> {
        Rc::new(Client::new(endpoints))
    }

    fn address(client: &Rc<Client>) -> &str {
        client.address_text()
    }

    fn socket(client: &Rc<Client>) -> Option<SocketAddr> {
        client.socket()
    }

    fn context(&self, _: &RequestHead) -> Option<Rc<Timings>> {
        self.timings()
    }

    fn spent(timings: &Option<Rc<Timings>>) -> RequestTimes {
        let spent = timings.as_ref().map(|timings| RequestTimes {
            queue: timings.queue(),
            php: timings.php(),
            cpu: timings.cpu(),
        });
        spent.unwrap_or_default()
    }

    fn accepted(self: &Rc<Self>, connection: OwnedFd) {
        if let Some((connection, guard)) = balance::accept_or_hand_off(self, connection) {
            serve(self, connection, guard);
        }
    }

    fn connections_in_all(&self) -> u64 {
        match &self.balancer {
            // The total includes the new connection.
            Some(spread) => spread.total(),
            None => self.http.connections.count() as u64 + 1,
        }
    }

    fn connections_elsewhere(&self, address: IpAddr) -> u64 {
        let balancer = self.balancer.as_ref();
        balancer.map_or(0, |balancer| balancer.elsewhere_of(address))
    }

    fn opened(&self, address: IpAddr) {
        if let Some(balancer) = &self.balancer {
            balancer.opened(address);
        }
    }

    fn closed(&self, address: IpAddr) {
        if let Some(balancer) = &self.balancer {
            balancer.closed(address);
        }
    }

    fn answer(
        self: Rc<Self>,
        request: Request<Worker>,
        head: RequestHead,
        body: Option<Incoming>,
    ) -> impl Future<Output = HttpResponse> {
        let client = request.client;
        let refused = match request.error {
            Some(error) => Some(refuse(&self, &client, (400, error.text()), &head)),
            None => refused(&self, &client, &head),
        };
        if let Some(answer) = refused {
            return Answer::Refused(Some(Box::new(answer)));
        }
        let body = body.map(|body| Box::new(RequestBody(body)) as Box<dyn BodySource>);
        let (id, timings) = (request.id, request.context);
        Answer::Coming(RequestFuture::new(
            self, client, id, head, body, None, timings,
        ))
    }
}

/// The response to a request: a refusal, or the future of the response.
enum Answer {
    Refused(Option<Box<HttpResponse>>),
    Coming(RequestFuture),
}

impl Future for Answer {
    type Output = HttpResponse;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<HttpResponse> {
        match self.get_mut() {
            Answer::Refused(answer) => answer
                .take()
                .map_or(Poll::Pending, |answer| Poll::Ready(*answer)),
            Answer::Coming(answering) => Pin::new(answering).poll(context),
        }
    }
}

/// Serves a connection that was accepted, here or by another worker.
///
/// Clients' descriptors are kept above those that `select()` supports: PHP's `stream_select()` and many libraries refuse
/// higher descriptors, or write beyond their sets. So the low descriptors are PHP's, however many clients there are.
pub(crate) fn serve(worker: &Rc<Worker>, connection: OwnedFd, guard: Option<ConnectionGuard>) {
    // On an error, the client has hung up meanwhile, or there is no free descriptor.
    if let Ok(connection) = above_reserved(connection) {
        let _ = server::accept::serve(worker, connection, guard);
    }
}

/// Moves the descriptor to a number above the reserved ones, if the limit of this process allows that.
fn above_reserved(fd: OwnedFd) -> rustix::io::Result<OwnedFd> {
    match fcntl_dupfd_cloexec(fd.as_fd(), RESERVED_DESCRIPTORS as i32) {
        Err(Errno::INVAL) => Ok(fd),
        high => high,
    }
}
