//! From a request to its response: run the task, and let hyper have what it answers.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
    TRANSFER_ENCODING,
};
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::{Request as HttpRequest, Response as HttpResponse};
use php::{Body, Cancel, Client, Request, Response, Task};
use scoreboard::{Counter, Ticket};
use tokio::task::spawn_local;

use crate::body::{Hanging, RequestBody, ResponseBody};
use crate::watchdog;
use crate::worker::Worker;

type Answer = HttpResponse<ResponseBody>;

/// One request being answered. Dropping it means that the client is gone.
pub(crate) struct Answering {
    worker: Rc<Worker>,
    request: Rc<Request>,
    /// `None` once it has ended, or goes on elsewhere.
    task: Option<Task>,
    ticket: Option<Ticket>,
    watched: bool,
    file: Option<Pin<Box<dyn Future<Output = Answer>>>>,
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = HttpResponse::new(ResponseBody::text(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=UTF-8"),
    );
    answer
}

const TOO_LARGE: &str = "The request body is larger than this server accepts (post_max_size).\n";

/// The answer to what need not reach PHP.
pub(crate) fn refused(worker: &Worker, request: &HttpRequest<Incoming>) -> Option<Answer> {
    let length: u64 = request
        .headers()
        .get(CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    (worker.body_limit > 0 && length > worker.body_limit).then(|| {
        let mut answer = plain(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        answer
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        answer
    })
}

impl Answering {
    pub(crate) fn new(
        worker: Rc<Worker>,
        client: Rc<Client>,
        request: HttpRequest<Incoming>,
    ) -> Answering {
        let (head, body) = request.into_parts();
        let body = (!body.is_end_stream())
            .then(|| Box::new(RequestBody(body)) as Box<dyn php::BodySource>);
        let id = worker.next_request_id();
        let target = head
            .uri
            .path_and_query()
            .map_or("", |target| target.as_str());
        let ticket = worker
            .host
            .board
            .as_ref()
            .map(|board| board.begin(head.method.as_str().as_bytes(), target.as_bytes(), id));
        let request = Request::new(head, id, client, body, worker.body_limit);
        request.set_deadline(worker.deadline());
        let task = Some(Task::request(Rc::clone(&request)));
        Answering {
            worker,
            request,
            task,
            ticket,
            watched: false,
            file: None,
        }
    }

    /// Run the task; true when it has ended.
    fn run(&mut self, context: &mut Context<'_>) -> bool {
        let Some(task) = &mut self.task else {
            return true;
        };
        watchdog::running_until(self.request.deadline());
        let ended = Pin::new(&mut *task).poll(context).is_ready();
        watchdog::stopped();
        if ended {
            self.task = None;
            self.request.end();
        } else if !self.watched {
            self.watched = true;
            self.worker.watch(&self.request, task.canceller());
        }
        ended
    }

    /// The response is out, but the task goes on: stream, deferred work.
    fn detach(&mut self) {
        let Some(task) = self.task.take() else { return };
        spawn_local(finish(
            task,
            Rc::clone(&self.request),
            Rc::clone(&self.worker),
        ));
    }

    fn answer(&mut self, response: Response) -> Answer {
        let mut answer = convert(response);
        if self.request.body_was_too_large() {
            answer = plain(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        self.done(answer.status().as_u16());
        if self.worker.is_draining() {
            answer
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    fn done(&mut self, status: u16) {
        if let (Some(board), Some(ticket)) = (&self.worker.host.board, self.ticket.take()) {
            board.end(ticket, status);
        }
    }
}

/// Run `task` to its end in the background.
async fn finish(mut task: Task, request: Rc<Request>, worker: Rc<Worker>) {
    worker.host.count(Counter::Tasks);
    std::future::poll_fn(|context| {
        watchdog::running_until(request.deadline());
        let step = Pin::new(&mut task).poll(context);
        watchdog::stopped();
        step
    })
    .await;
    if worker.host.is_broken.get() {
        request.fail();
    } else {
        request.end();
    }
    worker.host.count(Counter::TasksFinished);
    worker.host.changed.notify_waiters();
}

impl Future for Answering {
    type Output = Result<Answer, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(file) = &mut this.file {
            let answer = ready!(file.as_mut().poll(context));
            this.done(answer.status().as_u16());
            return Poll::Ready(Ok(answer));
        }
        let ended = this.run(context);
        if let Some(response) = this.request.take_response() {
            if let Body::File(path) = response.body {
                this.file = Some(Box::pin(send_file(
                    Rc::clone(&this.request),
                    path,
                    response.status,
                    response.headers,
                )));
                this.detach();
                return Pin::new(this).poll(context);
            }
            this.detach();
            return Poll::Ready(Ok(this.answer(response)));
        }
        if !ended {
            return Poll::Pending;
        }
        let answer = plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n");
        this.done(500);
        Poll::Ready(Ok(answer))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.cancel(Cancel::ClientGone);
            self.detach();
        }
        // 499, as nginx writes it: nobody was there to get the answer.
        self.done(499);
    }
}

/// Headers that say how this connection frames the message are hyper's.
const FRAMING: [HeaderName; 2] = [TRANSFER_ENCODING, CONNECTION];

fn convert(response: Response) -> Answer {
    let (body, length) = match response.body {
        Body::Full(bytes) => (ResponseBody::full(bytes), true),
        Body::Stream(pipe) => (ResponseBody::Stream(Hanging(pipe)), false),
        Body::File(_) => unreachable!("files are answered by send_file"),
    };
    let mut answer = HttpResponse::new(body);
    *answer.status_mut() =
        StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = response.headers;
    let status = answer.status();
    let headers = answer.headers_mut();
    // `Connection: close` from PHP is honoured, anything else there is not its business.
    let close = headers
        .get(CONNECTION)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    FRAMING.iter().for_each(|name| {
        headers.remove(name);
    });
    if close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if length {
        headers.remove(CONTENT_LENGTH);
    }
    let has_body = !(status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED);
    if has_body && !headers.contains_key(CONTENT_TYPE) {
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=UTF-8"),
        );
    }
    if !has_body {
        *answer.body_mut() = ResponseBody::Full(None);
    }
    answer
}

fn etag(path: &str) -> Option<HeaderValue> {
    let file = std::fs::metadata(path).ok()?;
    let modified = file
        .modified()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    HeaderValue::from_str(&format!("\"{:x}-{:x}\"", modified.as_nanos(), file.len())).ok()
}

fn matches(wanted: Option<&HeaderValue>, etag: &HeaderValue) -> bool {
    let (Some(Ok(wanted)), Ok(etag)) = (wanted.map(HeaderValue::to_str), etag.to_str()) else {
        return false;
    };
    wanted
        .split(',')
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

/// `Response::file()`: ranges, conditions and types by tower-http, entity tags by us.
async fn send_file(request: Rc<Request>, path: String, status: u16, headers: HeaderMap) -> Answer {
    use tower::ServiceExt as _;
    let mut ask = HttpRequest::new(http_body_util::Empty::<bytes::Bytes>::new());
    *ask.method_mut() = if request.head().method == "HEAD" {
        http::Method::HEAD
    } else {
        http::Method::GET
    };
    ask.headers_mut().clone_from(&request.head().headers);
    let tag = etag(&path);
    let unchanged = tag
        .as_ref()
        .is_some_and(|tag| matches(ask.headers().get(IF_NONE_MATCH), tag));
    let Ok(found) = tower_http::services::ServeFile::new(&path)
        .oneshot(ask)
        .await;
    let mut answer = found.map(|body| ResponseBody::File(Box::pin(body)));
    if answer.status() == StatusCode::NOT_FOUND {
        crate::log::line(
            "ERROR",
            request.id(),
            format_args!("Response::file({path}): there is no such file, or it cannot be read"),
        );
        return plain(StatusCode::NOT_FOUND, "Not Found\n");
    }
    if unchanged {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        *answer.body_mut() = ResponseBody::Full(None);
        answer.headers_mut().remove(CONTENT_LENGTH);
    } else if answer.status() == StatusCode::OK && status != 200 {
        *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    }
    if let Some(tag) = tag {
        answer.headers_mut().insert(ETAG, tag);
    }
    let mut last = None;
    for (name, value) in headers {
        last = name.or(last);
        if let Some(name) = &last {
            answer.headers_mut().insert(name.clone(), value);
        }
    }
    answer
}
