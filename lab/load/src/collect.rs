//! Merges the slices of all threads into one time series of bounded length.

use crate::clock::Nanos;
use crate::record::{SLICE, Slice};
use measure::{Distribution, Point};
use std::collections::BTreeMap;

/// The most pieces that are kept; beyond that, neighbours are merged.
const MOST: usize = 300;

/// The counts of all threads in one stretch of time.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    pub(crate) responses: u64,
    pub(crate) good: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    pub(crate) busy: u64,
    pub(crate) latency: Distribution,
}

impl Piece {
    fn add_slice(&mut self, slice: &Slice, open: bool) {
        self.span(slice.start, slice.end);
        self.responses += slice.responses;
        self.good += slice.good;
        self.failed += slice.failed;
        self.bytes += slice.bytes;
        self.busy += slice.busy;
        self.latency.merge(if open {
            &slice.response
        } else {
            &slice.service
        });
    }

    fn add(&mut self, other: &Self) {
        self.span(other.start, other.end);
        self.responses += other.responses;
        self.good += other.good;
        self.failed += other.failed;
        self.bytes += other.bytes;
        self.busy += other.busy;
        self.latency.merge(&other.latency);
    }

    fn span(&mut self, start: Nanos, end: Nanos) {
        self.start = if self.end == 0 {
            start
        } else {
            self.start.min(start)
        };
        self.end = self.end.max(end);
    }

    fn point(self) -> Point {
        let length = ((self.end - self.start) as f64 / 1e9).max(1e-6);
        Point {
            at_s: self.start as f64 / 1e9,
            length_s: length,
            rate: self.responses as f64 / length,
            goodput: self.good as f64 / length,
            failed: self.failed,
            in_flight: self.busy as f64 / 1e9 / length,
            bytes_per_s: self.bytes as f64 / length,
            latency: self.latency,
        }
    }
}

/// The pieces and distributions of a run so far.
#[derive(Debug)]
pub(crate) struct Collector {
    open: bool,
    /// The number of slices that make one piece.
    factor: u64,
    pieces: BTreeMap<u64, Piece>,
    /// Responses per second of one thread, slice by slice (what wrk calls Req/Sec).
    pub(crate) thread_rates: Distribution,
    pub(crate) service: Distribution,
    pub(crate) response: Distribution,
}

impl Collector {
    pub(crate) fn new(open: bool) -> Self {
        Self {
            open,
            factor: 1,
            pieces: BTreeMap::new(),
            thread_rates: Distribution::new(),
            service: Distribution::new(),
            response: Distribution::new(),
        }
    }

    /// Adds one slice of one thread.
    pub(crate) fn add(&mut self, slice: &Slice) {
        self.service.merge(&slice.service);
        self.response.merge(&slice.response);
        let length = slice.end.saturating_sub(slice.start);
        if length >= SLICE / 2 {
            self.thread_rates
                .record((slice.responses as f64 * 1e9 / length as f64).round() as u64);
        }
        let key = (slice.start + SLICE / 2) / SLICE / self.factor;
        self.pieces
            .entry(key)
            .or_default()
            .add_slice(slice, self.open);
        if self.pieces.len() > MOST {
            self.factor *= 2;
            let old = std::mem::take(&mut self.pieces);
            for (key, piece) in old {
                self.pieces.entry(key / 2).or_default().add(&piece);
            }
        }
    }

    /// Returns the last whole second before `now`, for the live line.
    pub(crate) fn last_second(&self, now: Nanos) -> Piece {
        let mut sum = Piece::default();
        let from = now.saturating_sub(1_000_000_000);
        for piece in self
            .pieces
            .values()
            .rev()
            .take_while(|piece| piece.end > from)
        {
            sum.add(piece);
        }
        sum
    }

    /// Returns the rate of each whole second before `until`, in responses per second.
    pub(crate) fn rates(&self, until: Nanos) -> Vec<f64> {
        let seconds = until / 1_000_000_000;
        let mut sums = vec![0.0; seconds as usize];
        for piece in self.pieces.values() {
            if let Some(sum) = sums.get_mut((piece.start / 1_000_000_000) as usize) {
                *sum += piece.responses as f64;
            }
        }
        sums
    }

    /// Returns the numbers of failures and of responses so far.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.pieces.values().fold((0, 0), |(failed, all), piece| {
            (failed + piece.failed, all + piece.responses)
        })
    }

    /// Returns the series: one point per second if the run lasted at least five, else per tenth. What ended in the drain
    /// after `end` is added to the last stretch.
    pub(crate) fn series(self, end: Nanos) -> Vec<Point> {
        let seconds = if end >= 5_000_000_000 {
            10_u64.div_ceil(self.factor)
        } else {
            1
        };
        let mut groups: BTreeMap<u64, Piece> = BTreeMap::new();
        let last = (end.saturating_sub(SLICE / 2)) / SLICE / self.factor / seconds;
        for (key, piece) in self.pieces {
            groups
                .entry((key / seconds).min(last))
                .or_default()
                .add(&piece);
        }
        groups
            .into_values()
            .filter(|piece| piece.end > piece.start)
            .map(Piece::point)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: Nanos, responses: u64) -> Slice {
        let mut slice = Slice {
            start,
            end: start + SLICE,
            responses,
            good: responses,
            ..Slice::default()
        };
        slice.service.record_n(1_000, responses);
        slice
    }

    #[test]
    fn two_threads_make_one_series() {
        let mut collector = Collector::new(false);
        for tenth in 0..100 {
            collector.add(&slice(tenth * SLICE, 10));
            collector.add(&slice(tenth * SLICE + 2_000_000, 5));
        }
        assert_eq!(collector.service.count(), 1_500);
        let series = collector.series(100 * SLICE);
        assert_eq!(series.len(), 10);
        assert!(
            series.iter().all(|point| (point.rate - 150.0).abs() < 1.0),
            "{series:?}"
        );
    }

    #[test]
    fn a_long_run_keeps_everything_in_bounded_pieces() {
        let mut collector = Collector::new(false);
        for tenth in 0..3_000 {
            collector.add(&slice(tenth * SLICE, 3));
        }
        assert!(collector.pieces.len() <= MOST);
        let series = collector.series(3_000 * SLICE);
        let total: f64 = series.iter().map(|point| point.rate * point.length_s).sum();
        assert!((total - 9_000.0).abs() < 1.0);
    }

    #[test]
    fn the_drain_belongs_to_the_last_stretch() {
        let mut collector = Collector::new(false);
        (0..11).for_each(|tenth| collector.add(&slice(tenth * SLICE, 10)));
        assert_eq!(collector.series(10 * SLICE).len(), 10);
    }
}
