//! Runs the task of a request, watched by the watchdog, to its end.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use php::{Request, Task};
use shm::Ticket;
use tokio::task::spawn_local;

use super::RequestFuture;
use super::discard::discard;
use crate::collector;
use crate::front_link::EndSignal;
use crate::worker::Worker;

impl RequestFuture {
    /// Polls the task; returns true when it has ended.
    pub(super) fn run(&mut self, context: &mut Context<'_>) -> bool {
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

    /// Lets the task go on in the background after its response: it streams, or has deferred work. The scoreboard gets
    /// `status` at its end.
    pub(super) fn detach(&mut self, status: u16) {
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
}

/// Polls the task once, watched by the watchdog.
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

/// Ends a request when its handler and every task that it started have ended.
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
    collector::request_ended(worker);
    worker.check_recycle();
    if let Some(rest) = request.take_unread() {
        spawn_local(discard(rest));
    }
}

/// Runs `task` to its end in the background.
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
