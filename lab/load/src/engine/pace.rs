//! When a slot begins its next request: after a response, after a pause, or at a planned time.

use super::Worker;
use super::slot::State;
use crate::clock::{Nanos, nanos};
use crate::control::Phase;
use crate::plan::Think;
use crate::schedule::Schedule;
use rand::Rng;
use std::cmp::Reverse;

impl Worker<'_> {
    /// Starts all slots that are due.
    pub(super) fn start_due(&mut self, now: Nanos) {
        while let Some(Reverse((when, index))) = self.later.peek().copied() {
            if when > now {
                break;
            }
            self.later.pop();
            if self.slots[index].state == State::Retry {
                self.connect(index);
            } else {
                self.start(index, now);
            }
        }
        self.start_planned(now);
    }

    /// Assigns each request of an open loop that is due to a free slot, as long as there are free slots.
    pub(super) fn start_planned(&mut self, mut now: Nanos) {
        if self.schedule.is_none() {
            return;
        }
        while let Some(due) = self.schedule.as_ref().and_then(Schedule::peek) {
            if due > now || due >= self.deadline {
                return;
            }
            let Some(index) = self.free_slot() else {
                return;
            };
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            // A late send counts against this client only if a connection was free when the request was due.
            let slot = &self.slots[index];
            let was_free = slot.state == State::Idle && slot.times.end <= due;
            now = self.now();
            if was_free && due >= self.began {
                self.recorder.tally.send_delay.record(now - due);
            }
            self.begin_request(index, due, now);
        }
    }

    fn free_slot(&mut self) -> Option<usize> {
        while let Some(index) = self.idle.pop_front() {
            if self.slots[index].state == State::Idle {
                return Some(index);
            }
        }
        self.closed.pop()
    }

    /// Begins the next request of a slot in a closed loop, if the budget allows one more.
    fn start(&mut self, index: usize, now: Nanos) {
        if self.phase > Phase::Measure || now >= self.deadline || !self.claim() {
            return;
        }
        self.begin_request(index, now, now);
    }

    #[inline]
    fn claim(&mut self) -> bool {
        if self.phase == Phase::Warm {
            return true;
        }
        if self.claimed == 0 {
            let fair = self.plan.request_limit.unwrap_or(u64::MAX)
                / (self.plan.connections as u64 * 4).max(1);
            self.claimed = self.control.claim(fair.clamp(1, 64));
        }
        if self.claimed == 0 {
            return false;
        }
        self.claimed -= 1;
        true
    }

    /// Continues after a request: pauses, waits for the schedule, or begins the next request.
    pub(super) fn next(&mut self, index: usize, now: Nanos, failed_connect: bool) {
        if self.schedule.is_some() {
            // The next request never starts here: a connect that fails at once would recurse.
            if self.slots[index].state == State::Idle {
                self.idle.push_back(index)
            } else {
                self.closed.push(index)
            }
            return;
        }
        let pause = if failed_connect {
            Some(backoff(self.slots[index].failures))
        } else {
            self.think()
        };
        match pause {
            Some(pause) => self.later.push(Reverse((now + pause, index))),
            None => self.start(index, now),
        }
    }

    fn think(&mut self) -> Option<Nanos> {
        match self.plan.think? {
            Think::Fixed(pause) => Some(nanos(pause)),
            Think::Exponential(mean) => {
                let unit = -(1.0 - self.picker.rng.random::<f64>()).ln();
                Some((unit * nanos(mean) as f64) as Nanos)
            }
        }
    }
}

/// Returns the pause after a number of consecutive failures to connect: 1 ms, doubling up to 128 ms.
fn backoff(failures: u32) -> Nanos {
    1_000_000 << failures.saturating_sub(1).min(7)
}
