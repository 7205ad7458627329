//! From a request to its response: run the task, and let the connection have what it answers.

mod discard;
pub(crate) mod quarantine;
pub(crate) mod queue;
mod receive;
mod refusal;
pub(crate) mod upload;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http1::{BodyError, Rejection, RequestHead};
use php::{BodySource, Cancel, Client, Request, Response, Script, Task, Timings};
use shm::{Begins, Counter, Suspect, Ticket};
use tokio::task::spawn_local;

use crate::classic::Plan;
use crate::front_link::EndSignal;
use crate::response::body::ResponseBody;
use crate::response::send_file;
use crate::response::{HttpResponse, convert, plain};
use crate::worker::Worker;

use self::discard::discard;
use self::queue::Queued;
use self::refusal::why_refused;
pub(crate) use self::refusal::{refuse, refused};

/// One request being answered. Dropping it means that the client is gone.
pub(crate) struct RequestFuture {
    worker: Rc<Worker>,
    request: Rc<Request>,
    /// `None` before it has begun, once it has ended, or while it goes on elsewhere.
    task: Option<Task>,
    ticket: Option<Ticket>,
    suspect: Suspect,
    watched: bool,
    phase: Phase,
    /// What it runs, in classic mode, until it begins.
    script: Option<Rc<Script>>,
    /// If the front asks.
    end_signal: Option<Rc<EndSignal>>,
}

enum Phase {
    /// Its body, or the beginning of that, is still to come.
    Body(Receiving),
    /// As many requests are running as may (workers.concurrency).
    Queued(Queued),
    Running,
    /// It needs no PHP.
    Static(Option<Box<HttpResponse>>),
}

type Receiving = Pin<Box<dyn Future<Output = Result<(), BodyError>>>>;

/// RFC 9112 §3.2.2: the host in an absolute target is the one that counts, whatever the Host field says.
fn prefer_target_host(head: &mut RequestHead) {
    if let Some(host) = head.authority().map(<[u8]>::to_vec) {
        head.fields.set("Host", host);
    }
}

impl RequestFuture {
    pub(crate) fn new(
        worker: Rc<Worker>,
        client: Rc<Client>,
        id: u64,
        mut head: RequestHead,
        body: Option<Box<dyn BodySource>>,
        end_signal: Option<Rc<EndSignal>>,
        timings: Option<Rc<Timings>>,
    ) -> RequestFuture {
        prefer_target_host(&mut head);
        send_file::offer(&worker.sendfile, &mut head);
        let plan = worker.plan(&head);
        if let Some(Plan::HttpResponse(answer)) = &plan
            && let Some(why) = why_refused(answer.head.status, &head)
        {
            let rejection = Rejection::new(answer.head.status, why, &head);
            worker.http.log_rejection(&rejection, client.socket());
        }
        let limit = if plan.is_some() { 0 } else { worker.body_limit };
        // What comes from a front is complete.
        let comes = body.is_some() && end_signal.is_none();
        let request = Request::new(head, id, client, body, limit);
        if let Some(timings) = timings {
            request.measure(timings);
        }
        let mut this = RequestFuture {
            worker,
            request,
            task: None,
            ticket: None,
            suspect: Suspect::default(),
            watched: false,
            phase: Phase::Running,
            script: None,
            end_signal,
        };
        match plan {
            Some(Plan::HttpResponse(answer)) => {
                this.announce();
                this.phase = Phase::Static(Some(Box::new(answer)));
                return this;
            }
            Some(Plan::Run(script)) => this.script = Some(script),
            None => {}
        }
        if comes {
            this.phase = Phase::Body(this.receive());
        } else {
            this.enter();
        }
        this
    }

    fn receive(&self) -> Receiving {
        let whole = self.worker.concurrency == 1;
        Box::pin(receive::body(Rc::clone(&self.request), whole))
    }

    /// To the scoreboard.
    fn announce(&mut self) {
        // What the front gives is whole.
        let body = self.request.body_here(self.end_signal.is_some());
        let head = self.request.head();
        let again = self
            .end_signal
            .as_ref()
            .is_some_and(|end_signal| end_signal.again.get());
        self.suspect = self.worker.quarantine.suspect(head, &body, again);
        let board = self.worker.host.board.as_ref();
        self.ticket = board.map(|board| board.begin(self.begins()));
    }

    fn begins(&self) -> Begins<'_> {
        let head = self.request.head();
        Begins {
            method: head.method(),
            target: head.resource(),
            id: self.request.id(),
            suspect: self.suspect,
        }
    }

    /// It had to wait for its turn, when more requests waited than the scoreboard has rows.
    fn list(&mut self) {
        let mut ticket = self.ticket.take();
        if let (Some(board), Some(ticket)) = (&self.worker.host.board, &mut ticket) {
            board.list(ticket, self.begins());
        }
        self.ticket = ticket;
    }

    /// At once, or when it is its turn.
    fn enter(&mut self) {
        self.announce();
        if let Some(timings) = self.request.timings() {
            timings.asks();
        }
        let worker = &self.worker;
        if worker.permits.try_acquire().is_some() {
            self.begin();
            return;
        }
        let (permits, board) = (&worker.permits, &worker.http.board);
        let queued = match self.end_signal {
            Some(_) => Ok(Queued::unlimited(permits)),
            None => worker.queue.join(permits, board),
        };
        self.phase = match queued {
            Ok(queued) => Phase::Queued(queued),
            Err(why) => Phase::Static(Some(Box::new(queue::refused(why, board)))),
        };
    }

    /// It is its turn: the time limit counts from here.
    fn begin(&mut self) {
        if let Some(left) = self.worker.quarantine.refuses(self.suspect) {
            self.worker.permits.release(());
            self.worker.host.count(Counter::Quarantined);
            self.phase = Phase::Static(Some(Box::new(quarantine::refused(left))));
            return;
        }
        self.request.set_deadline(self.worker.deadline());
        if let Some(timings) = self.request.timings() {
            timings.begins();
        }
        self.worker.host.slow.begins(&self.request);
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
        let ended = poll_watched(task, &self.request, &self.worker, context).is_ready();
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
            self.worker.watch(&self.request, task.handle());
        }
    }

    /// The response is out, but the task goes on: stream, deferred work. `status` is what the scoreboard is told then.
    fn detach(&mut self, status: u16) {
        self.watch();
        let Some(task) = self.task.take() else { return };
        if let Some(end_signal) = &self.end_signal {
            end_signal.goes_on();
        }
        let ticket = self.ticket.take();
        spawn_local(finish(
            task,
            Rc::clone(&self.request),
            Rc::clone(&self.worker),
            (ticket, status),
            self.end_signal.take(),
        ));
    }

    fn answer(&mut self, response: Response) -> HttpResponse {
        let mut answer = match self.request.body_error() {
            Some(error) => self.refuse(error),
            None => self.converted(response),
        };
        if self.end_signal.is_none() {
            answer = answer.map(|body| body.bounded(&self.worker.permits));
        }
        self.cancel_on_hangup(&mut answer);
        self.finish_response(&mut answer);
        answer
    }

    fn converted(&self, mut response: Response) -> HttpResponse {
        let named = send_file::answer(&self.request, &self.worker.sendfile, &mut response);
        named.unwrap_or_else(|| {
            let is_head = self.request.head().is_head();
            convert(response, self.worker.classic.is_some(), is_head)
        })
    }

    /// Whatever PHP made of what came of the body: it is not what was sent.
    fn refuse(&self, error: BodyError) -> HttpResponse {
        let (status, why) = (error.status(), error.text());
        let refused = Rejection::new(status, why, self.request.head());
        let client = self.request.client().socket();
        self.worker.http.log_rejection(&refused, client);
        let mut answer = plain(status, why);
        answer.head.fields.push("Connection", "close");
        answer
    }

    /// A streamed answer cancels its request when its client leaves: not for HEAD, because then its body is dropped
    /// anyway, nor in classic mode, where a script learns of it when it sends something.
    fn cancel_on_hangup(&self, answer: &mut HttpResponse) {
        if let ResponseBody::Stream(pipe) = &mut answer.body
            && let Some(task) = &self.task
            && self.worker.classic.is_none()
            && !self.request.head().is_head()
        {
            pipe.written_by(task.canceller());
        }
    }

    /// Its client left while it waited for its turn, which is run all the same if that is not safe to leave out: clients send a
    /// request and do not wait for the answer. As behind a front.
    fn goes_on_without_client(&mut self) -> bool {
        let is_optional = self.worker.http.leaves_with_client(self.request.head());
        if is_optional || self.end_signal.is_some() || !matches!(self.phase, Phase::Queued(_)) {
            return false;
        }
        let alone = RequestFuture {
            worker: Rc::clone(&self.worker),
            request: Rc::clone(&self.request),
            task: None,
            ticket: self.ticket.take(),
            suspect: self.suspect,
            watched: false,
            phase: std::mem::replace(&mut self.phase, Phase::Running),
            script: self.script.take(),
            end_signal: None,
        };
        spawn_local(async { drop(alone.await) });
        true
    }

    /// The answer goes out: who has to know what follows from it.
    fn finish_response(&mut self, answer: &mut HttpResponse) {
        if self.end_signal.is_none() && self.worker.is_draining() {
            answer.head.fields.set("Connection", "close");
        }
        // Of a stream more comes.
        if let Some(timings) = self.request.timings()
            && !matches!(answer.body, ResponseBody::Stream(_))
        {
            timings.ends();
        }
        self.detach(answer.head.status);
        self.done(answer.head.status);
    }

    fn done(&mut self, status: u16) {
        self.worker.finished(self.ticket.take(), status);
    }

    /// The answer, if the task has come that far.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<HttpResponse> {
        let ended = self.run(context);
        if let Some(response) = self.request.take_response() {
            return Poll::Ready(self.answer(response));
        }
        if !ended && !self.request.is_given_up() {
            return Poll::Pending;
        }
        let mut answer = match ended {
            true => plain(500, "Internal Server Error\n"),
            false => plain(504, "Gateway Timeout\n"),
        };
        self.finish_response(&mut answer);
        Poll::Ready(answer)
    }

    fn poll_phase(&mut self, context: &mut Context<'_>) -> Poll<HttpResponse> {
        match &mut self.phase {
            Phase::Body(receiving) => {
                if let Err(error) = ready!(receiving.as_mut().poll(context)) {
                    self.worker.count(error.status());
                    return Poll::Ready(self.refuse(error));
                }
                self.enter();
                self.poll_phase(context)
            }
            Phase::Queued(queued) => {
                match ready!(Pin::new(queued).poll(context)) {
                    Ok(()) => {
                        self.list();
                        self.begin();
                    }
                    Err(why) => {
                        let answer = queue::refused(why, &self.worker.http.board);
                        self.phase = Phase::Static(Some(Box::new(answer)));
                    }
                }
                self.poll_phase(context)
            }
            Phase::Running => self.poll_answer(context),
            Phase::Static(answer) => {
                let mut answer = *answer.take().expect("a future is not polled after its end");
                self.finish_response(&mut answer);
                Poll::Ready(answer)
            }
        }
    }
}

/// Run the task a bit, with the watchdog looking.
fn poll_watched(
    task: &mut Task,
    request: &Request,
    worker: &Worker,
    context: &mut Context<'_>,
) -> Poll<()> {
    worker.host.computes(request);
    let step = Pin::new(task).poll(context);
    worker.host.rests(Some(request));
    step
}

/// The handler and all it started have ended.
fn ended_request(request: &Rc<Request>, worker: &Rc<Worker>, broken: bool) {
    if let Some(timings) = request.timings() {
        timings.ends();
    }
    if broken {
        request.fail();
    } else {
        request.end();
    }
    worker.permits.release(());
    worker.check_recycle();
    if let Some(rest) = request.take_unread() {
        spawn_local(discard(rest));
    }
}

/// Run `task` to its end in the background.
async fn finish(
    mut task: Task,
    request: Rc<Request>,
    worker: Rc<Worker>,
    (ticket, status): (Option<Ticket>, u16),
    end_signal: Option<Rc<EndSignal>>,
) {
    std::future::poll_fn(|context| poll_watched(&mut task, &request, &worker, context)).await;
    ended_request(&request, &worker, task.is_broken());
    worker.finished(ticket, status);
    worker.host.changed.notify_waiters();
    if let Some(end_signal) = end_signal {
        end_signal.ended();
    }
}

impl Future for RequestFuture {
    type Output = HttpResponse;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_phase(context)
    }
}

impl Drop for RequestFuture {
    fn drop(&mut self) {
        if self.goes_on_without_client() {
            return;
        }
        if let Some(task) = &self.task {
            if self.worker.classic.is_some() || task.ignores_client() {
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
