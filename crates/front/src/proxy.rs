//! Proxies one request: receives it whole, has a worker answer it, and passes the response on.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use http1::{BodyError, Incoming, RequestHead, Response, Spool};
use relay::frame::{Payload, RequestFrame};
use server::Request;
use server::queue::{self, Refused};
use shm::Counter;

use crate::buffers::Buffer;
use crate::connection::Client;
use crate::hangup::Hangup;
use crate::headers;
use crate::pending::{Outcome, ResponseFuture};
use crate::process::Front;
use crate::response::{self, ResponseBody, plain};
use crate::upload::{self, Upload};

/// A request that ran for longer than this when its worker died is not retried: it may well be the reason.
const REPEATABLE: Duration = Duration::from_secs(5);
/// Bytes reserved in a frame for all but head and body.
const FRAME: usize = 256;

/// Answers a request.
pub(crate) async fn answer(
    front: Rc<Front>,
    request: Request<Front>,
    head: RequestHead,
    body: Option<Incoming>,
) -> Response<ResponseBody> {
    let mut response = match passed_on(&front, &request, head, body).await {
        Ok(response) => response,
        Err(own) => front.answered(own),
    };
    if front.is_draining() {
        response.head.fields.set("Connection", "close");
    }
    response
}

/// Returns a worker's response; the error is a response of the front's own.
async fn passed_on(
    front: &Rc<Front>,
    request: &Request<Front>,
    mut head: RequestHead,
    body: Option<Incoming>,
) -> Result<Response<ResponseBody>, Response<ResponseBody>> {
    let client = &request.client;
    if let Some(error) = &request.error {
        return Err(malformed(front, error.text(), &head, client));
    }
    if head.method() == b"CONNECT" {
        return Err(front.refuse(405, "This server is not a proxy.\n", &head, client));
    }
    if !head.names_one_host() {
        let why = "An HTTP/1.1 request has one Host field, with a valid host.\n";
        return Err(malformed(front, why, &head, client));
    }
    if let Some(files) = front.files()
        && let Some(file) = files.answer(&head)
    {
        return Err(file);
    }
    let not_stored = |failed| not_received(front, failed, &head, client);
    let limit = front.post_limit.get();
    if limit > 0 && announced(&head) > limit {
        return Err(not_stored(BodyError::OverPostLimit.into()));
    }
    let upload = Upload::receive(body, limit, || front.workers.poll_if_due())
        .await
        .map_err(not_stored)?;
    headers::request(&mut head, upload.length());
    let frame = Frame::new(request.id, &client.endpoints, &head, &upload);
    let mut frame = frame.map_err(|failed| not_received(front, failed, &head, client))?;
    let is_repeatable = headers::is_repeatable(head.method());
    give(front, is_repeatable, &mut frame, &request.context).await
}

fn malformed(
    front: &Front,
    why: &'static str,
    head: &RequestHead,
    client: &Client,
) -> Response<ResponseBody> {
    let mut refused = front.refuse(400, why, head, client);
    refused.head.fields.push("Connection", "close");
    refused
}

/// Returns the length of the body in bytes as the head announces it, else 0.
fn announced(head: &RequestHead) -> u64 {
    let length = head.fields.text("Content-Length");
    length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// A request as workers receive it.
struct Frame {
    bytes: Buffer,
    /// Files with the parts that did not fit in `bytes`.
    files: Vec<Rc<Spool>>,
}

impl Frame {
    fn new(
        id: u64,
        endpoints: &[u8],
        head: &RequestHead,
        upload: &Upload,
    ) -> Result<Frame, upload::Failed> {
        let mut packed = Buffer::new();
        head.pack(&mut packed);
        let mut files = Vec::new();
        let head_part = if packed.len() + FRAME <= relay::SLOT_CAPACITY {
            Payload::Here(&packed)
        } else {
            files.push(upload::file_of(&packed)?);
            Payload::File(packed.len() as u64)
        };
        let used = FRAME + if files.is_empty() { packed.len() } else { 0 };
        let body = body(upload, used, &mut files)?;
        let frame = RequestFrame {
            id,
            is_retry: false,
            endpoints,
            head: head_part,
            body,
        };
        let mut bytes = Buffer::new();
        bytes.reserve(used + 64);
        frame.write_to(&mut bytes);
        Ok(Frame { bytes, files })
    }
}

/// Puts the body in the frame if it fits beside the `used` bytes, else in a file.
fn body<'u>(
    upload: &'u Upload,
    used: usize,
    files: &mut Vec<Rc<Spool>>,
) -> Result<Payload<'u>, upload::Failed> {
    Ok(match upload {
        Upload::None => Payload::None,
        Upload::Memory(bytes) if used + bytes.len() <= relay::SLOT_CAPACITY => Payload::Here(bytes),
        Upload::Memory(bytes) => {
            files.push(upload::file_of(bytes)?);
            Payload::File(bytes.len() as u64)
        }
        Upload::File(file) => {
            files.push(Rc::clone(file));
            Payload::File(file.len())
        }
    })
}

/// Posts the request, retries it at most once if its worker dies, and returns the response.
async fn give(
    front: &Rc<Front>,
    is_repeatable: bool,
    frame: &mut Frame,
    hangup: &Hangup,
) -> Result<Response<ResponseBody>, Response<ResponseBody>> {
    let mut again = false;
    loop {
        let slot = front.workers.reserve(again).await;
        let slot = slot.map_err(|why| unavailable(front, why))?;
        let waiting = ResponseFuture {
            workers: Rc::clone(&front.workers),
            pending: front.workers.post(slot, &frame.bytes, &frame.files, again),
            is_done: Cell::new(false),
        };
        hangup.posted(&waiting.pending);
        let after = match (&waiting).await {
            Outcome::Answer(answer, store) => {
                let passed = response::pass_on(&answer, store, waiting);
                return passed.ok_or_else(|| bad_gateway(front));
            }
            Outcome::Lost(after) => after,
            Outcome::Expired => return Err(unavailable(front, Refused::Expired)),
        };
        if hangup.is_end() {
            // The connection is closed without an answer.
            return std::future::pending().await;
        }
        if again || !is_repeatable || after > REPEATABLE {
            return Err(bad_gateway(front));
        }
        again = true;
        RequestFrame::mark_retry(&mut frame.bytes);
        front.http.board.count(Counter::Retries, 1);
    }
}

fn unavailable(front: &Front, why: Refused) -> Response<ResponseBody> {
    let response = plain(503, "Service Unavailable\n");
    queue::unavailable(why, &front.http.board, response)
}

fn bad_gateway(front: &Front) -> Response<ResponseBody> {
    front.http.board.count(Counter::BadGateway, 1);
    plain(502, "Bad Gateway\n")
}

fn not_received(
    front: &Front,
    failed: upload::Failed,
    head: &RequestHead,
    client: &Client,
) -> Response<ResponseBody> {
    let refuse = |status, why| front.refuse(status, why, head, client);
    let mut response = match failed {
        upload::Failed::Body(error) => refuse(error.status(), error.text()),
        upload::Failed::Storage(error) => {
            logging::warning!(
                "cannot keep a request's body in a temporary file ({}): {error}",
                std::env::temp_dir().display()
            );
            plain(BodyError::Storage.status(), BodyError::Storage.text())
        }
    };
    response.head.fields.push("Connection", "close");
    response
}
