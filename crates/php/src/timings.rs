//! The times of a request: in the queue, in PHP, and on the CPU, for the access log.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The timings of one request.
#[derive(Debug, Default)]
pub struct Timings {
    arrived: Cell<Option<Instant>>,
    began: Cell<Option<Instant>>,
    ended: Cell<Option<Instant>>,
    cpu: Cell<Duration>,
    /// The CPU time of the thread when the request's code last resumed.
    resumed: Cell<Option<Duration>>,
}

impl Timings {
    /// The request is complete and waits for its turn.
    pub fn arrives(&self) {
        self.arrived.set(Some(Instant::now()));
    }

    /// The request's code runs from here on.
    pub fn begins(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// The response is complete. Only the first call counts.
    pub fn ends(&self) {
        if self.ended.get().is_none() {
            self.ended.set(Some(Instant::now()));
        }
    }

    pub fn resumes(&self, cpu: Duration) {
        self.resumed.set(Some(cpu));
    }

    pub fn pauses(&self, cpu: Duration) {
        if let Some(before) = self.resumed.take() {
            let used = cpu.saturating_sub(before);
            self.cpu.set(self.cpu.get() + used);
        }
    }

    /// How long the request waited for its turn.
    pub fn queue(&self) -> Duration {
        let end = self.began.get().or(self.ended.get());
        let end = end.unwrap_or_else(Instant::now);
        self.arrived
            .get()
            .map_or(Duration::ZERO, |arrived| end - arrived)
    }

    /// The time from the begin of the request's code to the end of the response, or to now.
    pub fn php(&self) -> Duration {
        let end = self.ended.get().unwrap_or_else(Instant::now);
        self.began.get().map_or(Duration::ZERO, |began| end - began)
    }

    /// The CPU time that the request has used.
    pub fn cpu(&self) -> Duration {
        self.cpu.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_happened_takes_no_time() {
        let timings = Timings::default();
        assert_eq!(
            (timings.queue(), timings.php()),
            (Duration::ZERO, Duration::ZERO)
        );
        timings.arrives();
        timings.ends();
        let queue = timings.queue();
        assert_eq!(timings.queue(), queue, "it has left the queue");
        assert_eq!(timings.php(), Duration::ZERO, "it did not run");
    }

    #[test]
    fn the_processor_is_used_between_resume_and_pause() {
        let timings = Timings::default();
        let at = Duration::from_millis;
        timings.pauses(at(5));
        timings.resumes(at(10));
        timings.pauses(at(12));
        timings.pauses(at(20));
        timings.resumes(at(30));
        timings.pauses(at(33));
        assert_eq!(timings.cpu(), at(5));
    }
}
