//! The streams of a thread: each sends one request after another, at its own pace or, in an open loop, when one is due.

use super::timer::Timer;
use super::{Engine, Failure};
use crate::clock::Nanos;
use crate::control::Phase;
use crate::plan::Think;
use crate::record::{Answer, ClosedBy, Times};
use crate::schedule::Schedule;
use measure::ErrorClass;
use rand::Rng;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Sends one request after another on a stream of a connection.
pub(super) async fn run(engine: Rc<Engine>, index: usize, number: usize) {
    engine.ramp(index).await;
    loop {
        let planned = if engine.plan.is_open() {
            let (sender, receiver) = oneshot::channel();
            engine.waiting.borrow_mut().push_back(sender);
            engine.stream_waits.notify_one();
            let Ok(planned) = receiver.await else { return };
            planned
        } else {
            if !engine.may_start() {
                return;
            }
            engine.now()
        };
        let failures = engine.request(index, number, planned).await;
        if failures > 0 && !engine.plan.is_open() {
            tokio::time::sleep(Duration::from_millis(1 << failures.min(7))).await;
        } else if let Some(think) = engine.plan.think {
            tokio::time::sleep(engine.pause(think)).await;
        }
    }
}

/// Assigns each request of an open loop that is due to a waiting stream.
pub(super) async fn dispatch(engine: Rc<Engine>) {
    let Ok(timer) = Timer::new() else { return };
    while let Some(due) = engine.next_due() {
        if timer.until(due, engine.now()).await.is_err() {
            return;
        }
        let was_free = !engine.waiting.borrow().is_empty();
        while engine.waiting.borrow().is_empty() {
            engine.stream_waits.notified().await;
        }
        // The measurement, with a schedule of its own, may have begun in the meantime.
        if engine.next_due() != Some(due) {
            continue;
        }
        engine
            .schedule
            .borrow_mut()
            .as_mut()
            .into_iter()
            .for_each(Schedule::advance);
        let sender = engine.waiting.borrow_mut().pop_front();
        if was_free {
            engine
                .recorder
                .borrow_mut()
                .tally
                .send_delay
                .record(engine.now().saturating_sub(due));
        }
        if let Some(sender) = sender {
            let _ = sender.send(due);
        }
        // Lets the stream send the request before the next one is looked at.
        tokio::task::yield_now().await;
    }
    engine.exhausted.set(true);
}

impl Engine {
    fn next_due(&self) -> Option<Nanos> {
        self.schedule
            .borrow()
            .as_ref()
            .and_then(Schedule::peek)
            .filter(|due| *due < self.deadline.get())
    }

    async fn ramp(&self, index: usize) {
        let order = (self.share.first_slot + index) as u32;
        let total = u32::try_from(self.plan.connections.max(1)).unwrap_or(u32::MAX);
        if !self.plan.ramp.is_zero() {
            tokio::time::sleep(self.plan.ramp * order / total).await;
        }
    }

    /// Returns whether one more request of a closed loop may start.
    fn may_start(&self) -> bool {
        if self.phase.get() == Phase::Warm {
            return true;
        }
        let more = self.now() < self.deadline.get() && self.control.claim(1) > 0;
        self.exhausted.set(self.exhausted.get() || !more);
        more
    }

    fn pause(&self, think: Think) -> Duration {
        match think {
            Think::Fixed(pause) => pause,
            Think::Exponential(mean) => {
                mean.mul_f64(-(1.0 - self.picker.borrow_mut().rng.random::<f64>()).ln())
            }
        }
    }

    /// Sends one request and reads its response; returns the number of consecutive failures to connect.
    async fn request(&self, index: usize, number: usize, planned: Nanos) -> u32 {
        let started = self.now();
        let mut times = Times {
            planned,
            started,
            sent: started,
            first: 0,
            end: 0,
        };
        self.in_flight.set(self.in_flight.get() + 1);
        self.active.borrow_mut()[number] = Some((planned, started));
        let request = self.picker.borrow_mut().pick();
        let exchange = self.exchange(index, request, &mut times);
        let outcome = tokio::time::timeout(self.plan.timeout, exchange)
            .await
            .unwrap_or_else(|_| {
                let text = format!(
                    "no complete answer within {} s",
                    self.plan.timeout.as_secs_f64()
                );
                Err(Failure {
                    class: ErrorClass::Timeout,
                    text,
                    fatal: false,
                    generation: 0,
                })
            });
        times.end = self.now();
        self.in_flight.set(self.in_flight.get() - 1);
        self.active.borrow_mut()[number] = None;
        if let Err(failure) = &outcome
            && failure.fatal
        {
            self.drop_connection(index, failure.generation, ClosedBy::Error)
                .await;
        }
        if started >= self.counted_from.get() {
            self.record(number, times, outcome);
        }
        self.connections[index].failures.get()
    }

    fn record(&self, number: usize, times: Times, outcome: Result<(Answer, Vec<u8>), Failure>) {
        let longest = &mut self.longest.borrow_mut()[number];
        *longest = (*longest).max(times.end - times.started);
        let mut recorder = self.recorder.borrow_mut();
        match outcome {
            Ok((answer, body)) => {
                self.answered.borrow_mut()[number] += 1;
                match self
                    .plan
                    .expect
                    .judge_parts(answer.status, answer.body_bytes, &body)
                {
                    None => recorder.good(times, answer),
                    Some(class) => recorder.unexpected(class, times, answer, &body),
                }
            }
            Err(failure) => recorder.lost(failure.class, times, false, &failure.text),
        }
    }
}
