//! Asks the supervisor for more workers when they would help: no worker can take a request, and processors are idle.
//! Requests that wait then, or the next one, would wait for as long as it takes to fork a worker. So one worker more than
//! are in use is forked in advance, like php-fpm's `pm.min_spare_servers`.
//!
//! More workers that compute than there are processors would only slow each other down, so while all processors are busy
//! requests wait instead. The supervisor decides whether there may be more workers.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ipc::FromFront;
use relay::WorkerCounts;
use tokio::sync::Notify;

use super::Workers;
use crate::process::Front;

/// How long a request waits before the front reports a shortage, and the first pause before the next report.
const DELAY: Duration = Duration::from_millis(1);
const AGAIN: Duration = Duration::from_millis(5);
/// The longest pause between two reports of a shortage.
const SELDOM: Duration = Duration::from_millis(100);
/// The interval of checks whether a processor is idle again.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Shortage {
    /// Whether the number of workers may grow.
    is_elastic: Cell<bool>,
    /// When to report, and the pause until the next time.
    next: Cell<Option<(Instant, Duration)>>,
    /// The total number of workers requested; workers that start meanwhile are included.
    workers: Cell<u32>,
    /// Whether requests wait already.
    waiting: Cell<bool>,
    due: Notify,
}

impl Shortage {
    pub(super) fn set_elastic(&self, is_elastic: bool) {
        self.is_elastic.set(is_elastic);
    }

    pub(super) fn is_elastic(&self) -> bool {
        self.is_elastic.get()
    }

    /// Ends the shortage, if there is one. Also called when a worker has been added: whether one was enough shows after a
    /// moment.
    pub(super) fn over(&self) {
        self.next.set(None);
    }

    /// Returns when to check again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.get().map(|(next, _)| next)
    }

    /// Schedules another check, because no processor is idle for a further worker. No event shows when one is, so this has
    /// to be polled.
    fn put_off(&self, now: Instant) {
        let next = self.next.get().map(|(next, _)| next);
        if next.is_none_or(|next| next <= now) {
            self.next.set(Some((now + CHECK_INTERVAL, AGAIN)));
        }
    }

    /// Notes that with `workers` workers in all, the requests that wait (or the next one) would wait less. Reports that
    /// when it is due.
    fn short(&self, workers: usize, waiting: bool, now: Instant) {
        let has_waited = self.waiting.replace(waiting);
        let (next, pause) = match self.next.get() {
            None => return self.next.set(Some((now + DELAY, AGAIN))),
            // Requests that wait are not held up by a pause after the request for a worker in advance.
            Some((next, _)) if waiting && !has_waited => (next.min(now + DELAY), AGAIN),
            Some(known) => known,
        };
        if now < next {
            return self.next.set(Some((next, pause)));
        }
        self.next.set(Some((now + pause, (pause * 2).min(SELDOM))));
        self.workers.set(u32::try_from(workers).unwrap_or(u32::MAX));
        self.due.notify_one();
    }
}

impl Workers {
    /// Checks for a shortage while `waiting` requests are unclaimed. `asleep` workers can take requests.
    pub(super) fn check_shortage(&self, waiting: usize, asleep: usize) {
        if !self.shortage.is_elastic() {
            return;
        }
        let counts = self.dispatcher.worker_counts();
        let waiting = waiting.saturating_sub(counts.claiming);
        if asleep > 0 || waiting == 0 {
            self.shortage.over();
        } else if counts.computing < self.parallel {
            let more = waiting.min(helpful(&counts, self.parallel));
            self.shortage
                .short(counts.workers + more, true, Instant::now());
        }
    }

    /// Checks, while no request waits, whether the next one would have to.
    pub(super) fn check_spare(&self) {
        if !self.shortage.is_elastic() {
            return;
        }
        if self.dispatcher.has_idle() {
            return self.shortage.over();
        }
        let counts = self.dispatcher.worker_counts();
        let now = Instant::now();
        if counts.claiming > 0 || counts.computing >= self.parallel {
            return self.shortage.put_off(now);
        }
        self.shortage.short(counts.workers + 1, false, now);
    }
}

/// Returns how many further workers the processors can use: one for each idle processor if workers compute all the time, and
/// more if they mostly wait. Such an addition at most doubles the workers, because `counts` shows only one moment.
fn helpful(counts: &WorkerCounts, processors: usize) -> usize {
    let idle = processors.saturating_sub(counts.computing);
    let while_others_wait = idle * counts.workers / counts.computing.max(1);
    while_others_wait.min(counts.workers).max(idle)
}

/// Reports each shortage to the supervisor, which forks more workers if it may.
pub(crate) async fn report_shortages(front: Rc<Front>) {
    let shortage = &front.workers.shortage;
    loop {
        shortage.due.notified().await;
        let (workers, waiting) = (shortage.workers.get(), shortage.waiting.get());
        front.send(&FromFront::Short { workers, waiting });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_requested_where_workers_mostly_wait() {
        for (workers, computing, processors, more) in [
            (1, 1, 4, 3),
            (2, 2, 2, 0),
            (3, 3, 4, 1),
            (2, 0, 2, 2),
            (16, 0, 2, 16),
            (16, 1, 2, 16),
            (16, 3, 4, 5),
            (16, 15, 16, 1),
            (0, 0, 2, 2),
        ] {
            let counts = WorkerCounts {
                workers,
                computing,
                claiming: 0,
            };
            assert_eq!(
                helpful(&counts, processors),
                more,
                "{counts:?} {processors}"
            );
        }
    }

    #[test]
    fn what_is_put_off_is_checked_again() {
        let (shortage, began) = (Shortage::default(), Instant::now());
        let at = |millisecond| began + Duration::from_millis(millisecond);
        shortage.put_off(at(0));
        shortage.put_off(at(5));
        assert_eq!(shortage.next(), Some(at(10)));
        shortage.put_off(at(10));
        assert_eq!(shortage.next(), Some(at(20)));
        shortage.short(2, false, at(20));
        assert_eq!(shortage.workers.get(), 2, "it has waited for long enough");
    }

    #[test]
    fn it_is_reported_after_a_moment_and_then_ever_more_seldom() {
        let (shortage, began) = (Shortage::default(), Instant::now());
        let mut reported = Vec::new();
        for millisecond in 0..400 {
            shortage.workers.set(0);
            shortage.short(2, true, began + Duration::from_millis(millisecond));
            if shortage.workers.get() == 2 {
                reported.push(millisecond);
            }
        }
        assert_eq!(reported, [1, 6, 16, 36, 76, 156, 256, 356]);
        shortage.over();
        shortage.workers.set(0);
        shortage.short(2, true, began + Duration::from_secs(1));
        assert_eq!(
            shortage.workers.get(),
            0,
            "a new shortage begins with its delay"
        );
        shortage.over();
        let mut reported = Vec::new();
        for millisecond in 0..60 {
            shortage.workers.set(0);
            let waits = millisecond >= 50;
            let now = began + Duration::from_millis(2000 + millisecond);
            shortage.short(2, waits, now);
            if shortage.workers.get() == 2 {
                reported.push((millisecond, shortage.waiting.get()));
            }
        }
        let in_advance = [1, 6, 16, 36].map(|at| (at, false));
        assert_eq!(reported[..4], in_advance);
        assert_eq!(reported[4..], [(51, true), (56, true)], "requests wait now");
    }
}
