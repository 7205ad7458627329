//! Medians and ratios with 95 % intervals.
//!
//! From six samples on, the interval is made of order statistics and assumes nothing about the distribution of the
//! samples. With two to five samples no such interval reaches 95 %: Student's t on the logarithms is used, and the result
//! is called indicative. One sample has no interval.

use measure::stats::median;

/// The number of samples below which an interval assumes a log-normal spread.
pub const ENOUGH: usize = 6;

/// The smallest change that counts; any below it is noise on any machine.
pub(crate) const SMALLEST_CHANGE: f64 = 0.02;

/// Two-sided 95 % quantiles of Student's t for 1, 2, … degrees of freedom.
const STUDENT: [f64; 10] = [
    12.706_2, 4.302_7, 3.182_4, 2.776_4, 2.570_6, 2.446_9, 2.364_6, 2.306_0, 2.262_2, 2.228_1,
];

/// The basis of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// One sample: no interval.
    Single,
    /// Two to five samples: Student's t on the logarithms.
    Student,
    /// Six or more samples: order statistics.
    Ranks,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median.
    pub value: f64,
    /// Lower end; the value itself if there is no interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of samples (of the smaller side, if there are two).
    pub samples: usize,
    /// The basis of the interval.
    pub basis: Basis,
}

impl Estimate {
    /// Returns whether there is an interval and `point` is not in it.
    #[must_use]
    pub fn excludes(&self, point: f64) -> bool {
        self.basis != Basis::Single && (self.low > point || self.high < point)
    }

    /// Returns whether the interval needs an assumption, or there is none.
    #[must_use]
    pub fn indicative(&self) -> bool {
        self.basis != Basis::Ranks
    }

    /// Returns the estimate with every figure changed by an increasing function.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            value: change(self.value),
            low: change(self.low),
            high: change(self.high),
            ..self
        }
    }
}

/// The conclusion that a ratio allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The figure is certainly higher.
    More,
    /// The figure is certainly lower.
    Less,
    /// The interval contains 1, or the change is too small to matter.
    NotShown,
}

impl Change {
    /// Judges a ratio; `floor` is how much a server differs from itself on this machine.
    #[must_use]
    pub fn of(ratio: &Estimate, floor: f64) -> Self {
        let smallest = floor.max(SMALLEST_CHANGE);
        if !ratio.excludes(1.0) || (ratio.value - 1.0).abs() < smallest {
            Self::NotShown
        } else if ratio.value > 1.0 {
            Self::More
        } else {
            Self::Less
        }
    }
}

/// Returns the median of positive samples with its interval; none for no samples.
#[must_use]
pub fn estimate(samples: &[f64]) -> Option<Estimate> {
    let value = median(samples);
    let (low, high, basis) = match samples.len() {
        0 => return None,
        1 => (value, value, Basis::Single),
        n if n < ENOUGH && samples.iter().all(|one| *one == value) => {
            (value, value, Basis::Student)
        }
        n if n >= ENOUGH => {
            let sorted = sorted(samples);
            let rank = rank_of_low_end(n);
            (sorted[rank], sorted[n - 1 - rank], Basis::Ranks)
        }
        n => {
            let (low, high) = student(&logs(samples), n - 1);
            (low.min(value), high.max(value), Basis::Student)
        }
    };
    Some(Estimate {
        value,
        low,
        high,
        samples: samples.len(),
        basis,
    })
}

/// Returns the median of `other / base` over pairs that were measured one after the other, with its interval. Pairs with
/// a zero are left out; none if no pair is left.
#[must_use]
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios: Vec<f64> = pairs
        .iter()
        .filter(|(base, other)| *base > 0.0 && *other > 0.0)
        .map(|(base, other)| other / base)
        .collect();
    estimate(&ratios)
}

/// Returns `other / base` of samples that are not paired, such as those of two runs. The interval is that of Hodges and
/// Lehmann's estimate (Moses) from four samples a side on, and Welch's t on the logarithms below that.
#[must_use]
pub(crate) fn unpaired(base: &[f64], other: &[f64]) -> Option<Estimate> {
    let positive = |side: &[f64]| {
        side.iter()
            .copied()
            .filter(|v| *v > 0.0)
            .collect::<Vec<_>>()
    };
    let (base, other) = (positive(base), positive(other));
    let samples = base.len().min(other.len());
    if samples == 0 {
        return None;
    }
    let ratios: Vec<f64> = other
        .iter()
        .flat_map(|o| base.iter().map(move |b| o / b))
        .collect();
    let value = median(&ratios);
    let (low, high, basis) = if samples == 1 {
        (value, value, Basis::Single)
    } else if samples >= 4 {
        let sorted = sorted(&ratios);
        let cut = moses_cut(base.len(), other.len());
        (sorted[cut], sorted[sorted.len() - 1 - cut], Basis::Ranks)
    } else {
        let (low, high) = welch(&logs(&base), &logs(&other));
        (low.min(value), high.max(value), Basis::Student)
    };
    Some(Estimate {
        value,
        low,
        high,
        samples,
        basis,
    })
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn logs(samples: &[f64]) -> Vec<f64> {
    samples
        .iter()
        .map(|value| value.max(f64::MIN_POSITIVE).ln())
        .collect()
}

fn student(logs: &[f64], freedom: usize) -> (f64, f64) {
    let centre = measure::stats::mean(logs);
    let half = quantile(freedom) * measure::stats::stdev(logs) / (logs.len() as f64).sqrt();
    ((centre - half).exp(), (centre + half).exp())
}

/// Returns Welch's interval with the fewer degrees of freedom of the two sides, which is never too narrow.
fn welch(base: &[f64], other: &[f64]) -> (f64, f64) {
    let part = |side: &[f64]| measure::stats::stdev(side).powi(2) / side.len() as f64;
    let centre = measure::stats::mean(other) - measure::stats::mean(base);
    let freedom = base.len().min(other.len()) - 1;
    let half = quantile(freedom) * (part(base) + part(other)).sqrt();
    ((centre - half).exp(), (centre + half).exp())
}

fn quantile(freedom: usize) -> f64 {
    STUDENT[freedom.clamp(1, STUDENT.len()) - 1]
}

/// Returns the index of the lower end in `n` sorted samples: the largest with at least 95 % between it and its mirror
/// image.
fn rank_of_low_end(n: usize) -> usize {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    let mut rank = 0;
    while rank < n {
        below += term;
        if 2.0 * below > 0.05 {
            break;
        }
        rank += 1;
        term *= (n + 1 - rank) as f64 / rank as f64;
    }
    rank.saturating_sub(1)
}

/// Returns how many of the sorted ratios are cut off on each side, from the exact distribution of Mann and Whitney's U.
fn moses_cut(n: usize, m: usize) -> usize {
    let counts = u_counts(n.min(12), m.min(12));
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    let cut = counts
        .iter()
        .take_while(|count| {
            below += **count;
            2.0 * below / all <= 0.05
        })
        .count();
    cut.saturating_sub(1)
}

/// Returns how many of the orders of `n` and `m` samples have each value of U.
fn u_counts(n: usize, m: usize) -> Vec<f64> {
    // The coefficients of the Gaussian binomial: one factor (1 - q^(m+i)) / (1 - q^i) at a time.
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..counts.len()).rev() {
            counts[at] -= counts[at - m - i];
        }
        for at in i..counts.len() {
            counts[at] += counts[at - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests;
