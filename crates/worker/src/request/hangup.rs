//! What happens to a request whose client leaves before the response.

use std::rc::Rc;

use php::Cancel;
use tokio::task::spawn_local;

use super::{Phase, RequestFuture};

/// The status in the scoreboard of a request whose client did not wait for the response.
const CLIENT_GONE: u16 = 0;

impl RequestFuture {
    /// Lets a request that waits in the queue run without its client, unless it may be skipped; returns whether it does.
    /// Some clients send a request and do not wait for the response. Of requests from the front, the front decides.
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
}

impl Drop for RequestFuture {
    fn drop(&mut self) {
        if self.goes_on_without_client() {
            return;
        }
        if let Some(task) = &self.task {
            let why = self.worker.why_cancelled();
            let goes_on = why == Cancel::ClientGone && task.ignores_client();
            if self.worker.classic.is_some() || goes_on {
                // As under php-fpm: the script learns of the hang-up when it sends something.
                self.request.abandon();
            } else {
                task.cancel(why);
            }
            self.detach(CLIENT_GONE);
        }
        self.done(CLIENT_GONE);
    }
}
