//! Decides which workers to wake, and when the front sleeps.
//!
//! A worker that runs soon claims the next request by itself. So workers are woken until as many run as there are
//! processors, and more only when those have been busy with one request for a moment: then the request is slow, or waits.

use std::time::{Duration, Instant};

use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

use super::Workers;

/// How long after its last claim or wake-up a worker that does not sleep is expected to claim the next request soon.
pub(super) const WAKE_DELAY: Duration = Duration::from_micros(200);

/// The interval of polls while requests wait and no worker sleeps, if the pool may grow or other threads count the requests.
const SHORT: Duration = Duration::from_millis(2);

/// Work that goes on for longer than this polls completions in between.
const LATE: Duration = Duration::from_micros(100);

impl Workers {
    /// Polls completions if this thread has not slept for a while; returns whether it did. A transfer that never has to wait
    /// never lets the thread sleep, and completions are otherwise polled only before the thread sleeps.
    pub(crate) fn poll_if_due(&self) -> bool {
        let since = self.busy.get();
        if since.is_some_and(|since| since.elapsed() < LATE) {
            return false;
        }
        self.busy.set(Some(Instant::now()));
        if since.is_some() {
            self.poll_completions();
        }
        since.is_some()
    }

    pub(super) fn notify(&self, consumer: u16) {
        if let Some(Some(worker)) = self.consumers.borrow().get(usize::from(consumer)) {
            // The write fails only if the eventfd's counter is full: the worker is notified already.
            let _ = rustix::io::write(&worker.eventfd, &1u64.to_ne_bytes());
        }
    }

    pub(super) fn wake(&self) {
        self.check_timer();
        let unclaimed = self.unclaimed.get();
        if unclaimed == 0 {
            self.escalation.set(0);
            self.check_spare();
            return;
        }
        self.count_overlooked();
        let within = u64::try_from(WAKE_DELAY.as_nanos()).unwrap_or(u64::MAX);
        let (active, asleep) = self.dispatcher.active(within);
        self.check_shortage(unclaimed, asleep);
        let wanted = unclaimed.min(self.parallel << self.escalation.get().min(16));
        for _ in 0..wanted.saturating_sub(active).min(asleep) {
            match self.dispatcher.wake() {
                Some(consumer) => self.notify(consumer),
                None => return,
            }
        }
    }

    /// Prepares this thread for sleep. If a task became ready, the runtime does not sleep after all. To seem asleep for a
    /// moment does no harm; to seem awake in a sleep would: no worker would wake this thread.
    pub(crate) fn park(&self) {
        loop {
            self.poll_completions();
            if self.unclaimed.get() > 0 {
                match self.dispatcher.active(0).1 > 0 {
                    true => self.set_timer(WAKE_DELAY),
                    false if self.is_watched() => self.set_timer(SHORT),
                    false => {}
                }
            } else if let Some(next) = self.shortage.next() {
                self.set_timer(next.saturating_duration_since(Instant::now()).max(SHORT));
            }
            if self.dispatcher.sleep() {
                return;
            }
        }
    }

    /// Whether the number of workers may grow, or other threads count the requests that wait here.
    fn is_watched(&self) -> bool {
        self.shortage.is_elastic() || self.thread.number() > 1
    }

    pub(crate) fn unpark(&self) {
        http1::expire_cached_time();
        self.dispatcher.mark_awake();
        self.busy.set(None);
    }

    /// Sets the timer, unless it is set for the same or a shorter delay already.
    fn set_timer(&self, delay: Duration) {
        if self.timed.get().is_some_and(|(_, set)| set <= delay) {
            return;
        }
        self.timed.set(Some((Instant::now(), delay)));
        let nothing = Timespec::default();
        let timer = Itimerspec {
            it_interval: nothing,
            it_value: Timespec::try_from(delay).unwrap_or(nothing),
        };
        let _ = timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &timer);
    }

    fn check_timer(&self) {
        let timed = self.timed.get();
        if timed.is_some_and(|(set, delay)| set.elapsed() >= delay) {
            self.timed.set(None);
            self.escalation.set(self.escalation.get() + 1);
        }
    }
}
