//! From a request to its response: run the task, and let hyper have what it answers.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::{Request as HttpRequest, Response as HttpResponse};
use php::{Body, Cancel, Client, Request, Response, Script, Task};
use scoreboard::Ticket;
use tokio::task::spawn_local;

use crate::body::{Hanging, RequestBody, ResponseBody};
use crate::classic::Plan;
use crate::door::Passage;
use crate::gate::Turn;
use crate::watchdog;
use crate::worker::Worker;

pub(crate) type Answer = HttpResponse<ResponseBody>;

/// One request being answered. Dropping it means that the client is gone.
pub(crate) struct Answering {
    worker: Rc<Worker>,
    request: Rc<Request>,
    /// `None` before it has begun, once it has ended, or while it goes on elsewhere.
    task: Option<Task>,
    ticket: Option<Ticket>,
    watched: bool,
    phase: Phase,
    /// What it runs, in classic mode, until it begins.
    script: Option<Rc<Script>>,
    /// If the front asks.
    passage: Option<Rc<Passage>>,
}

enum Phase {
    /// As many requests are running as may (workers.concurrency).
    Queued(Turn),
    Running,
    /// It needs no PHP.
    Planned(Option<Box<Answer>>),
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = HttpResponse::new(ResponseBody::text(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=UTF-8"),
    );
    answer
}

const TOO_LARGE: &str = "The request body is larger than this server accepts (post_max_size).\n";

const NO_HOST: &str = "An HTTP/1.1 request has one Host field.\n";

/// RFC 9112 §3.2: who sends two, or none, wants to be understood differently by two servers, or is no HTTP/1.1 client.
fn names_no_host(request: &HttpRequest<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let first = hosts.next();
    hosts.next().is_some()
        || (request.version() == Version::HTTP_11 && first.is_none_or(HeaderValue::is_empty))
}

/// RFC 9112 §3.2.2: the host in an absolute target is the one that counts, whatever the Host field says.
fn prefer_target_host(head: &mut Parts) {
    let host = head.uri.authority().map(http::uri::Authority::as_str);
    if let Some(Ok(host)) = host.map(|host| HeaderValue::from_str(without_user(host))) {
        head.headers.insert(HOST, host);
    }
}

fn without_user(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or(authority)
}

/// The answer to what need not reach PHP.
pub(crate) fn refused(worker: &Worker, request: &HttpRequest<Incoming>) -> Option<Answer> {
    if names_no_host(request) {
        return Some(plain(StatusCode::BAD_REQUEST, NO_HOST));
    }
    if worker.classic.is_some() {
        // PHP itself says what is too large, and runs the script without the body.
        return None;
    }
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

/// The same to the front, which has the body already: take it, so that the answer is not lost.
pub(crate) fn refused_to_front(request: HttpRequest<Incoming>, mut answer: Answer) -> Answer {
    spawn_local(discard(Box::new(RequestBody(request.into_body()))));
    if answer.headers_mut().remove(CONNECTION).is_some() {
        tell_front(&mut answer, &[ipc::CLOSE]);
    }
    answer
}

/// What is for the front only.
fn tell_front(answer: &mut Answer, words: &[&str]) {
    if !words.is_empty() {
        let words = HeaderValue::try_from(words.join(" ")).expect("words of ours");
        answer.headers_mut().insert(ipc::WORKER_HEADER, words);
    }
}

impl Answering {
    pub(crate) fn new(
        worker: Rc<Worker>,
        client: Rc<Client>,
        id: u64,
        request: HttpRequest<Incoming>,
        passage: Option<Rc<Passage>>,
    ) -> Answering {
        let (mut head, body) = request.into_parts();
        prefer_target_host(&mut head);
        let body = (!body.is_end_stream())
            .then(|| Box::new(RequestBody(body)) as Box<dyn php::BodySource>);
        let target = head
            .uri
            .path_and_query()
            .map_or("", |target| target.as_str());
        let ticket = worker
            .host
            .board
            .as_ref()
            .map(|board| board.begin(head.method.as_str().as_bytes(), target.as_bytes(), id));
        let plan = worker.classic.as_ref().map(|classic| classic.plan(&head));
        let limit = if plan.is_some() { 0 } else { worker.body_limit };
        let request = Request::new(head, id, client, body, limit);
        let mut this = Answering {
            worker,
            request,
            task: None,
            ticket,
            watched: false,
            phase: Phase::Running,
            script: None,
            passage,
        };
        match plan {
            Some(Plan::Answer(answer)) => this.phase = Phase::Planned(Some(Box::new(answer))),
            Some(Plan::Run(script)) => {
                this.script = Some(script);
                this.enter();
            }
            None => this.enter(),
        }
        this
    }

    /// At once, or when it is its turn.
    fn enter(&mut self) {
        if self.worker.gate.try_enter() {
            self.begin();
        } else {
            self.phase = Phase::Queued(self.worker.gate.line_up());
        }
    }

    /// It is its turn: the time limit counts from here.
    fn begin(&mut self) {
        self.request.set_deadline(self.worker.deadline());
        let request = Rc::clone(&self.request);
        self.task = Some(match self.script.take() {
            Some(script) => Task::classic(request, script),
            None => Task::request(request),
        });
        self.phase = Phase::Running;
    }

    /// Run the task; true when it has ended.
    fn run(&mut self, context: &mut Context<'_>) -> bool {
        let Some(task) = &mut self.task else {
            return true;
        };
        let ended = poll_watched(task, &self.request, context).is_ready();
        if ended {
            let broken = task.is_broken();
            self.task = None;
            ended_request(&self.request, &self.worker, broken);
        } else {
            self.watch();
        }
        ended
    }

    fn watch(&mut self) {
        if let Some(task) = self.task.as_ref().filter(|_| !self.watched) {
            self.watched = true;
            self.worker.watch(&self.request, task.canceller());
        }
    }

    /// The response is out, but the task goes on: stream, deferred work. `status` is what the scoreboard is told then.
    fn detach(&mut self, status: u16) {
        self.watch();
        let Some(task) = self.task.take() else { return };
        let ticket = self.ticket.take();
        spawn_local(finish(
            task,
            Rc::clone(&self.request),
            Rc::clone(&self.worker),
            (ticket, status),
            self.passage.take(),
        ));
    }

    fn answer(&mut self, response: Response) -> Answer {
        let mut answer = if self.request.body_was_too_large() {
            plain(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE)
        } else if self.request.body_was_broken() {
            plain(StatusCode::BAD_REQUEST, "The request body is malformed.\n")
        } else {
            convert(response, self.worker.classic.is_some())
        };
        self.name_writer(&mut answer);
        self.settle(&mut answer);
        answer
    }

    /// Whom a streamed answer ends when its client leaves: nobody where it was for HEAD, because then its body is
    /// dropped anyway, nor in classic mode, where a script learns of it when it sends something.
    fn name_writer(&self, answer: &mut Answer) {
        if let ResponseBody::Stream(pipe) = answer.body_mut()
            && let Some(task) = &self.task
            && self.worker.classic.is_none()
            && self.request.head().method != Method::HEAD
        {
            pipe.written_by(task.canceller());
        }
    }

    /// The answer goes out: who has to know what follows from it.
    fn settle(&mut self, answer: &mut Answer) {
        if self.passage.is_some() {
            self.say_to_front(answer);
        } else if self.worker.is_draining() {
            answer
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.detach(answer.status().as_u16());
        self.done(answer.status().as_u16());
    }

    fn say_to_front(&self, answer: &mut Answer) {
        answer.headers_mut().remove(ipc::WORKER_HEADER);
        let mut words = Vec::new();
        if self.task.is_some() {
            words.push(ipc::MORE);
        }
        if answer.headers_mut().remove(CONNECTION).is_some() {
            words.push(ipc::CLOSE);
        }
        if self.worker.host.why_it_leaves().is_some() {
            words.push(ipc::LEAVE);
        }
        tell_front(answer, &words);
    }

    fn done(&mut self, status: u16) {
        self.worker.finished(self.ticket.take(), status);
    }

    /// The answer, if the task has come that far.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        let ended = self.run(context);
        if let Some(response) = self.request.take_response() {
            if let Body::File(path) = response.body {
                let mut answer = send_file(&self.request, &path, response.status, response.headers);
                self.settle(&mut answer);
                return Poll::Ready(answer);
            }
            return Poll::Ready(self.answer(response));
        }
        if !ended {
            return Poll::Pending;
        }
        let mut answer = plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n");
        self.settle(&mut answer);
        Poll::Ready(answer)
    }

    fn poll_phase(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        match &mut self.phase {
            Phase::Queued(turn) => {
                ready!(Pin::new(turn).poll(context));
                self.begin();
                self.poll_answer(context)
            }
            Phase::Running => self.poll_answer(context),
            Phase::Planned(answer) => {
                let mut answer = *answer.take().expect("a future is not polled after its end");
                self.settle(&mut answer);
                Poll::Ready(answer)
            }
        }
    }
}

/// Run the task a bit, with the watchdog looking.
fn poll_watched(task: &mut Task, request: &Request, context: &mut Context<'_>) -> Poll<()> {
    watchdog::running_until(request.deadline());
    let step = Pin::new(task).poll(context);
    watchdog::stopped();
    step
}

/// The handler and all it started have ended.
fn ended_request(request: &Rc<Request>, worker: &Rc<Worker>, broken: bool) {
    if broken {
        request.fail();
    } else {
        request.end();
    }
    worker.gate.leave();
    worker.look_at_wear();
    if let Some(rest) = request.take_unread() {
        spawn_local(discard(rest));
    }
}

/// How much of a body that nobody wants is read, and for how long, so that its connection can go on.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);

async fn discard(mut rest: Box<dyn php::BodySource>) {
    let mut left = DISCARD_BYTES;
    let all = std::future::poll_fn(|context| {
        while let Some(Ok(piece)) = ready!(rest.poll_piece(context)) {
            if piece.len() > left {
                break;
            }
            left -= piece.len();
        }
        Poll::Ready(())
    });
    // After that the connection is closed: its client keeps sending what nobody reads.
    let _ = tokio::time::timeout(DISCARD_TIME, all).await;
}

/// Run `task` to its end in the background.
async fn finish(
    mut task: Task,
    request: Rc<Request>,
    worker: Rc<Worker>,
    (ticket, status): (Option<Ticket>, u16),
    passage: Option<Rc<Passage>>,
) {
    std::future::poll_fn(|context| poll_watched(&mut task, &request, context)).await;
    ended_request(&request, &worker, task.is_broken());
    worker.finished(ticket, status);
    worker.host.changed.notify_waiters();
    if let Some(passage) = passage {
        passage.ended(worker.host.why_it_leaves().is_some());
    }
}

impl Future for Answering {
    type Output = Result<Answer, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_phase(context).map(Ok)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            if self.worker.classic.is_some() {
                // As under php-fpm: the script learns of it when it sends something.
                self.request.abandon();
            } else {
                task.cancel(Cancel::ClientGone);
            }
            self.detach(CLIENT_GONE);
        }
        self.done(CLIENT_GONE);
    }
}

/// What the scoreboard calls a request whose client did not wait for the answer.
const CLIENT_GONE: u16 = 0;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=UTF-8");

/// Headers that say how this connection frames the message are hyper's.
const FRAMING: [HeaderName; 2] = [TRANSFER_ENCODING, CONNECTION];

/// `Connection: close` from PHP is honoured, anything else there is not its business. Nor is the length of what is there
/// whole.
fn take_framing(headers: &mut HeaderMap, whole: bool) {
    let close = headers
        .get(CONNECTION)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    FRAMING.iter().for_each(|name| {
        headers.remove(name);
    });
    if close {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if whole {
        headers.remove(CONTENT_LENGTH);
    }
}

/// `complete`: PHP has said all that the head is to say, the type too.
fn convert(mut response: Response, complete: bool) -> Answer {
    if response.known.framing {
        take_framing(
            &mut response.headers,
            matches!(response.body, Body::Full(_)),
        );
    }
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let has_body = !(status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED);
    if has_body && !complete && !response.known.content_type {
        response.headers.insert(CONTENT_TYPE, HTML);
    }
    let mut answer = HttpResponse::new(match response.body {
        Body::Full(bytes) => ResponseBody::full(bytes),
        Body::Stream(pipe) => ResponseBody::Stream(Hanging::new(pipe)),
        Body::File(_) => unreachable!("files are answered by send_file"),
    });
    if !has_body {
        *answer.body_mut() = ResponseBody::Full(None);
    }
    *answer.status_mut() = status;
    *answer.headers_mut() = response.headers;
    if let (false, Ok(reason)) = (response.reason.is_empty(), response.reason.try_into()) {
        answer.extensions_mut().insert::<ReasonPhrase>(reason);
    }
    answer
}

/// `Response::file()`: what the handler says of it comes last.
fn send_file(request: &Request, path: &str, status: u16, headers: HeaderMap) -> Answer {
    let file = match site::StaticFile::open(path.as_ref()) {
        Ok(file) => file,
        Err(error) => {
            crate::log::line(
                "ERROR",
                request.id(),
                format_args!("Response::file({path}): {error}"),
            );
            return plain(StatusCode::NOT_FOUND, "Not Found\n");
        }
    };
    let head = request.head();
    let mut answer = file
        .answer_any(&head.method, &head.headers)
        .map(ResponseBody::file);
    if answer.status() == StatusCode::OK && status != 200 {
        *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
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
