//! Operations on several keys, and keys that a second tier is known not to have.
#![forbid(unsafe_code)]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use cache::{Cache, Known, Refused, Stored, Tier, Write};
use support::{cache, get, set};

fn keys(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|n| format!("key {n}").into_bytes())
        .collect()
}

fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

/// Returns the values, empty where there is none.
fn read(cache: &Cache, keys: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let known = cache.read_many(&slices(keys), &mut bytes).expect("read");
    let value = |known| match known {
        Known::Value(_, range) => bytes[range].to_vec(),
        Known::Absent | Known::Unknown => Vec::new(),
    };
    known.into_iter().map(value).collect()
}

#[test]
fn each_key_of_a_batch_is_what_it_is_alone() {
    let cache = cache(1 << 20);
    let keys = keys(700);
    let values: Vec<Vec<u8>> = (0..700).map(|n| vec![7; n % 90 + 1]).collect();
    let writes: Vec<Write<'_>> = keys
        .iter()
        .zip(&values)
        .map(|(key, value)| Write::plain(key, value))
        .collect();
    assert_eq!(cache.write_many(&writes), vec![Ok(Stored::Yes); 700]);
    assert_eq!(read(&cache, &keys), values);
    assert_eq!(get(&cache, &keys[699]).as_ref(), Some(&values[699]));
    let some = slices(&keys[..600]);
    assert_eq!(cache.delete_many(&some), Ok(vec![true; 600]));
    let twice = [some[0], &keys[650], &keys[650], &keys[651]];
    assert_eq!(
        cache.delete_many(&twice),
        Ok(vec![false, true, false, true])
    );
    let again = [
        Write::plain(&keys[650], &values[650]),
        Write::plain(&keys[651], &values[651]),
    ];
    assert_eq!(cache.write_many(&again), vec![Ok(Stored::Yes); 2]);
    assert_eq!(read(&cache, &keys)[600..], values[600..]);
    assert!(read(&cache, &keys)[..600].iter().all(Vec::is_empty));
    let huge = vec![0; 1 << 20];
    let done = cache.write_many(&[
        Write::plain(b"a", b"1"),
        Write::plain(b"b", &huge),
        Write::plain(b"", b"2"),
    ]);
    assert!(matches!(done[1], Err(Refused::TooLarge { .. })));
    assert_eq!((done[0], done[2]), (Ok(Stored::Yes), Err(Refused::Key)));
}

#[test]
fn several_tags_end_in_one_step() {
    let cache = cache(1 << 20);
    for (key, tags) in [
        (b"a", &[&b"x"[..], b"y"][..]),
        (b"b", &[b"y"]),
        (b"c", &[b"z"]),
        (b"d", &[]),
    ] {
        let write = Write {
            tags,
            ..Write::plain(key, b"1")
        };
        assert_eq!(cache.write(&write), Ok(Stored::Yes));
    }
    assert_eq!(cache.delete_tags(&[b"y", b"none", b"z", b"z"]), Ok(2));
    let left = [b"a", b"b", b"c", b"d"].map(|key| get(&cache, key).is_some());
    assert_eq!(left, [false, false, false, true]);
    assert_eq!(cache.delete_tags(&[]), Ok(0));
}

/// The lock is taken once: no other process sees a half-done batch.
#[test]
fn a_batch_is_one_step() {
    let cache = cache(1 << 20);
    let keys = keys(100);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..3000_u32 {
                let value = round.to_le_bytes();
                let writes: Vec<_> = keys.iter().map(|key| Write::plain(key, &value)).collect();
                cache.write_many(&writes);
            }
            over.store(true, Ordering::Relaxed);
        });
        while !over.load(Ordering::Relaxed) {
            let values = read(&cache, &keys);
            assert!(values.iter().all(|value| *value == values[0]));
        }
    });
}

fn known(cache: &Cache, key: &[u8]) -> Known {
    cache.read_known(key, &mut Vec::new()).expect("read")
}

#[test]
fn an_absence_is_known_until_the_key_is_written_or_forgotten() {
    let cache = cache(1 << 20);
    cache.set_tier(Tier::There);
    let ends: [fn(&Cache); 5] = [
        |cache| assert!(set(cache, b"k", b"1").is_ok()),
        |cache| assert_eq!(cache.increment(1, &Write::plain(b"k", b"")), Ok(1)),
        |cache| cache.forget(b"k"),
        Cache::forget_all,
        |cache| drop::<Vec<_>>(cache.write_many(&[Write::plain(b"k", b"1")])),
    ];
    for end in ends {
        assert_eq!(known(&cache, b"k"), Known::Unknown);
        cache.note_absent(b"k").expect("room");
        assert_eq!(known(&cache, b"k"), Known::Absent);
        assert_eq!(get(&cache, b"k"), None);
        assert_eq!(cache.largest_entries(9).expect("read"), []);
        end(&cache);
        assert_ne!(known(&cache, b"k"), Known::Absent);
        cache.forget(b"k");
    }
    assert_eq!(cache.stats().entries, 0);
}
