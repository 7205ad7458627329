//! How long requests took: histograms by route and by class of the response.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shm::{LATENCY_BOUNDS, Latencies, ResponseClass};

/// The route of requests whose path fits no pattern.
const OTHER: &str = "other";

/// A histogram of the time that requests took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// A pattern of `metrics.routes`, or `other`.
    pub route: String,
    /// `2xx` to `5xx`, or `aborted`.
    pub class: String,
    /// The number of requests in each bucket; the bounds are those of the metrics.
    pub buckets: Vec<u64>,
    /// The sum of the times, in seconds.
    pub seconds: f64,
}

/// Returns the histograms that have counted any request.
pub(crate) fn all(latencies: &Latencies, routes: &[String]) -> Vec<Latency> {
    let names = [OTHER].into_iter().chain(routes.iter().map(String::as_str));
    let pairs = names.enumerate().flat_map(|(number, route)| {
        ResponseClass::ALL.map(|class| (route, class, latencies.of(number, class)))
    });
    let counted = pairs.filter(|(_, _, histogram)| histogram.count() > 0);
    let latency = counted.map(|(route, class, histogram)| Latency {
        route: route.into(),
        class: class.name().into(),
        buckets: histogram.buckets().to_vec(),
        seconds: histogram.sum().as_secs_f64(),
    });
    latency.collect()
}

impl Latency {
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns what was counted since `before`, of the same route and class.
    #[must_use]
    pub fn since(&self, before: Option<&Latency>) -> Latency {
        let mut since = self.clone();
        if let Some(before) = before {
            for (now, then) in since.buckets.iter_mut().zip(&before.buckets) {
                *now = now.saturating_sub(*then);
            }
            since.seconds = (self.seconds - before.seconds).max(0.0);
        }
        since
    }

    /// Returns the upper bound of the bucket that contains this quantile; `None` if it is beyond the last bound.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part).ceil() as u64;
        let mut below = 0;
        let within = self.buckets.iter().position(|count| {
            below += count;
            below >= wanted
        });
        let micros = LATENCY_BOUNDS.get(within?)?;
        Some(Duration::from_micros(*micros))
    }

    /// Returns the upper bounds in seconds, each with the number of requests that took no longer.
    pub(crate) fn cumulative(&self) -> Vec<(String, u64)> {
        let bounds = LATENCY_BOUNDS
            .iter()
            .map(|micros| (*micros as f64 / 1e6).to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut below = 0;
        let rows = bounds.zip(&self.buckets).map(|(bound, count)| {
            below += count;
            (bound, below)
        });
        rows.collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Latency {
        let mut buckets = vec![0; LATENCY_BOUNDS.len() + 1];
        (buckets[0], buckets[1], buckets[LATENCY_BOUNDS.len()]) = (5, 2, 1);
        Latency {
            route: "/blog/{slug}".into(),
            class: "2xx".into(),
            buckets,
            seconds: 61.5,
        }
    }

    #[test]
    fn quantiles_are_bounds_and_of_what_was_counted_since() {
        let sample = sample();
        assert_eq!(sample.quantile(0.5), Some(Duration::from_millis(1)));
        assert_eq!(sample.quantile(0.75), Some(Duration::from_micros(2500)));
        assert_eq!(sample.quantile(0.99), None);
        let mut later = sample.clone();
        later.buckets[1] += 3;
        later.seconds += 0.006;
        let since = later.since(Some(&sample));
        assert_eq!(
            (since.count(), since.quantile(0.5)),
            (3, Some(Duration::from_micros(2500)))
        );
        assert_eq!(later.since(None), later);
    }

    #[test]
    fn buckets_have_what_is_below_them_too() {
        let rows = sample().cumulative();
        assert_eq!(
            rows[..3],
            [
                ("0.001".into(), 5),
                ("0.0025".into(), 7),
                ("0.005".into(), 7)
            ]
        );
        assert_eq!(rows.last(), Some(&("+Inf".into(), 8)));
        assert_eq!(rows.len(), LATENCY_BOUNDS.len() + 1);
    }
}
