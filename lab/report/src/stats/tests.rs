use super::*;
use proptest::prelude::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= b.abs() * 1e-3
}

#[test]
fn rank_intervals_of_known_samples() {
    // Order statistics of the binomial distribution, as in any table of the sign test: n = 6 → 1st and 6th, n = 9 → 2nd and
    // 8th, n = 20 → 6th and 15th.
    let of = |n: i32| {
        let values: Vec<f64> = (1..=n).map(f64::from).collect();
        let found = estimate(&values).unwrap();
        (found.low, found.high)
    };
    assert_eq!(of(6), (1.0, 6.0));
    assert_eq!(of(8), (1.0, 8.0));
    assert_eq!(of(9), (2.0, 8.0));
    assert_eq!(of(12), (3.0, 10.0));
    assert_eq!(of(20), (6.0, 15.0));
    assert_eq!(estimate(&[5.0; 6]).unwrap().basis, Basis::Ranks);
}

#[test]
fn few_samples_have_students_interval_on_logarithms() {
    // R: exp(t.test(log(c(100,110,121)))$conf.int) = 86.81 139.38
    let found = estimate(&[100.0, 110.0, 121.0]).unwrap();
    assert_eq!((found.value, found.basis), (110.0, Basis::Student));
    assert!(
        close(found.low, 86.81) && close(found.high, 139.38),
        "{found:?}"
    );
    assert!(found.indicative());
    let one = estimate(&[42.0]).unwrap();
    assert_eq!((one.low, one.high, one.basis), (42.0, 42.0, Basis::Single));
    assert!(!one.excludes(1.0), "one sample shows nothing");
    assert!(estimate(&[]).is_none());
}

#[test]
fn the_distribution_of_u_is_the_tables() {
    // R: dwilcox(0:4, 2, 2) * choose(4, 2)
    assert_eq!(u_counts(2, 2), vec![1.0, 1.0, 2.0, 1.0, 1.0]);
    assert_eq!(u_counts(3, 4).iter().sum::<f64>(), 35.0);
    // R: qwilcox(0.025, 6, 6) = 6, qwilcox(0.025, 4, 4) = 1, qwilcox(0.025, 10, 10) = 24
    assert_eq!(moses_cut(6, 6), 5);
    assert_eq!(moses_cut(4, 4), 0);
    assert_eq!(moses_cut(10, 10), 23);
}

#[test]
fn pairs_cancel_what_both_sides_share() {
    // The machine becomes slower from round to round; the second value is always 10 % above the first.
    let pairs: Vec<(f64, f64)> = [100.0, 80.0, 60.0, 50.0, 40.0, 30.0]
        .map(|base| (base, base * 1.1))
        .into();
    let paired = ratio(&pairs).unwrap();
    assert!(close(paired.low, 1.1) && close(paired.high, 1.1));
    assert_eq!(Change::of(&paired, 0.0), Change::More);
    let (base, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let apart = unpaired(&base, &other).unwrap();
    assert_eq!(Change::of(&apart, 0.0), Change::NotShown, "{apart:?}");
}

#[test]
fn two_runs_that_differ_are_told_apart() {
    let base = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
    let other = base.map(|rate| rate * 1.2);
    let found = unpaired(&base, &other).unwrap();
    assert!(found.low > 1.17 && found.high < 1.23, "{found:?}");
    assert_eq!(Change::of(&found, 0.0), Change::More);
    assert_eq!(
        Change::of(&found, 0.3),
        Change::NotShown,
        "below the machine's own noise"
    );
    let three = unpaired(&base[..3], &other[..3]).unwrap();
    assert_eq!(three.basis, Basis::Student);
    assert!(three.low > 1.1 && three.high < 1.3);
}

#[test]
fn a_failed_repeat_is_no_sample_of_a_ratio() {
    assert!(ratio(&[(0.0, 10.0), (10.0, 0.0)]).is_none());
    assert_eq!(ratio(&[(0.0, 10.0), (10.0, 20.0)]).unwrap().value, 2.0);
    assert!(unpaired(&[0.0], &[1.0]).is_none());
}

proptest! {
    #[test]
    fn intervals_hold_their_value_and_stay_in_order(values in prop::collection::vec(1e-3_f64..1e9, 1..30)) {
        let found = estimate(&values).unwrap();
        prop_assert!(found.low <= found.value && found.value <= found.high);
        prop_assert!(found.low.is_finite() && found.high.is_finite());
    }

    #[test]
    fn the_inverse_ratio_is_the_ratio_of_the_inverse(
        base in prop::collection::vec(1.0_f64..1e6, 2..12),
        other in prop::collection::vec(1.0_f64..1e6, 2..12),
    ) {
        let there = unpaired(&base, &other).unwrap();
        let back = unpaired(&other, &base).unwrap();
        prop_assert!((there.low * back.high - 1.0).abs() < 1e-6, "{there:?} {back:?}");
        prop_assert!((there.high * back.low - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_true_median_is_in_nine_of_ten_intervals(seed in 0_u64..20) {
        use rand::{Rng as _, SeedableRng as _};
        let mut rng = rand::rngs::SmallRng::seed_from_u64(seed);
        let mut held = 0;
        for _ in 0..200 {
            // Skewed, as latencies are: the median of exp(u) with u in -1..1 is 1.
            let values: Vec<f64> = (0..7).map(|_| rng.random_range(-1.0_f64..1.0).exp()).collect();
            let found = estimate(&values).unwrap();
            held += usize::from(found.low <= 1.0 && 1.0 <= found.high);
        }
        prop_assert!(held >= 180, "{held} of 200");
    }
}
