//! Requests that are answered without PHP because something is wrong with them.

use http1::{BodyError, Rejection, RequestHead};
use php::Client;

use crate::response::{HttpResponse, plain};
use crate::worker::Worker;

const NO_HOST: &str = "An HTTP/1.1 request has one Host field, with a valid host.\n";

/// Returns the response to a request that is refused without PHP, counted and logged.
pub(crate) fn refused(
    worker: &Worker,
    client: &Client,
    head: &RequestHead,
) -> Option<HttpResponse> {
    refusal(worker, head).map(|refusal| refuse(worker, client, refusal, head))
}

/// Returns the response to a refused request, counted and logged.
pub(crate) fn refuse(
    worker: &Worker,
    client: &Client,
    (status, why): (u16, &'static str),
    head: &RequestHead,
) -> HttpResponse {
    worker.count(status);
    let rejection = Rejection::new(status, why, head);
    worker.http.log_rejection(&rejection, client.socket());
    let mut answer = plain(status, why);
    if matches!(status, 400 | 413) {
        answer.head.fields.push("Connection", "close");
    }
    answer
}

fn refusal(worker: &Worker, head: &RequestHead) -> Option<(u16, &'static str)> {
    if head.method() == b"CONNECT" {
        return Some((405, "This server is not a proxy.\n"));
    }
    if !head.names_one_host() {
        return Some((400, NO_HOST));
    }
    if worker.classic.is_some() {
        // PHP itself reports a body that is too large, and runs the script without it.
        return None;
    }
    let length: u64 = head.fields.text("Content-Length")?.parse().ok()?;
    (worker.body_limit > 0 && length > worker.body_limit).then(|| {
        let error = BodyError::OverPostLimit;
        (error.status(), error.text())
    })
}

/// Returns why a site refuses a request, for the log. A file that does not exist, or is not public, is no refusal.
pub(super) fn why_refused(status: u16, head: &RequestHead) -> Option<&'static str> {
    match status {
        400 => Some("malformed path: bad percent-encoding, or it leads above the root"),
        405 if head.method() == b"TRACE" => Some("TRACE is not answered"),
        _ => None,
    }
}
