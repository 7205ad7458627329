//! Histograms of the latency of requests, by route and by class of the response, behind the rows of a scoreboard.
//!
//! A histogram has a word for each bucket, then the sum of the latencies in microseconds.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::mapping::Mapping;

/// The number of routes that are counted separately.
pub(crate) const MAX_ROUTES: usize = 32;

/// The upper bounds of the buckets in microseconds; one more bucket has the longer latencies.
pub const LATENCY_BOUNDS: [u64; 15] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

const BUCKETS: usize = LATENCY_BOUNDS.len() + 1;
const WORDS: usize = BUCKETS + 1;
pub(crate) const LATENCY_WORDS: usize = MAX_ROUTES * ResponseClass::ALL.len() * WORDS;

/// The class of a request's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseClass {
    Success,
    Redirect,
    ClientError,
    ServerError,
    /// The client left before a response began.
    Aborted,
}

impl ResponseClass {
    pub const ALL: [ResponseClass; 5] = [
        ResponseClass::Success,
        ResponseClass::Redirect,
        ResponseClass::ClientError,
        ResponseClass::ServerError,
        ResponseClass::Aborted,
    ];

    /// Returns the class of a status; `None` means that no response began.
    #[must_use]
    pub fn of(status: Option<u16>) -> ResponseClass {
        match status {
            Some(..300) => ResponseClass::Success,
            Some(300..400) => ResponseClass::Redirect,
            Some(400..500) => ResponseClass::ClientError,
            Some(500..) => ResponseClass::ServerError,
            None => ResponseClass::Aborted,
        }
    }

    /// Returns the name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ResponseClass::Success => "2xx",
            ResponseClass::Redirect => "3xx",
            ResponseClass::ClientError => "4xx",
            ResponseClass::ServerError => "5xx",
            ResponseClass::Aborted => "aborted",
        }
    }
}

fn place(route: usize, class: ResponseClass) -> usize {
    (route.min(MAX_ROUTES - 1) * ResponseClass::ALL.len() + class as usize) * WORDS
}

/// Counts a request. There is one writer, so loads and stores are enough.
pub(crate) fn count(
    mapping: &Mapping,
    begin: usize,
    (route, class): (usize, ResponseClass),
    time: Duration,
) {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let bucket = LATENCY_BOUNDS.partition_point(|bound| *bound < micros);
    let words = &mapping[begin + place(route, class)..];
    for (word, n) in [(&words[bucket], 1), (&words[BUCKETS], micros)] {
        word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

/// All histograms at one moment, or sums of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies(Vec<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies(vec![0; LATENCY_WORDS])
    }
}

/// The histogram of one route and one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Histogram<'a>(&'a [u64]);

impl Latencies {
    pub(crate) fn read(mapping: &Mapping, begin: usize) -> Latencies {
        let words = &mapping[begin..begin + LATENCY_WORDS];
        Latencies(words.iter().map(|word| word.load(Relaxed)).collect())
    }

    /// Adds the histograms of another process.
    pub fn add(&mut self, other: &Latencies) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    #[must_use]
    pub fn of(&self, route: usize, class: ResponseClass) -> Histogram<'_> {
        let begin = place(route, class);
        Histogram(&self.0[begin..begin + WORDS])
    }
}

impl Histogram<'_> {
    /// Returns the number of requests in each bucket; the last bucket has no bound.
    #[must_use]
    pub fn buckets(&self) -> &[u64] {
        &self.0[..BUCKETS]
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets().iter().sum()
    }

    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.0[BUCKETS])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scoreboard, Writer};
    use std::os::fd::AsFd;

    #[test]
    fn times_are_in_the_bucket_that_they_do_not_exceed() {
        let board = Scoreboard::create(3).unwrap();
        let writer = Writer::attach(board.as_fd().try_clone_to_owned().unwrap()).unwrap();
        for micros in [0, 1_000, 1_001, 60_000_001] {
            writer.took(1, Some(200), Duration::from_micros(micros));
        }
        writer.took(MAX_ROUTES + 7, None, Duration::from_secs(1));
        let mut all = board.latencies();
        let histogram = all.of(1, ResponseClass::Success);
        let (first, second, last) = (2, 1, 1);
        assert_eq!(histogram.buckets()[..3], [first, second, 0]);
        assert_eq!(histogram.buckets()[BUCKETS - 1], last);
        assert_eq!(histogram.sum(), Duration::from_micros(60_002_002));
        assert_eq!(all.of(0, ResponseClass::Success).count(), 0);
        all.add(&board.latencies());
        let aborted = all.of(MAX_ROUTES - 1, ResponseClass::Aborted);
        assert_eq!(
            (aborted.count(), aborted.sum()),
            (2, Duration::from_secs(2))
        );
    }
}
