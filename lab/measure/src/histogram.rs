//! A latency distribution: constant memory, three significant digits, 1 ns to hours.
//!
//! Raw samples are never kept: a soak test must not grow. The JSON form carries both a readable
//! summary and the whole histogram (HdrHistogram V2, deflated, base64), so that runs can be
//! merged later instead of averaging their percentiles.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The percentiles that every summary shows.
pub const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Longest duration that is told apart from longer ones, in nanoseconds (one hour); longer ones count as this.
const LONGEST: u64 = 3_600_000_000_000;

/// A histogram of durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram<u64>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        self.histogram == other.histogram
    }
}

impl Distribution {
    /// Returns an empty distribution, which allocates memory up to the longest value recorded.
    #[must_use]
    pub fn new() -> Self {
        let mut histogram =
            Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are valid"));
        histogram.auto(true);
        Self { histogram }
    }

    /// Records one duration.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.record_n(nanos, 1);
    }

    /// Records the same duration `times` times.
    #[inline]
    pub fn record_n(&mut self, nanos: u64, times: u64) {
        // Cannot fail: the value is bounded and the histogram resizes itself.
        let _ = self.histogram.record_n(nanos.min(LONGEST), times);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if !other.is_empty() {
            let _ = self.histogram.add(&other.histogram);
        }
    }

    /// Removes all samples but keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// Returns the number of recorded durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns whether no duration was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// Returns the shortest duration in nanoseconds; 0 if empty.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.histogram.min()
    }

    /// Returns the longest duration in nanoseconds; 0 if empty.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.histogram.max()
    }

    /// Returns the mean in nanoseconds; 0 if empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.histogram.mean()
    }

    /// Returns the standard deviation in nanoseconds; 0 if empty.
    #[must_use]
    pub fn stdev(&self) -> f64 {
        self.histogram.stdev()
    }

    /// Returns the duration within which `percent` of all samples lie.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> u64 {
        self.histogram.value_at_percentile(percent)
    }

    /// Returns how many samples are longer than the value at `percent`; a low number means an unreliable percentile.
    #[must_use]
    pub fn samples_above(&self, percent: f64) -> u64 {
        let share = (100.0 - percent).max(0.0) / 100.0;
        (self.count() as f64 * share).round() as u64
    }

    /// Returns the number of samples in `low..=high` nanoseconds.
    #[must_use]
    pub fn count_between(&self, low: u64, high: u64) -> u64 {
        // Beyond the highest value the histogram would return the count of its last bucket.
        if low > self.max() {
            0
        } else {
            self.histogram.count_between(low, high.min(self.max()))
        }
    }

    /// Returns the share (0 to 1) of samples within one standard deviation of the mean.
    #[must_use]
    pub fn share_within_stdev(&self) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let (mean, sd) = (self.mean(), self.stdev());
        let low = (mean - sd).max(0.0) as u64;
        self.count_between(low, (mean + sd) as u64) as f64 / self.count() as f64
    }

    /// Returns every filled bucket: (highest equivalent value in ns, count).
    #[must_use]
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }

    /// Encodes the histogram: HdrHistogram V2, deflated, base64.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        let _ = V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes);
        STANDARD.encode(bytes)
    }

    /// Decodes the text that [`Distribution::encode`] returns.
    ///
    /// # Errors
    /// If `text` is not base64 of a V2 histogram.
    pub fn decode(text: &str) -> Result<Self, String> {
        let bytes = STANDARD
            .decode(text)
            .map_err(|error| format!("histogram: {error}"))?;
        let mut histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("histogram: {error}"))?;
        histogram.auto(true);
        Ok(Self { histogram })
    }

    fn summary(&self) -> Summary {
        let us = |nanos: f64| (nanos / 10.0).round() / 100.0;
        Summary {
            count: self.count(),
            min_us: us(self.min() as f64),
            mean_us: us(self.mean()),
            stdev_us: us(self.stdev()),
            p50_us: us(self.percentile(50.0) as f64),
            p75_us: us(self.percentile(75.0) as f64),
            p90_us: us(self.percentile(90.0) as f64),
            p95_us: us(self.percentile(95.0) as f64),
            p99_us: us(self.percentile(99.0) as f64),
            p99_9_us: us(self.percentile(99.9) as f64),
            p99_99_us: us(self.percentile(99.99) as f64),
            max_us: us(self.max() as f64),
            hdr: self.encode(),
        }
    }
}

/// A distribution of durations: a summary and the whole histogram.
#[derive(Deserialize, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Distribution")]
struct Summary {
    /// Number of samples.
    count: u64,
    /// Shortest duration, in microseconds, as all fields that end with `_us`.
    min_us: f64,
    mean_us: f64,
    stdev_us: f64,
    p50_us: f64,
    p75_us: f64,
    p90_us: f64,
    p95_us: f64,
    p99_us: f64,
    p99_9_us: f64,
    p99_99_us: f64,
    max_us: f64,
    /// The whole histogram in nanoseconds: HdrHistogram V2, deflated, base64.
    hdr: String,
}

impl Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.summary().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let summary = Summary::deserialize(deserializer)?;
        Self::decode(&summary.hdr).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Distribution {
    fn schema_name() -> Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Summary::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn truth(sorted: &[u64], percent: f64) -> u64 {
        let rank = (percent / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
        sorted[rank.min(sorted.len()) - 1]
    }

    proptest! {
        #[test]
        fn percentiles_agree_with_a_sorted_vector(
            mut values in proptest::collection::vec(1_u64..4_000_000_000, 1..400),
            percent in 1.0_f64..100.0,
        ) {
            let mut distribution = Distribution::new();
            values.iter().for_each(|value| distribution.record(*value));
            values.sort_unstable();
            let (got, want) = (distribution.percentile(percent) as f64, truth(&values, percent) as f64);
            prop_assert!((got - want).abs() <= want * 0.001 + 1.0, "{got} against {want}");
            prop_assert_eq!(distribution.count(), values.len() as u64);
        }

        #[test]
        fn merging_is_recording_everything_in_one(
            left in proptest::collection::vec(1_u64..10_000_000_000, 0..200),
            right in proptest::collection::vec(1_u64..10_000_000_000, 0..200),
        ) {
            let (mut a, mut b, mut both) = (Distribution::new(), Distribution::new(), Distribution::new());
            for value in &left { a.record(*value); both.record(*value); }
            for value in &right { b.record(*value); both.record(*value); }
            a.merge(&b);
            prop_assert_eq!(a.buckets(), both.buckets());
            prop_assert_eq!(a.max(), both.max());
        }

        #[test]
        fn json_keeps_every_bucket(values in proptest::collection::vec(1_u64..LONGEST, 0..200)) {
            let mut distribution = Distribution::new();
            values.iter().for_each(|value| distribution.record(*value));
            let json = serde_json::to_string(&distribution).unwrap();
            let back: Distribution = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(back.buckets(), distribution.buckets());
        }
    }

    #[test]
    fn a_value_beyond_an_hour_counts_as_an_hour() {
        let mut distribution = Distribution::new();
        distribution.record(u64::MAX);
        assert_eq!(distribution.count(), 1);
        assert!(distribution.max() as f64 <= LONGEST as f64 * 1.001);
    }

    #[test]
    fn nothing_is_counted_beyond_the_longest() {
        let mut distribution = Distribution::new();
        distribution.record(2_047);
        assert_eq!(distribution.count_between(1_000_000, u64::MAX), 0);
        assert_eq!(distribution.count_between(0, u64::MAX), 1);
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Distribution::decode("AAAA").is_err());
        assert!(Distribution::decode("%%%").is_err());
    }
}
