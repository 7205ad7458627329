//! Statistics for small samples: medians, bootstrap intervals, rank tests, fairness, two-state detection.
//!
//! Benchmark results are not normally distributed, so no function here assumes that. Random numbers are seeded: the same
//! file gives the same interval.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interval {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Returns whether the interval does not contain `point`.
    #[must_use]
    pub fn excludes(&self, point: f64) -> bool {
        self.low > point || self.high < point
    }
}

/// Returns the median; 0 for no values.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Returns the arithmetic mean; 0 for no values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Returns the standard deviation of a sample (n − 1); 0 for fewer than two values.
#[must_use]
pub fn stdev(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Returns Jain's fairness index: 1 if all values are equal, 1/n if one value is all of the sum.
#[must_use]
pub fn jain(values: &[u64]) -> f64 {
    let sum: f64 = values.iter().map(|value| *value as f64).sum();
    let squares: f64 = values.iter().map(|value| (*value as f64).powi(2)).sum();
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (values.len() as f64 * squares)
    }
}

/// Resamples `draw` (given a random source) and returns the middle 95 % of its results.
pub fn bootstrap(
    estimate: f64,
    rounds: usize,
    mut draw: impl FnMut(&mut SmallRng) -> f64,
) -> Interval {
    let mut rng = SmallRng::seed_from_u64(0x6865_6172_7468);
    let mut results: Vec<f64> = (0..rounds).map(|_| draw(&mut rng)).collect();
    results.sort_by(f64::total_cmp);
    let at = |share: f64| results[((results.len() - 1) as f64 * share).round() as usize];
    if results.is_empty() {
        return Interval {
            value: estimate,
            low: estimate,
            high: estimate,
        };
    }
    Interval {
        value: estimate,
        low: at(0.025),
        high: at(0.975),
    }
}

/// Returns the indices of a moving-block resample of `n` ordered observations: neighbours stay together, because the
/// seconds of one run are not independent of each other.
pub fn block_resample(rng: &mut SmallRng, n: usize) -> Vec<usize> {
    let block = (n as f64).cbrt().ceil().max(1.0) as usize;
    let mut picked = Vec::with_capacity(n + block);
    while picked.len() < n {
        let start = rng.random_range(0..n);
        picked.extend((start..start + block).map(|index| index % n));
    }
    picked.truncate(n);
    picked
}

/// Returns the p value of the two-sided Mann-Whitney U test: exact for small samples (ties count half), by the normal
/// approximation beyond 20 values in all.
#[must_use]
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let u = u_statistic(a, b);
    let half = (a.len() * b.len()) as f64 / 2.0;
    let distance = (u - half).abs();
    if a.len() + b.len() > 20 {
        let variance = (a.len() * b.len() * (a.len() + b.len() + 1)) as f64 / 12.0;
        return 2.0 * normal_tail(((distance - 0.5).max(0.0)) / variance.sqrt());
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let (mut extreme, mut total) = (0_u64, 0_u64);
    for mask in 0_u32..(1 << all.len()) {
        if mask.count_ones() as usize != a.len() {
            continue;
        }
        let (left, right): (Vec<_>, Vec<_>) = all
            .iter()
            .enumerate()
            .partition(|(index, _)| mask & (1 << index) != 0);
        let left: Vec<f64> = left.into_iter().map(|(_, value)| *value).collect();
        let right: Vec<f64> = right.into_iter().map(|(_, value)| *value).collect();
        total += 1;
        extreme += u64::from((u_statistic(&left, &right) - half).abs() >= distance - 1e-9);
    }
    extreme as f64 / total as f64
}

fn u_statistic(a: &[f64], b: &[f64]) -> f64 {
    let mut u = 0.0;
    for x in a {
        for y in b {
            u += match x.total_cmp(y) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
        }
    }
    u
}

/// Returns the upper tail of the standard normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn normal_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly
}

/// Two groups in a list of rates, each with its mean and its number of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoStates {
    /// Mean and number of values of the lower group.
    pub low: (f64, usize),
    /// Mean and number of values of the upper group.
    pub high: (f64, usize),
}

/// Looks for a gap more than three times the spread inside the groups it separates, with at
/// least two members on either side and 20 % between the group means.
#[must_use]
pub(crate) fn two_states(values: &[f64]) -> Option<TwoStates> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = (2..sorted.len().saturating_sub(1))
        .max_by(|a, b| (sorted[*a] - sorted[a - 1]).total_cmp(&(sorted[*b] - sorted[b - 1])))?;
    let (low, high) = sorted.split_at(cut);
    let gap = high[0] - low[low.len() - 1];
    let spread = stdev(low).max(stdev(high)).max(mean(&sorted) * 1e-3);
    let apart = mean(high) > mean(low) * 1.2;
    (gap > 3.0 * spread && apart).then(|| TwoStates {
        low: (mean(low), low.len()),
        high: (mean(high), high.len()),
    })
}

/// Returns whether the run is steady: whether the last three values lie within ±5 % of their mean.
#[must_use]
pub fn steady(values: &[f64]) -> bool {
    let Some(last) = values.len().checked_sub(3).map(|from| &values[from..]) else {
        return false;
    };
    let centre = mean(last);
    centre > 0.0
        && last
            .iter()
            .all(|value| (value - centre).abs() <= centre * 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn fairness_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert!((jain(&[7, 7, 7, 7]) - 1.0).abs() < 1e-12);
        assert!((jain(&[28, 0, 0, 0]) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn mann_whitney_known_values() {
        // R: wilcox.test(c(1,2,3,4), c(5,6,7,8))$p.value
        assert!((mann_whitney(&[1., 2., 3., 4.], &[5., 6., 7., 8.]) - 0.028_571_43).abs() < 1e-6);
        // R: wilcox.test(1:6, 7:12)$p.value
        let (a, b): (Vec<f64>, Vec<f64>) = (
            (1..7).map(f64::from).collect(),
            (7..13).map(f64::from).collect(),
        );
        assert!((mann_whitney(&a, &b) - 0.002_164_502).abs() < 1e-8);
        assert!(mann_whitney(&[1., 2., 3.], &[1., 2., 3.]) > 0.99);
        // beyond 20 values the normal approximation is used: identical samples differ in nothing
        let many: Vec<f64> = (0..15).map(f64::from).collect();
        assert!(mann_whitney(&many, &many) > 0.9);
    }

    #[test]
    fn the_seed_that_had_two_states_is_seen() {
        let rates = [1454., 1900., 1850., 9639., 9200., 9500., 1990.];
        let found = two_states(&rates).expect("two states");
        assert_eq!((found.low.1, found.high.1), (4, 3));
        assert!(two_states(&[100., 101., 99., 102., 98., 100.]).is_none());
    }

    #[test]
    fn steady_needs_three_close_values() {
        assert!(!steady(&[100., 101.]));
        assert!(steady(&[10., 100., 101., 99.]));
        assert!(!steady(&[100., 101., 120.]));
    }

    proptest! {
        #[test]
        fn the_bootstrap_interval_of_a_mean_holds_the_mean(values in proptest::collection::vec(1.0_f64..1000.0, 5..40)) {
            let centre = mean(&values);
            let interval = bootstrap(centre, 400, |rng| {
                let picked: Vec<f64> = block_resample(rng, values.len()).into_iter().map(|i| values[i]).collect();
                mean(&picked)
            });
            let slack = stdev(&values) * 0.2 + 1e-9;
            prop_assert!(interval.low <= centre + slack && interval.high >= centre - slack);
        }
    }
}
