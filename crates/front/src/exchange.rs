//! One request: take it whole, wait for a worker, pass the answer on.

use std::rc::Rc;
use std::time::{Duration, Instant};

use http::header::{CONNECTION, HOST, HeaderValue, RETRY_AFTER};
use http::request::Parts;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode, Version};
use ipc::Origin;
use scoreboard::Counter;

use crate::connection::Life;
use crate::link::Failed;
use crate::reply::{self, Reply, plain};
use crate::run::Front;
use crate::upload::{self, Upload};
use crate::workers::Lease;
use crate::{files, forward};

/// A request that ran for longer than this when its worker died is not given to another: it may well be the reason.
const REPEATABLE: Duration = Duration::from_secs(5);
/// Seconds after which a client may try again when the queue is full.
const RETRY_IN: HeaderValue = HeaderValue::from_static("1");

/// The answer to a request of the client with these [`ipc::Ends`].
pub(crate) async fn answer(
    front: Rc<Front>,
    ends: Rc<str>,
    life: Rc<Life>,
    request: Request<Incoming>,
) -> Response<Reply> {
    let mut response = match passed_on(&front, &ends, &life, request).await {
        Ok(response) => response,
        Err(own) => front.answered(own),
    };
    if front.is_draining() {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// A worker's answer, or one of our own as the error.
async fn passed_on(
    front: &Rc<Front>,
    ends: &str,
    life: &Rc<Life>,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Response<Reply>> {
    let (mut head, body) = request.into_parts();
    if head.method == Method::CONNECT {
        return Err(plain(StatusCode::METHOD_NOT_ALLOWED, "This is no proxy.\n"));
    }
    if names_no_host(&head) {
        let text = "An HTTP/1.1 request has one Host field.\n";
        return Err(plain(StatusCode::BAD_REQUEST, text));
    }
    if let Some(site) = front.site()
        && let Some(file) = files::answer(&site, &head)
    {
        return Err(file);
    }
    let upload = Upload::receive(body)
        .await
        .map_err(|failed| not_received(front, failed))?;
    let origin = Origin {
        id: front.next_request_id(),
        is_http10: head.version == Version::HTTP_10,
        ends,
    };
    let origin = HeaderValue::try_from(origin.to_string()).expect("digits, words and addresses");
    forward::request(&mut head.headers, origin, upload.length());
    head.version = Version::HTTP_11;
    give(front, life, &head, &upload).await
}

/// RFC 9112 §3.2: who sends two, or none, wants to be understood differently by two servers, or is no HTTP/1.1 client.
fn names_no_host(head: &Parts) -> bool {
    let mut hosts = head.headers.get_all(HOST).iter();
    let first = hosts.next();
    hosts.next().is_some()
        || (head.version == Version::HTTP_11 && first.is_none_or(HeaderValue::is_empty))
}

/// Give it to workers until one has answered.
async fn give(
    front: &Rc<Front>,
    life: &Rc<Life>,
    head: &Parts,
    upload: &Upload,
) -> Result<Response<Reply>, Response<Reply>> {
    let mut again = false;
    loop {
        let mut lease = worker(front, again).await?;
        let Ok(link) = lease.link().await else {
            continue;
        };
        let began = Instant::now();
        match link
            .ask(Request::from_parts(head.clone(), upload.outgoing()))
            .await
        {
            Ok(response) => return Ok(reply::pass_on(lease, response, life).await),
            // A connection that was closed meanwhile; the next is a new one.
            Err(Failed::Unsent) => lease.link = None,
            Err(Failed::Broken) => {
                if again || !forward::is_repeatable(&head.method) || began.elapsed() > REPEATABLE {
                    front.board.count(Counter::BadGateway, 1);
                    return Err(plain(StatusCode::BAD_GATEWAY, "Bad Gateway\n"));
                }
                again = true;
                front.board.count(Counter::Retries, 1);
            }
        }
    }
}

/// An idle worker, in turn.
async fn worker(front: &Rc<Front>, first: bool) -> Result<Lease, Response<Reply>> {
    if let Some(lease) = front.workers.take() {
        return Ok(lease);
    }
    let Ok(turn) = front.workers.wait(first) else {
        front.board.count(Counter::Unavailable, 1);
        let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable\n");
        response.headers_mut().insert(RETRY_AFTER, RETRY_IN);
        return Err(response);
    };
    let _waiting = Waiting::new(front);
    Ok(turn.await)
}

/// Counts one who waits, until he does not.
struct Waiting<'a> {
    front: &'a Front,
    since: Instant,
}

impl<'a> Waiting<'a> {
    fn new(front: &'a Front) -> Waiting<'a> {
        front.board.count(Counter::Queued, 1);
        Waiting {
            front,
            since: Instant::now(),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let micros = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.front.board.count(Counter::Unqueued, 1);
        self.front.board.count(Counter::QueuedMicroseconds, micros);
    }
}

fn not_received(front: &Front, failed: upload::Failed) -> Response<Reply> {
    let mut response = match failed {
        upload::Failed::Client => {
            plain(StatusCode::BAD_REQUEST, "The request body is malformed.\n")
        }
        upload::Failed::Storage(error) => {
            front.trouble(format!(
                "cannot keep a request's body in a temporary file ({}): {error}",
                std::env::temp_dir().display()
            ));
            plain(
                StatusCode::INSUFFICIENT_STORAGE,
                "The request body cannot be stored.\n",
            )
        }
    };
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
