//! Gunther's universal scaling law: how a rate grows with workers or connections, and where the growth ends.
//!
//! `X(n) = λ n / (1 + σ (n − 1) + κ n (n − 1))`: λ is the rate of one, σ the serial share (contention), κ the cost of
//! coordination between all (coherence). `n / X` is linear in `1/λ`, `σ/λ` and `κ/λ`, so the fit is a weighted linear
//! least squares with a closed-form solution.

use measure::stats::median;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

/// The number of distinct points that a fit needs.
const POINTS: usize = 6;
/// The multiple of the largest measured number beyond which no maximum is named.
const REACH: f64 = 1.5;
const RESAMPLES: usize = 400;

/// The law fitted to a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The rate of one (λ).
    pub lambda: f64,
    /// Contention (σ).
    pub sigma: f64,
    /// Coherence (κ).
    pub kappa: f64,
    /// Share of the rates' variance that the law explains.
    pub r2: f64,
    /// The number with the highest rate, and its 95 % interval over resampled repeats; none if the rate still rises at
    /// the end of the measured range.
    pub best: Option<(f64, f64, f64)>,
}

impl Fit {
    /// Returns the rate for `n`.
    #[must_use]
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }
}

/// Fits the law to the rates measured for each number; none with fewer than [`POINTS`] numbers.
#[must_use]
pub fn fit(points: &[(f64, Vec<f64>)]) -> Option<Fit> {
    let medians: Vec<(f64, f64)> = points
        .iter()
        .map(|(n, rates)| (*n, median(rates)))
        .filter(|(n, rate)| *n > 0.0 && *rate > 0.0)
        .collect();
    if medians.len() < POINTS {
        return None;
    }
    let law = solve(&medians)?;
    let largest = medians.iter().map(|(n, _)| *n).fold(0.0, f64::max);
    Some(Fit {
        r2: explained(&law, &medians),
        best: peak(&law, largest).map(|best| with_interval(best, points, largest)),
        ..law
    })
}

/// Returns where the law has its maximum, if that is within the measured range or nearly so.
fn peak(law: &Fit, largest: f64) -> Option<f64> {
    let best = ((1.0 - law.sigma).max(0.0) / law.kappa).sqrt().max(1.0);
    (law.kappa > 0.0 && best <= largest * REACH).then_some(best)
}

fn with_interval(best: f64, points: &[(f64, Vec<f64>)], largest: f64) -> (f64, f64, f64) {
    let mut rng = SmallRng::seed_from_u64(0x75_736c);
    let mut found: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let sample: Vec<(f64, f64)> = points
                .iter()
                .filter(|(n, rates)| *n > 0.0 && median(rates) > 0.0)
                .map(|(n, rates)| (*n, median(&resample(rates, &mut rng))))
                .collect();
            let law = solve(&sample)?;
            Some(peak(&law, largest).unwrap_or(largest * REACH))
        })
        .collect();
    found.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (found.len().saturating_sub(1) as f64 * share).round() as usize;
        found.get(index).copied().unwrap_or(best)
    };
    (best, at(0.025).min(best), at(0.975).max(best))
}

fn resample(rates: &[f64], rng: &mut SmallRng) -> Vec<f64> {
    rates
        .iter()
        .map(|_| rates[rng.random_range(0..rates.len())])
        .collect()
}

fn explained(law: &Fit, points: &[(f64, f64)]) -> f64 {
    let mean = points.iter().map(|(_, rate)| rate).sum::<f64>() / points.len() as f64;
    let left: f64 = points
        .iter()
        .map(|(n, rate)| (rate - law.at(*n)).powi(2))
        .sum();
    let all: f64 = points.iter().map(|(_, rate)| (rate - mean).powi(2)).sum();
    if all > 0.0 { 1.0 - left / all } else { 1.0 }
}

/// Returns the law without `r2` and `best`. A negative σ or κ has no meaning; a coefficient that would be negative is left out.
fn solve(points: &[(f64, f64)]) -> Option<Fit> {
    let candidates = [[true, true], [true, false], [false, true], [false, false]];
    candidates
        .iter()
        .filter_map(|used| solve_with(points, *used))
        .filter(|(lambda, sigma, kappa, _)| {
            *lambda > 0.0 && lambda.is_finite() && *sigma >= 0.0 && *kappa >= 0.0
        })
        .min_by(|a, b| a.3.total_cmp(&b.3))
        .map(|(lambda, sigma, kappa, _)| Fit {
            lambda,
            sigma,
            kappa,
            r2: 0.0,
            best: None,
        })
}

/// Returns the least squares with σ and κ or only one of them, and the residual sum of squares.
fn solve_with(points: &[(f64, f64)], used: [bool; 2]) -> Option<(f64, f64, f64, f64)> {
    // The last column is the right-hand side; dividing by n / X makes every error relative.
    let rows = points.iter().map(|(n, rate)| {
        let weight = rate / n;
        [
            weight,
            if used[0] { (n - 1.0) * weight } else { 0.0 },
            if used[1] { n * (n - 1.0) * weight } else { 0.0 },
            1.0,
        ]
    });
    let mut normal = [[0.0; 4]; 3];
    for row in rows.clone() {
        for (i, line) in normal.iter_mut().enumerate() {
            for (j, sum) in line.iter_mut().enumerate() {
                *sum += row[i] * row[j];
            }
        }
    }
    for (index, included) in used.iter().enumerate() {
        if !included {
            normal[index + 1][index + 1] = 1.0;
        }
    }
    let [a, b, c] = gauss(normal)?;
    let left = rows
        .map(|row| (a * row[0] + b * row[1] + c * row[2] - row[3]).powi(2))
        .sum();
    Some((1.0 / a, b / a, c / a, left))
}

/// Solves three linear equations.
fn gauss(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for at in 0..3 {
        let pivot = (at..3).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        rows.swap(at, pivot);
        if rows[at][at].abs() < 1e-12 {
            return None;
        }
        let head = rows[at];
        for (_, row) in rows
            .iter_mut()
            .enumerate()
            .filter(|(other, _)| *other != at)
        {
            let factor = row[at] / head[at];
            for (value, above) in row.iter_mut().zip(head) {
                *value -= factor * above;
            }
        }
    }
    Some([0, 1, 2].map(|at| rows[at][3] / rows[at][at]))
}

/// Returns the smallest number whose rate is not shown to be below the highest: the number to configure. Each point is a
/// number and the rates of its repeats.
#[must_use]
pub fn recommended(points: &[(f64, Vec<f64>)], floor: f64) -> Option<f64> {
    let (_, best) = points
        .iter()
        .max_by(|a, b| median(&a.1).total_cmp(&median(&b.1)))?;
    let as_good = |rates: &[f64]| {
        let pairs: Vec<(f64, f64)> = best.iter().copied().zip(rates.iter().copied()).collect();
        let smallest = floor.max(crate::stats::SMALLEST_CHANGE);
        crate::stats::ratio(&pairs).is_some_and(|ratio| {
            ratio.value >= 1.0 - smallest
                || (crate::stats::Change::of(&ratio, floor) != crate::stats::Change::Less
                    && ratio.value > 0.95)
        })
    };
    points
        .iter()
        .filter(|(_, rates)| as_good(rates))
        .map(|(n, _)| *n)
        .min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sweep(lambda: f64, sigma: f64, kappa: f64, noise: f64) -> Vec<(f64, Vec<f64>)> {
        let law = Fit {
            lambda,
            sigma,
            kappa,
            r2: 1.0,
            best: None,
        };
        let mut rng = SmallRng::seed_from_u64(7);
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0]
            .map(|n| {
                let rates = (0..6)
                    .map(|_| law.at(n) * (1.0 + noise * rng.random_range(-1.0..1.0)))
                    .collect();
                (n, rates)
            })
            .into()
    }

    #[test]
    fn gunthers_own_example_is_found_again() {
        // Gunther, "Guerrilla Capacity Planning", table 5.1 (ray-tracing benchmark): σ = 0.0500, κ = 0.000005 by his fit of
        // 20 at p = 1 to 320 at p = 64.
        let rates = [
            (1.0, 20.0),
            (4.0, 78.0),
            (8.0, 130.0),
            (12.0, 170.0),
            (16.0, 190.0),
            (20.0, 200.0),
            (24.0, 210.0),
            (28.0, 230.0),
            (32.0, 260.0),
            (48.0, 280.0),
            (64.0, 310.0),
        ];
        let points: Vec<(f64, Vec<f64>)> =
            rates.iter().map(|(n, rate)| (*n, vec![*rate])).collect();
        let found = fit(&points).unwrap();
        assert!((found.sigma - 0.05).abs() < 0.01, "{found:?}");
        assert!(found.kappa < 1e-4 && found.r2 > 0.98, "{found:?}");
        assert_eq!(found.best, None, "it still rises at 64");
    }

    #[test]
    fn a_peak_is_found_with_its_interval() {
        let found = fit(&sweep(1000.0, 0.02, 0.001, 0.02)).unwrap();
        let truth = (0.98_f64 / 0.001).sqrt();
        let (best, low, high) = found.best.unwrap();
        assert!((best - truth).abs() < 3.0, "{best} for {truth}");
        assert!(low <= truth && truth <= high && high < 48.0, "{low} {high}");
    }

    #[test]
    fn few_points_are_no_curve() {
        assert_eq!(fit(&sweep(1000.0, 0.02, 0.001, 0.0)[..5]), None);
        assert_eq!(fit(&[]), None);
    }

    #[test]
    fn the_recommended_count_is_the_smallest_that_is_as_good() {
        let rates = |rate: f64| [0.99, 1.0, 1.01].map(|noise| rate * noise).to_vec();
        let points = [
            (1.0, rates(100.0)),
            (2.0, rates(190.0)),
            (4.0, rates(193.0)),
            (8.0, rates(150.0)),
        ];
        assert_eq!(recommended(&points, 0.02), Some(2.0));
        assert_eq!(recommended(&[], 0.02), None);
    }

    proptest! {
        #[test]
        fn an_exact_law_is_found_exactly(lambda in 10.0_f64..1e5, sigma in 0.0_f64..0.5, kappa in 0.0_f64..0.01) {
            let found = fit(&sweep(lambda, sigma, kappa, 0.0)).unwrap();
            prop_assert!((found.lambda / lambda - 1.0).abs() < 1e-4, "{found:?}");
            prop_assert!((found.sigma - sigma).abs() < 1e-4 && (found.kappa - kappa).abs() < 1e-5);
            prop_assert!(found.r2 > 0.999);
        }

        #[test]
        fn any_rates_fit_or_do_not_but_never_panic(rates in prop::collection::vec(prop::collection::vec(0.0_f64..1e6, 0..4), 0..10)) {
            let points: Vec<(f64, Vec<f64>)> = rates.into_iter().enumerate().map(|(n, rates)| (n as f64, rates)).collect();
            if let Some(found) = fit(&points) {
                prop_assert!(found.at(4.0).is_finite() && found.sigma >= 0.0 && found.kappa >= 0.0);
            }
            let _ = recommended(&points, 0.02);
        }
    }
}
