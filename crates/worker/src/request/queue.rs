//! Requests that wait for a permit of this worker. With direct dispatch, [`QueueLimits`] hold for them.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use server::queue::{QueueLimits, QueuedGuard, Refused, unavailable};
use server::{Acquire, WaitQueue};
use shm::Writer;
use tokio::time::{Sleep, sleep};

use crate::response::{HttpResponse, plain};

/// The limits of the queue, and since when requests wait.
pub(crate) struct Queue {
    limits: QueueLimits,
    filled: Cell<Instant>,
}

/// A request in the queue, until this is dropped.
pub(crate) struct Queued {
    turn: Acquire<()>,
    expires: Option<Pin<Box<Sleep>>>,
    _counted: Option<QueuedGuard>,
}

impl Queue {
    pub(crate) fn new(limits: QueueLimits) -> Queue {
        Queue {
            limits,
            filled: Cell::new(Instant::now()),
        }
    }

    /// Lets a request wait for a permit.
    pub(crate) fn join(
        &self,
        permits: &Rc<WaitQueue<()>>,
        board: &Rc<Writer>,
    ) -> Result<Queued, Refused> {
        let waiting = permits.waiting();
        if waiting >= self.limits.length {
            return Err(Refused::Full);
        }
        if waiting == 0 {
            self.filled.set(Instant::now());
        }
        let limit = self.limits.time(Some(self.filled.get().elapsed()));
        let limit = Some(limit).filter(|limit| *limit < Duration::MAX);
        Ok(Queued {
            turn: permits.acquire(false),
            expires: limit.map(|limit| Box::pin(sleep(limit))),
            _counted: Some(QueuedGuard::new(board)),
        })
    }
}

impl Queued {
    /// Lets a request wait that has waited in the front, where its wait was limited and counted.
    pub(crate) fn unlimited(permits: &Rc<WaitQueue<()>>) -> Queued {
        Queued {
            turn: permits.acquire(false),
            expires: None,
            _counted: None,
        }
    }
}

impl Future for Queued {
    type Output = Result<(), Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if Pin::new(&mut self.turn).poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        match &mut self.expires {
            Some(expires) => expires
                .as_mut()
                .poll(context)
                .map(|()| Err(Refused::Expired)),
            None => Poll::Pending,
        }
    }
}

/// Returns the response to a request that did not get its turn.
pub(crate) fn refused(why: Refused, board: &Writer) -> HttpResponse {
    unavailable(why, board, plain(503, "Service Unavailable\n"))
}
