//! The hit rate of a cache that is smaller than the data, compared with that of an LRU cache.
#![forbid(unsafe_code)]

mod support;

use std::collections::{BTreeMap, HashMap};

use support::{Random, cache, get, set};

const KEYS: usize = 20_000;
const READS: usize = 100_000;

/// Returns keys distributed by Zipf's law, with a scan of keys that occur once now and then.
fn trace() -> Vec<u64> {
    let mut random = Random(0x5eed_1234);
    let weights = (1..=KEYS).scan(0.0, |sum, rank| {
        *sum += 1.0 / rank as f64;
        Some(*sum)
    });
    let weights: Vec<f64> = weights.collect();
    let total = weights[KEYS - 1];
    (0..READS as u64)
        .map(|n| {
            if n % 10_000 < 2000 {
                return 1_000_000 + n;
            }
            let at = random.below(1 << 40) as f64 / (1_u64 << 40) as f64 * total;
            weights.partition_point(|weight| *weight < at) as u64
        })
        .collect()
}

fn least_recently_used(trace: &[u64], room: usize) -> usize {
    let (mut times, mut order) = (HashMap::new(), BTreeMap::new());
    let mut hits = 0;
    for (now, key) in trace.iter().enumerate() {
        if let Some(before) = times.insert(*key, now) {
            hits += 1;
            order.remove(&before);
        }
        order.insert(now, *key);
        if order.len() > room {
            let (_, oldest) = order.pop_first().expect("there are some");
            times.remove(&oldest);
        }
    }
    hits
}

#[test]
fn more_reads_hit_than_with_least_recently_used() {
    let trace = trace();
    for bytes in [512 * 1024, 1 << 20, 2 << 20] {
        let cache = cache(bytes);
        let room = (cache.stats().size / 256) as usize;
        let hits = trace.iter().filter(|key| {
            let key = key.to_le_bytes();
            let hit = get(&cache, &key).is_some();
            if !hit {
                set(&cache, &key, &[7; 100]).expect("room");
            }
            hit
        });
        let (ours, theirs) = (hits.count(), least_recently_used(&trace, room));
        println!("{room} entries: {ours} hits, {theirs} with LRU, of {READS}");
        assert!(
            ours > theirs,
            "{room} entries: {ours} hits, {theirs} with LRU"
        );
    }
}
