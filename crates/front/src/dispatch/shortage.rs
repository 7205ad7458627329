//! When more workers would help: no worker can take a request, and processors have nothing to do. Requests wait then, or the next
//! one would, for as long as it takes to fork a worker; so one more than are in use is there in advance, as php-fpm has with
//! `pm.min_spare_servers`.
//!
//! More workers that compute than there are processors would only slow each other down, so while all processors are busy
//! requests wait instead. The supervisor decides whether there may be more.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ipc::FromFront;
use relay::Staff;
use tokio::sync::Notify;

use super::Workers;
use crate::process::Front;

/// For so long a request waits before more workers are asked for, and so often they are asked for again at first.
const DELAY: Duration = Duration::from_millis(1);
const AGAIN: Duration = Duration::from_millis(5);
/// So seldom when nothing comes of it.
const SELDOM: Duration = Duration::from_millis(100);
/// How often it is looked whether busy processors have something left.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Shortage {
    /// There may be more workers than there are.
    is_elastic: Cell<bool>,
    /// When to ask, and how long after that again.
    next: Cell<Option<(Instant, Duration)>>,
    /// How many are asked for in all: those that come meanwhile are among them.
    workers: Cell<u32>,
    /// Requests wait already.
    waiting: Cell<bool>,
    told: Notify,
}

impl Shortage {
    pub(super) fn set_elastic(&self, is_elastic: bool) {
        self.is_elastic.set(is_elastic);
    }

    pub(super) fn is_elastic(&self) -> bool {
        self.is_elastic.get()
    }

    /// There is none, or is none any more. Also when another worker has come: whether that was enough shows after a moment.
    pub(super) fn over(&self) {
        self.next.set(None);
    }

    /// When to look again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.get().map(|(next, _)| next)
    }

    /// There would be one, but no processor has anything left for a further worker. No event tells when one has, so that is to
    /// be looked at.
    fn put_off(&self, now: Instant) {
        let next = self.next.get().map(|(next, _)| next);
        if next.is_none_or(|next| next <= now) {
            self.next.set(Some((now + LOOK_AGAIN, AGAIN)));
        }
    }

    /// With as many workers as this requests would wait less, or the next one would.
    fn short(&self, workers: usize, waiting: bool, now: Instant) {
        let has_waited = self.waiting.replace(waiting);
        let (next, pause) = match self.next.get() {
            None => return self.next.set(Some((now + DELAY, AGAIN))),
            // What waits does not wait for what was only in advance.
            Some((next, _)) if waiting && !has_waited => (next.min(now + DELAY), AGAIN),
            Some(known) => known,
        };
        if now < next {
            return self.next.set(Some((next, pause)));
        }
        self.next.set(Some((now + pause, (pause * 2).min(SELDOM))));
        self.workers.set(u32::try_from(workers).unwrap_or(u32::MAX));
        self.told.notify_one();
    }
}

impl Workers {
    /// `asleep` workers can take something.
    pub(super) fn look_at_shortage(&self, waiting: usize, asleep: usize) {
        if !self.shortage.is_elastic() {
            return;
        }
        let staff = self.dispatcher.staff();
        let waiting = waiting.saturating_sub(staff.claiming);
        if asleep > 0 || waiting == 0 {
            self.shortage.over();
        } else if staff.computing < self.parallel {
            let more = waiting.min(helpful(&staff, self.parallel));
            self.shortage
                .short(staff.workers + more, true, Instant::now());
        }
    }

    /// No request waits: whether the next one would.
    pub(super) fn look_at_spare(&self) {
        if !self.shortage.is_elastic() {
            return;
        }
        if self.dispatcher.has_idle() {
            return self.shortage.over();
        }
        let staff = self.dispatcher.staff();
        let now = Instant::now();
        if staff.claiming > 0 || staff.computing >= self.parallel {
            return self.shortage.put_off(now);
        }
        self.shortage.short(staff.workers + 1, false, now);
    }
}

/// How many further workers processors can use: as many as are idle if each worker computes all the time, more if they mostly
/// wait, and not more at a time than there are workers, because how much they compute is known of a moment only.
fn helpful(staff: &Staff, processors: usize) -> usize {
    let idle = processors.saturating_sub(staff.computing);
    let while_others_wait = idle * staff.workers / staff.computing.max(1);
    while_others_wait.min(staff.workers).max(idle)
}

/// The supervisor forks more where it may.
pub(crate) async fn ask_for_more(front: Rc<Front>) {
    let shortage = &front.workers.shortage;
    loop {
        shortage.told.notified().await;
        let (workers, waiting) = (shortage.workers.get(), shortage.waiting.get());
        front.say(&FromFront::Short { workers, waiting });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_are_asked_for_where_workers_mostly_wait() {
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
            let staff = Staff {
                workers,
                computing,
                claiming: 0,
            };
            assert_eq!(helpful(&staff, processors), more, "{staff:?} {processors}");
        }
    }

    #[test]
    fn what_is_put_off_is_looked_at_again() {
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
    fn it_asks_after_a_moment_and_then_ever_more_seldom() {
        let (shortage, began) = (Shortage::default(), Instant::now());
        let mut asked = Vec::new();
        for millisecond in 0..400 {
            shortage.workers.set(0);
            shortage.short(2, true, began + Duration::from_millis(millisecond));
            if shortage.workers.get() == 2 {
                asked.push(millisecond);
            }
        }
        assert_eq!(asked, [1, 6, 16, 36, 76, 156, 256, 356]);
        shortage.over();
        shortage.workers.set(0);
        shortage.short(2, true, began + Duration::from_secs(1));
        assert_eq!(
            shortage.workers.get(),
            0,
            "a new shortage begins with its delay"
        );
        shortage.over();
        let mut asked = Vec::new();
        for millisecond in 0..60 {
            shortage.workers.set(0);
            let waits = millisecond >= 50;
            let now = began + Duration::from_millis(2000 + millisecond);
            shortage.short(2, waits, now);
            if shortage.workers.get() == 2 {
                asked.push((millisecond, shortage.waiting.get()));
            }
        }
        let in_advance = [1, 6, 16, 36].map(|at| (at, false));
        assert_eq!(asked[..4], in_advance);
        assert_eq!(asked[4..], [(51, true), (56, true)], "requests wait now");
    }
}
