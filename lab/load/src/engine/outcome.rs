//! How a request ends: answered, failed, timed out, or abandoned at the end of the run.

use super::Worker;
use super::slot::State;
use crate::clock::Nanos;
use crate::control::Phase;
use crate::record::{Answer, ClosedBy};
use measure::{ErrorClass, KeepAlive};
use std::cmp::Reverse;

impl Worker<'_> {
    /// Judges and counts a complete response.
    pub(super) fn count(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.times.end = now;
        slot.served += 1;
        slot.awaited -= 1;
        self.in_flight -= 1;
        let answer = Answer {
            status: slot.reader.status,
            head_bytes: slot.reader.head_bytes,
            body_bytes: slot.reader.body_bytes,
            reused: slot.reused,
        };
        // A request that this thread began in the warm-up is not counted.
        if slot.times.started >= self.counted_from {
            slot.answered += 1;
            slot.longest = slot.longest.max(now - slot.times.started);
            let verdict = self.plan.expect.judge(&slot.reader);
            let strange = self.plan.expect.wants_same_length()
                && *self.first_length.get_or_insert(answer.body_bytes) != answer.body_bytes;
            match verdict.or(strange.then_some(ErrorClass::BodyMismatch)) {
                None => self.recorder.good(slot.times, answer),
                Some(class) => {
                    self.recorder
                        .unexpected(class, slot.times, answer, &slot.reader.body)
                }
            }
        }
        if self.plan.cookie_jar {
            slot.learn_cookies();
        }
        if !self.seen_head {
            self.seen_head = true;
            self.recorder.tally.server_header = slot.header("server");
        }
    }

    /// Ends a request whose last response is complete.
    pub(super) fn complete(&mut self, index: usize, now: Nanos, closing: bool) {
        self.count(index, now);
        let slot = &mut self.slots[index];
        let limit = match self.plan.keep_alive {
            KeepAlive::On => u64::MAX,
            KeepAlive::Off => 1,
            KeepAlive::Requests(n) => n,
        };
        slot.state = State::Idle;
        if slot.served >= limit {
            self.close(index, ClosedBy::Client);
        } else if closing || !slot.reader.keep_alive {
            self.close(index, ClosedBy::Server);
        }
        self.next(index, now, false);
        self.start_planned(now);
    }

    /// Ends a request that failed.
    pub(super) fn fail(&mut self, index: usize, class: ErrorClass, text: &str, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.times.end = now;
        let lost = std::mem::take(&mut slot.awaited);
        self.in_flight -= lost;
        if slot.times.started >= self.counted_from {
            slot.longest = slot.longest.max(now - slot.times.started);
            for _ in 0..lost {
                self.recorder.lost(class, slot.times, slot.reused, text);
            }
            self.recorder
                .partial_bytes(slot.reader.head_bytes, slot.reader.body_bytes);
        }
        let connecting = class.is_connect() || class == ErrorClass::Tls;
        slot.failures = if connecting { slot.failures + 1 } else { 0 };
        if slot.transport.is_some() && slot.state != State::Connecting {
            self.close(index, ClosedBy::Error);
        } else {
            slot.transport = None;
            slot.state = State::Closed;
        }
        self.next(index, now, connecting);
    }

    pub(super) fn close(&mut self, index: usize, by: ClosedBy) {
        let slot = &mut self.slots[index];
        slot.transport = None;
        slot.state = State::Closed;
        self.recorder.closed(by, slot.served);
        slot.served = 0;
    }

    /// Fails the requests that have exceeded the time-out.
    pub(super) fn expire(&mut self, now: Nanos) {
        let limit = crate::clock::nanos(self.plan.timeout);
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            if !slot.state.is_busy() || now.saturating_sub(slot.times.started) < limit {
                continue;
            }
            let class = if slot.state.is_opening() {
                ErrorClass::ConnectTimeout
            } else {
                ErrorClass::Timeout
            };
            let text = format!(
                "no complete answer within {} s",
                self.plan.timeout.as_secs_f64()
            );
            self.later.retain(|Reverse((_, other))| *other != index);
            self.fail(index, class, &text, now);
        }
    }

    /// Counts a request that is still in flight at the end of the run as unfinished.
    pub(super) fn abandon(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if slot.state.is_busy()
            && slot.times.started >= self.counted_from
            && self.phase != Phase::Warm
        {
            slot.longest = slot.longest.max(now.saturating_sub(slot.times.started));
            for _ in 0..slot.awaited {
                self.recorder
                    .unfinished(slot.times.planned, slot.times.started, now);
            }
        }
    }
}
