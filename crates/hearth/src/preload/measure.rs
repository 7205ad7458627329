//! Measures whether a list pays off: CPU time of the recorded mix of paths, alternately without and with the list.

use std::time::{Duration, Instant};

use ::preload::{ColdStart, Gain, Replay};
use measure::stats::{Interval, block_resample, bootstrap, mean, median};

use super::Failed;
use super::site::Site;

/// The duration of a block of requests.
const BLOCK: Duration = Duration::from_millis(150);
const FEWEST_BLOCKS: usize = 8;
const DRAWS: usize = 2000;
/// The requests to a fresh server that are measured.
const FIRST: usize = 100;

/// Returns requests in the recorded proportions, each path at least once.
fn mix(replays: &[Replay], most: usize) -> Vec<&Replay> {
    let total: f64 = replays.iter().map(|one| one.weight).sum();
    let mut slots: Vec<(f64, &Replay)> = Vec::new();
    for replay in replays {
        let times =
            ((replay.weight / total.max(f64::MIN_POSITIVE) * most as f64).round() as usize).max(1);
        slots.extend((0..times).map(|n| ((n as f64 + 0.5) / times as f64, replay)));
    }
    slots.sort_by(|a, b| a.0.total_cmp(&b.0));
    slots.into_iter().map(|(_, replay)| replay).collect()
}

/// Sends a block of requests. Returns the CPU time per request, in µs.
fn block(site: &Site, mix: &[&Replay]) -> Result<f64, Failed> {
    let before = site.processor_time();
    for replay in mix {
        site.get(&replay.host, &replay.uri)?;
    }
    Ok((site.processor_time() - before) as f64 / 1000.0 / mix.len() as f64)
}

/// Measures the first hundred requests of a fresh server.
pub(super) fn cold(site: &Site, replays: &[Replay]) -> Result<ColdStart, Failed> {
    let mut times = Vec::with_capacity(FIRST);
    for replay in mix(replays, FIRST).into_iter().take(FIRST) {
        let began = Instant::now();
        site.get(&replay.host, &replay.uri)?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort_by(f64::total_cmp);
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    Ok(ColdStart {
        first,
        p50: at(times.len() / 2),
        p99: at(times.len().saturating_sub(2)),
    })
}

/// Returns the number of requests that take as long as a block should.
fn block_size(site: &Site, replays: &[Replay]) -> Result<usize, Failed> {
    let began = Instant::now();
    block(site, &mix(replays, replays.len()))?;
    let one = began.elapsed().as_secs_f64() / replays.len() as f64;
    let most = (BLOCK.as_secs_f64() / one.max(1e-6)) as usize;
    Ok(most.clamp(1, 2000))
}

/// Returns the figures of one site: 0 without the list, 1 with it.
fn side(pairs: &[[f64; 2]], number: usize) -> Vec<f64> {
    pairs.iter().map(|pair| pair[number]).collect()
}

/// Returns the share of the CPU time that the list saves, with its confidence interval.
fn share_saved(pairs: &[[f64; 2]]) -> Interval {
    let share = |pairs: &[[f64; 2]]| {
        1.0 - median(&side(pairs, 1)) / median(&side(pairs, 0)).max(f64::MIN_POSITIVE)
    };
    bootstrap(share(pairs), DRAWS, |rng| {
        let drawn = block_resample(rng, pairs.len());
        share(
            &drawn
                .into_iter()
                .map(|number| pairs[number])
                .collect::<Vec<_>>(),
        )
    })
}

/// Measures the gain. Both sites have answered each path before. `cold` are the first requests, without and with the list.
pub(super) fn gain(
    without: &Site,
    with: &Site,
    replays: &[Replay],
    time: Duration,
    cold: [ColdStart; 2],
) -> Result<Gain, Failed> {
    let mix = mix(replays, block_size(without, replays)?);
    block(with, &mix)?;
    let pairs = pairs(without, with, &mix, time)?;
    let interval = share_saved(&pairs);
    Ok(Gain {
        without: mean(&side(&pairs, 0)),
        with: mean(&side(&pairs, 1)),
        share: interval.value,
        low: interval.low,
        high: interval.high,
        requests: (pairs.len() * mix.len() * 2) as u64,
        paths: replays.len(),
        cold_without: cold[0],
        cold_with: cold[1],
        boot_without: without.boot,
        boot_with: with.boot,
    })
}

fn pairs(
    without: &Site,
    with: &Site,
    mix: &[&Replay],
    time: Duration,
) -> Result<Vec<[f64; 2]>, Failed> {
    let (mut pairs, began) = (Vec::new(), Instant::now());
    while pairs.len() < FEWEST_BLOCKS || began.elapsed() < time {
        // Each of the two goes first as often as the other.
        pairs.push(match pairs.len() % 2 {
            0 => [block(without, mix)?, block(with, mix)?],
            _ => {
                let second = block(with, mix)?;
                [block(without, mix)?, second]
            }
        });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_has_the_recorded_proportions_and_each_path() {
        let replay = |uri: &str, weight| Replay {
            uri: uri.into(),
            host: String::new(),
            weight,
        };
        let replays = [replay("/", 0.7), replay("/a", 0.3), replay("/rare", 0.001)];
        let mix = mix(&replays, 10);
        let count = |uri: &str| mix.iter().filter(|one| one.uri == uri).count();
        assert_eq!([count("/"), count("/a"), count("/rare")], [7, 3, 1]);
        assert_ne!(mix[0].uri, mix[1].uri, "they are mixed");
    }
}
