//! Counters of one client thread during a run.
//!
//! Counts over time go into slices of a tenth of a second, which are sent to the coordinating thread as they fill; all
//! others stay in the thread until the end. Nothing is shared, nothing is locked.

use crate::clock::Nanos;
use measure::{Distribution, ErrorClass, ErrorSample};
use std::collections::BTreeMap;

/// Length of a slice.
pub(crate) const SLICE: Nanos = 100_000_000;
/// The number of distinct failures that are kept as text.
const SAMPLES: usize = 5;

/// The counts of one thread in a tenth of a second.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    /// Start of the slice, since the beginning of its phase.
    pub(crate) start: Nanos,
    /// End of the slice, since the beginning of its phase.
    pub(crate) end: Nanos,
    pub(crate) warm: bool,
    pub(crate) responses: u64,
    pub(crate) good: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    /// Sum of the durations of the requests that ended in the slice, in nanoseconds.
    pub(crate) busy: u64,
    pub(crate) service: Distribution,
    pub(crate) response: Distribution,
}

/// The counts of one thread over the whole measurement.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) started: u64,
    pub(crate) responses: u64,
    pub(crate) good: u64,
    pub(crate) failed: u64,
    pub(crate) unfinished: u64,
    pub(crate) oldest_unfinished: Nanos,
    pub(crate) unsent: u64,
    pub(crate) reused: u64,
    pub(crate) errors: [u64; ErrorClass::ALL.len()],
    pub(crate) statuses: Vec<u64>,
    pub(crate) samples: Vec<ErrorSample>,
    pub(crate) connect: Distribution,
    pub(crate) tls: Distribution,
    pub(crate) first_byte: Distribution,
    pub(crate) processing: Distribution,
    pub(crate) failed_after: Distribution,
    pub(crate) send_delay: Distribution,
    pub(crate) lower_bounds: Distribution,
    pub(crate) opened: u64,
    pub(crate) closed_by_server: u64,
    pub(crate) closed_by_client: u64,
    pub(crate) closed_by_error: u64,
    pub(crate) per_connection: BTreeMap<u64, u64>,
    pub(crate) sent_bytes: u64,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) good_body: u64,
    pub(crate) smallest: u64,
    pub(crate) largest: u64,
    pub(crate) tls_session: Option<String>,
    pub(crate) server_header: Option<String>,
    pub(crate) last_end: Nanos,
    pub(crate) busy: u64,
}

impl Default for Tally {
    fn default() -> Self {
        let new = Distribution::new;
        Self {
            started: 0,
            responses: 0,
            good: 0,
            failed: 0,
            unfinished: 0,
            oldest_unfinished: 0,
            unsent: 0,
            reused: 0,
            errors: [0; ErrorClass::ALL.len()],
            statuses: vec![0; 600],
            samples: Vec::new(),
            connect: new(),
            tls: new(),
            first_byte: new(),
            processing: new(),
            failed_after: new(),
            send_delay: new(),
            lower_bounds: new(),
            opened: 0,
            closed_by_server: 0,
            closed_by_client: 0,
            closed_by_error: 0,
            per_connection: BTreeMap::new(),
            sent_bytes: 0,
            head_bytes: 0,
            body_bytes: 0,
            good_body: 0,
            smallest: u64::MAX,
            largest: 0,
            tls_session: None,
            server_header: None,
            last_end: 0,
            busy: 0,
        }
    }
}

/// The times of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// When the request was due.
    pub(crate) planned: Nanos,
    /// When the request began.
    pub(crate) started: Nanos,
    /// When writing the request began.
    pub(crate) sent: Nanos,
    /// When the first byte of the response arrived.
    pub(crate) first: Nanos,
    /// When the last byte of the response arrived.
    pub(crate) end: Nanos,
}

/// Status and sizes of one response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) reused: bool,
}

/// The counters of one thread.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) slice: Slice,
    pub(crate) tally: Tally,
    open: bool,
}

impl Recorder {
    pub(crate) fn new(open: bool) -> Self {
        Self {
            slice: Slice::default(),
            tally: Tally::default(),
            open,
        }
    }

    /// Counts a complete response that is as expected.
    #[inline]
    pub(crate) fn good(&mut self, times: Times, answer: Answer) {
        let service = times.end - times.started;
        self.answer(times, answer);
        self.slice.good += 1;
        self.slice.service.record(service);
        if self.open {
            self.slice.response.record(times.end - times.planned);
        }
        let tally = &mut self.tally;
        tally.good += 1;
        tally.good_body += answer.body_bytes;
        tally.smallest = tally.smallest.min(answer.body_bytes);
        tally.largest = tally.largest.max(answer.body_bytes);
        tally.first_byte.record(times.first - times.sent);
        tally.processing.record(times.end - times.sent);
    }

    /// Counts a complete response that is not as expected.
    pub(crate) fn unexpected(
        &mut self,
        class: ErrorClass,
        times: Times,
        answer: Answer,
        text: &[u8],
    ) {
        self.answer(times, answer);
        self.count_failure(class, times, &String::from_utf8_lossy(text));
    }

    /// Counts a request without a complete response.
    pub(crate) fn lost(&mut self, class: ErrorClass, times: Times, reused: bool, text: &str) {
        let busy = times.end - times.started;
        self.slice.busy += busy;
        self.tally.busy += busy;
        self.tally.reused += u64::from(reused);
        self.tally.last_end = self.tally.last_end.max(times.end);
        self.count_failure(class, times, text);
    }

    /// Counts the bytes of an incomplete response.
    pub(crate) fn partial_bytes(&mut self, head: u64, body: u64) {
        self.tally.head_bytes += head;
        self.tally.body_bytes += body;
        self.slice.bytes += head + body;
    }

    #[inline]
    fn answer(&mut self, times: Times, answer: Answer) {
        let (busy, bytes) = (
            times.end - times.started,
            answer.head_bytes + answer.body_bytes,
        );
        self.slice.responses += 1;
        self.slice.bytes += bytes;
        self.slice.busy += busy;
        let tally = &mut self.tally;
        tally.busy += busy;
        tally.responses += 1;
        tally.reused += u64::from(answer.reused);
        tally.head_bytes += answer.head_bytes;
        tally.body_bytes += answer.body_bytes;
        tally.last_end = times.end;
        if let Some(count) = tally.statuses.get_mut(usize::from(answer.status)) {
            *count += 1;
        }
    }

    fn count_failure(&mut self, class: ErrorClass, times: Times, text: &str) {
        self.slice.failed += 1;
        self.tally.failed += 1;
        self.tally.failed_after.record(times.end - times.started);
        // A request that timed out waited at least this long; the time of a quick failure tells nothing about latency.
        if self.open && matches!(class, ErrorClass::Timeout | ErrorClass::ConnectTimeout) {
            self.tally.lower_bounds.record(times.end - times.planned);
        }
        self.tally.errors[class as usize] += 1;
        self.tally.sample(class, text);
    }

    /// Counts a request that had no response at the end of the run.
    pub(crate) fn unfinished(&mut self, planned: Nanos, started: Nanos, end: Nanos) {
        let age = end.saturating_sub(started);
        self.tally.unfinished += 1;
        self.tally.busy += age;
        self.tally.oldest_unfinished = self.tally.oldest_unfinished.max(age);
        if self.open {
            self.tally.lower_bounds.record(end.saturating_sub(planned));
        }
    }

    /// Counts a request that was due at `due` and never began.
    pub(crate) fn unsent(&mut self, due: Nanos, end: Nanos) {
        self.tally.unsent += 1;
        self.tally.lower_bounds.record(end.saturating_sub(due));
    }

    /// Counts a connection that ended after `served` responses.
    pub(crate) fn closed(&mut self, by: ClosedBy, served: u64) {
        let tally = &mut self.tally;
        match by {
            ClosedBy::Server => tally.closed_by_server += 1,
            ClosedBy::Client => tally.closed_by_client += 1,
            ClosedBy::Error => tally.closed_by_error += 1,
        }
        *tally.per_connection.entry(served).or_default() += 1;
    }

    /// Returns the slice that ends at `now` (since the phase's beginning) and begins the next.
    pub(crate) fn take_slice(&mut self, now: Nanos, warm: bool) -> Slice {
        let next = Slice {
            start: now,
            ..Slice::default()
        };
        let mut slice = std::mem::replace(&mut self.slice, next);
        slice.end = now;
        slice.warm = warm;
        slice
    }

    /// Resets all counts, because the measurement begins.
    pub(crate) fn restart(&mut self) {
        let server_header = self.tally.server_header.take();
        let tls_session = self.tally.tls_session.take();
        self.tally = Tally {
            server_header,
            tls_session,
            ..Tally::default()
        };
        self.slice = Slice::default();
    }
}

impl Tally {
    fn sample(&mut self, class: ErrorClass, text: &str) {
        let text: String = text.chars().take(400).collect();
        let known = self
            .samples
            .iter()
            .any(|sample| sample.class == class && sample.text == text);
        if !known && self.samples.len() < SAMPLES {
            self.samples.push(ErrorSample { class, text });
        }
    }
}

/// The side that ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    Server,
    Client,
    Error,
}
