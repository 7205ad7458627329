//! The requests that a worker has begun: what is asked of all of them at each tick, and when the worker leaves.

use std::rc::{Rc, Weak};

use php::{Cancel, Host as _, Request, TaskHandle};

use crate::worker::Worker;

/// A request whose task waits, for the check at each tick.
pub(crate) struct Waiting {
    request: Weak<Request>,
    task: TaskHandle,
}

impl Worker {
    pub(crate) fn watch(&self, request: &Rc<Request>, task: TaskHandle) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            self.http.clock.notify_one();
        }
        waiting.push(Waiting {
            request: Rc::downgrade(request),
            task,
        });
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.http.connections.is_empty() && !self.has_waiting()
    }

    pub(crate) fn end_overdue(&self) {
        let waiting = self.waiting.take();
        let mut still: Vec<_> = waiting
            .into_iter()
            .filter(|entry| {
                let Some(request) = entry
                    .request
                    .upgrade()
                    .filter(|request| !request.has_ended())
                else {
                    return false;
                };
                if let Some(why) = self.host.overdue(&request) {
                    entry.task.cancel(why);
                }
                self.host.log_if_slow(&request, || entry.task.trace());
                true
            })
            .collect();
        self.waiting.borrow_mut().append(&mut still);
    }

    /// Cancels the requests that still run. A task that was told before is not told again.
    pub(crate) fn stop_requests(&self) {
        for entry in &*self.waiting.borrow() {
            entry.task.cancel(Cancel::Stop);
        }
    }

    /// Whether requests run that end when they are cancelled.
    pub(crate) fn has_requests(&self) -> bool {
        self.count_waiting(|request| !request.is_given_up()) > 0
    }

    /// Counts requests that have not ended and for which `is_so` holds. After a fatal error PHP's side keeps its reference
    /// to a request for ever, so only the request itself knows whether it has ended.
    pub(crate) fn count_waiting(&self, is_so: impl Fn(&Request) -> bool) -> usize {
        let waiting = self.waiting.borrow();
        let live = waiting
            .iter()
            .filter_map(|entry| entry.request.upgrade())
            .filter(|request| !request.has_ended());
        live.filter(|request| is_so(request)).count()
    }
}
