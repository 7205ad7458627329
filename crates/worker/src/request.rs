//! From a request to its response: receives the body, waits for a permit, runs the task, and converts its response.

mod discard;
mod hangup;
pub(crate) mod quarantine;
pub(crate) mod queue;
mod receive;
mod refusal;
mod respond;
mod run;
pub(crate) mod upload;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http1::{BodyError, Rejection, RequestHead};
use php::{BodySource, Client, Request, Script, Task, Timings};
use server::queue::Refused;
use shm::{Begins, Counter, Suspect, Ticket};

use crate::classic::Plan;
use crate::front_link::EndSignal;
use crate::response::HttpResponse;
use crate::response::send_file;
use crate::worker::Worker;

use self::queue::Queued;
use self::refusal::why_refused;
pub(crate) use self::refusal::{refuse, refused};

/// The future of one request's response. Dropping it means that the client has left.
pub(crate) struct RequestFuture {
    worker: Rc<Worker>,
    request: Rc<Request>,
    /// The task of the request; `None` before it begins, once it has ended, and while it goes on in the background.
    task: Option<Task>,
    ticket: Option<Ticket>,
    suspect: Suspect,
    watched: bool,
    phase: Phase,
    /// The script that the request runs, in classic mode, until it begins.
    script: Option<Rc<Script>>,
    /// Tells the claimer when a request from the front has ended; `None` with direct dispatch.
    end_signal: Option<Rc<EndSignal>>,
}

enum Phase {
    /// The body, or its beginning, is still to come.
    Body(Receiving),
    /// The request waits, because as many requests run as may (`workers.concurrency`).
    Queued(Queued),
    Running,
    /// The response needs no PHP.
    Static(Option<Box<HttpResponse>>),
}

type Receiving = Pin<Box<dyn Future<Output = Result<(), BodyError>>>>;

/// Replaces the Host field by the host of an absolute target, which takes precedence (RFC 9112 §3.2.2).
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
        let limit = if plan.is_some() { 0 } else { worker.body_limit };
        // A body from a front is complete.
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
        this.start(plan, comes);
        this
    }

    /// Starts the first phase. `comes`: the body is still to be received.
    fn start(&mut self, plan: Option<Plan>, comes: bool) {
        match plan {
            Some(Plan::HttpResponse(answer)) => return self.answer_without_php(answer),
            Some(Plan::Run(script)) => self.script = Some(script),
            None => {}
        }
        if comes {
            self.phase = Phase::Body(self.receive());
        } else {
            self.enter();
        }
    }

    fn answer_without_php(&mut self, answer: HttpResponse) {
        let (status, head) = (answer.head.status, self.request.head());
        if let Some(why) = why_refused(status, head) {
            let rejection = Rejection::new(status, why, head);
            let client = self.request.client().socket();
            self.worker.http.log_rejection(&rejection, client);
        }
        self.announce();
        self.phase = Phase::Static(Some(Box::new(answer)));
    }

    fn receive(&self) -> Receiving {
        let whole = self.worker.concurrency == 1;
        Box::pin(receive::body(Rc::clone(&self.request), whole))
    }

    /// Enters the request in the scoreboard.
    fn announce(&mut self) {
        // A body from a front is complete.
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

    /// Gives a request that had to wait its row in the scoreboard: more requests can wait than there are rows.
    fn list(&mut self) {
        let mut ticket = self.ticket.take();
        if let (Some(board), Some(ticket)) = (&self.worker.host.board, &mut ticket) {
            board.list(ticket, self.begins());
        }
        self.ticket = ticket;
    }

    /// Begins the request at once if a permit is free, else queues it.
    fn enter(&mut self) {
        self.announce();
        if let Some(timings) = self.request.timings() {
            timings.arrives();
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

    /// Begins the request, which has a permit. The time limit counts from here.
    fn begin(&mut self) {
        if let Some(answer) = self.refusal() {
            self.worker.permits.release(());
            self.phase = Phase::Static(Some(Box::new(answer)));
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

    /// The answer to a request that must not run here.
    fn refusal(&self) -> Option<HttpResponse> {
        let left = self.worker.quarantine.refuses(self.suspect);
        if let Some(left) = left {
            self.worker.host.count(Counter::Quarantined);
            return Some(quarantine::refused(left));
        }
        let is_altered = self.worker.host.is_altered.get();
        is_altered.then(|| queue::refused(Refused::Full, &self.worker.http.board))
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

impl Future for RequestFuture {
    type Output = HttpResponse;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_phase(context)
    }
}
