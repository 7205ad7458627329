//! What one process sees: values, conditions, numbers, tags, times, eviction.
#![forbid(unsafe_code)]

mod support;

use std::cell::Cell;
use std::collections::HashMap;

use cache::{Cache, Claim, Condition, Form, Owner, Refused, Space, Stored, Write};
use proptest::prelude::*;
use support::{Random, cache, get, set};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000) };
}

fn fake_clock() -> u64 {
    NOW.get()
}

fn pass(time: u64) {
    NOW.set(NOW.get() + time);
}

#[test]
fn values_of_all_sizes_come_back() {
    let cache = cache(1 << 20);
    for length in [0, 1, 7, 8, 191, 192, 193, 440, 441, 5000, 200_000] {
        let value: Vec<u8> = (0..length).map(|n| n as u8).collect();
        assert_eq!(set(&cache, b"key", &value), Ok(Stored::Yes));
        assert_eq!(get(&cache, b"key"), Some(value), "{length}");
    }
    assert_eq!(cache.delete(b"key"), Ok(true));
    assert_eq!(
        (get(&cache, b"key"), cache.delete(b"key")),
        (None, Ok(false))
    );
    assert_eq!((cache.stats().entries, cache.stats().used), (0, 0));
}

#[test]
fn what_cannot_be_written_is_refused() {
    let cache = cache(1 << 20);
    let most = cache.largest();
    assert_eq!(
        set(&cache, b"k", &vec![0; most + 100]),
        Err(Refused::TooLarge { most })
    );
    assert_eq!(set(&cache, b"", b"x"), Err(Refused::Key));
    assert_eq!(set(&cache, &[b'k'; 1025], b"x"), Err(Refused::Key));
    let tags = [&b"t"[..]; 65];
    assert_eq!(
        cache.write(&Write {
            tags: &tags,
            ..Write::plain(b"k", b"x")
        }),
        Err(Refused::Key)
    );
    assert_eq!(
        set(&cache, &[b'k'; 1024], &vec![0; most - 2000]),
        Ok(Stored::Yes)
    );
}

#[test]
fn conditions() {
    let cache = cache(1 << 20);
    let add = Write {
        condition: Condition::Absent,
        ..Write::plain(b"k", b"a")
    };
    assert_eq!(
        (cache.write(&add), cache.write(&add)),
        (Ok(Stored::Yes), Ok(Stored::No))
    );
    let swap = |expected, new| Write {
        condition: Condition::Equals(Form::Plain, 0, expected),
        ..Write::plain(b"k", new)
    };
    assert_eq!(cache.write(&swap(b"x", b"b")), Ok(Stored::No));
    assert_eq!(cache.write(&swap(b"a", b"b")), Ok(Stored::Yes));
    assert_eq!(get(&cache, b"k").as_deref(), Some(&b"b"[..]));
}

#[test]
fn numbers() {
    let cache = cache(1 << 20);
    let at = |key| Write::plain(key, b"");
    assert_eq!(cache.increment(3, &at(b"n")), Ok(3));
    let mut bytes = Vec::new();
    let before = cache.read(b"n", &mut bytes).unwrap().unwrap();
    assert_eq!(cache.increment(-5, &at(b"n")), Ok(-2));
    assert!(!cache.is_current(&before.marks, 0));
    assert_eq!(cache.read(b"n", &mut bytes).unwrap().unwrap().int, -2);
    set(&cache, b"text", b"x").unwrap();
    assert_eq!(cache.increment(1, &at(b"text")), Err(Refused::NotInt));
    cache.increment(i64::MAX, &at(b"high")).unwrap();
    assert_eq!(cache.increment(1, &at(b"high")), Err(Refused::Overflow));
}

#[test]
fn tags_and_clear_end_copies_and_entries() {
    let cache = cache(1 << 20);
    let tags = [&b"blog"[..], b"user"];
    let mut bytes = Vec::new();
    for end in ["tag", "clear"] {
        cache
            .write(&Write {
                tags: &tags,
                ..Write::plain(b"k", b"v")
            })
            .unwrap();
        let copy = cache.read(b"k", &mut bytes).unwrap().unwrap();
        assert_eq!(copy.marks.len(), 3);
        assert!(cache.is_current(&copy.marks, 0));
        match end {
            "tag" => assert_eq!(cache.delete_tag(b"user"), Ok(true)),
            _ => cache.clear().unwrap(),
        }
        assert!(!cache.is_current(&copy.marks, 0));
        assert_eq!(get(&cache, b"k"), None);
    }
    assert_eq!(cache.delete_tag(b"none"), Ok(false));
}

#[test]
fn values_and_claims_live_as_long_as_they_are_told_to() {
    let cache = cache(1 << 20).with_clock(fake_clock);
    cache
        .write(&Write {
            ttl: 100,
            fresh: 40,
            ..Write::plain(b"k", b"v")
        })
        .unwrap();
    let mut bytes = Vec::new();
    let copy = cache.read(b"k", &mut bytes).unwrap().unwrap();
    assert_eq!(
        (copy.expires - fake_clock(), copy.stale - fake_clock()),
        (100, 40)
    );
    let Ok(Claim::Taken(first)) = cache.claim(Space::Lock, b"l", Owner::here(7), 100) else {
        panic!()
    };
    pass(99);
    assert!(cache.is_current(&copy.marks, copy.expires) && get(&cache, b"k").is_some());
    assert_eq!(
        cache.claim(Space::Lock, b"l", Owner::here(8), 100),
        Ok(Claim::Held(Owner::here(7)))
    );
    pass(1);
    assert!(!cache.is_current(&copy.marks, copy.expires) && get(&cache, b"k").is_none());
    let Ok(Claim::Taken(second)) = cache.claim(Space::Lock, b"l", Owner::here(8), 100) else {
        panic!()
    };
    assert!(second > first);
    assert_eq!(cache.give_back(Space::Lock, b"l", first), Ok(false));
    assert_eq!(cache.extend(Space::Lock, b"l", second, 1000), Ok(true));
    pass(500);
    cache.clear().unwrap();
    assert_eq!(cache.holds_claim(Space::Lock, b"l", second), Ok(true));
    assert_eq!(cache.give_back(Space::Lock, b"l", second), Ok(true));
}

/// Its value was made of what was before.
#[test]
fn what_is_written_during_a_computation_stays() {
    let cache = cache(1 << 20);
    let computed = |token| {
        let condition = Condition::Claimed(token);
        cache.write(&Write {
            condition,
            ..Write::plain(b"k", b"computed")
        })
    };
    for before in [true, false] {
        for write in ["set", "increment", "none"] {
            let _ = cache.delete(b"k");
            if before {
                cache.increment(1, &Write::plain(b"k", b"")).unwrap();
            }
            let claim = cache.claim(Space::Computation, b"k", Owner::here(7), 1 << 40);
            let Ok(Claim::Taken(token)) = claim else {
                panic!("{claim:?}");
            };
            match write {
                "set" => assert_eq!(set(&cache, b"k", b"newer"), Ok(Stored::Yes)),
                "increment" => drop(cache.increment(1, &Write::plain(b"k", b"")).unwrap()),
                _ => {}
            }
            let stored = if write == "none" {
                Stored::Yes
            } else {
                Stored::No
            };
            assert_eq!(computed(token), Ok(stored), "{write} {before}");
            assert_eq!(cache.give_back(Space::Computation, b"k", token), Ok(true));
        }
    }
}

/// Nothing is wiped: what is read stays, whatever is poured in beside it.
#[test]
fn keys_that_are_read_survive_a_flood() {
    let cache = cache(4 << 20);
    let hot: Vec<Vec<u8>> = (0..400).map(|n| format!("hot:{n}").into_bytes()).collect();
    for key in &hot {
        set(&cache, key, key).unwrap();
    }
    for n in 0..20_000 {
        set(&cache, format!("cold:{n}").as_bytes(), &[7; 4096]).unwrap();
        let key = &hot[n % hot.len()];
        assert_eq!(get(&cache, key).as_ref(), Some(key), "after {n}");
    }
    let stats = cache.stats();
    assert!(stats.evicted > 19_000 && stats.refused == 0, "{stats:?}");
    assert!(stats.used * 100 > stats.size * 95, "{stats:?}");
}

#[test]
fn claims_are_not_evicted_and_a_cache_full_of_them_says_so() {
    let cache = cache(256 * 1024);
    let mut taken = 0;
    while let Ok(Claim::Taken(_)) = cache.claim(
        Space::Lock,
        format!("{taken}").as_bytes(),
        Owner::here(1),
        1 << 40,
    ) {
        taken += 1;
    }
    assert!(taken > 500);
    assert_eq!(set(&cache, b"k", b"v"), Err(Refused::Full));
    assert_eq!(
        cache.claim(Space::Lock, b"0", Owner::here(2), 1),
        Ok(Claim::Held(Owner::here(1)))
    );
}

#[test]
fn other_memory_is_no_cache() {
    let none = shm::create_file(c"other", 4096).unwrap();
    let error = Cache::map(&none).unwrap_err().to_string();
    assert!(error.contains("not a cache"), "{error}");
    let short = Cache::create(1 << 20).unwrap();
    let mapping = shm::Mapping::of(&short).unwrap();
    mapping[1].store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
    let error = Cache::map(&short).unwrap_err().to_string();
    assert!(error.contains("another size"), "{error}");
}

/// Whatever another process scribbles over it, nothing panics and nothing hangs.
#[test]
fn scribbled_memory_does_no_harm() {
    let mut random = Random(7);
    for _ in 0..100 {
        let fd = Cache::create(256 * 1024).unwrap();
        let (cache, words) = (Cache::map(&fd).unwrap(), shm::Mapping::of(&fd).unwrap());
        for n in 0..50_u64 {
            let key = n.to_le_bytes();
            let _ = set(&cache, &key, &vec![1; random.below(2000) as usize]);
        }
        for _ in 0..20 {
            let at = 16 + random.below(words.len() as u64 - 16) as usize;
            words[at].store(
                random.next() >> random.below(60),
                std::sync::atomic::Ordering::Relaxed,
            );
        }
        for n in 0..100_u64 {
            let _ = get(&cache, &n.to_le_bytes());
            let _ = set(
                &cache,
                &n.to_le_bytes(),
                &vec![2; random.below(9000) as usize],
            );
        }
        let _ = (cache.clear(), cache.largest_entries(10), cache.stats());
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Set(u8, u16, u64, Option<u8>),
    Delete(u8),
    DeleteTag(u8),
    Increment(u8, i8),
    Clear,
    Pass(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let ttl = prop_oneof![Just(0_u64), 1..200_u64];
    prop_oneof![
        8 => (0..20_u8, 0..3000_u16, ttl, proptest::option::of(0..3_u8))
            .prop_map(|(key, length, ttl, tag)| Operation::Set(key, length, ttl, tag)),
        2 => (0..20_u8).prop_map(Operation::Delete),
        1 => (0..3_u8).prop_map(Operation::DeleteTag),
        2 => (100..105_u8, any::<i8>()).prop_map(|(key, by)| Operation::Increment(key, by)),
        1 => Just(Operation::Clear),
        3 => (1..60_u64).prop_map(Operation::Pass),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Model {
    bytes: Vec<u8>,
    int: i64,
    expires: u64,
    tag: Option<u8>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// With room for all, it is a map with times and tags, and each copy is good exactly as long as its entry is there.
    #[test]
    fn it_is_a_map(operations in proptest::collection::vec(operation(), 1..120)) {
        let cache = cache(1 << 20).with_clock(fake_clock);
        let mut model: HashMap<u8, Model> = HashMap::new();
        for operation in operations {
            perform(&cache, &mut model, &operation);
            model.retain(|_, entry| entry.expires == 0 || entry.expires > fake_clock());
            let mut bytes = Vec::new();
            for key in (0..20).chain(100..105) {
                let found = cache.read(&[key], &mut bytes).unwrap();
                let expected = model.get(&key);
                prop_assert_eq!(found.is_some(), expected.is_some(), "{}", key);
                if let (Some(found), Some(expected)) = (found, expected) {
                    prop_assert_eq!((&bytes, found.int), (&expected.bytes, expected.int));
                    prop_assert!(cache.is_current(&found.marks, found.expires));
                }
            }
        }
    }

    /// However full it is, what is read is what was written last, or nothing; and all memory is accounted for.
    #[test]
    fn eviction_never_mixes_values(seed in 1..u64::MAX) {
        let cache = cache(256 * 1024);
        let mut random = Random(seed);
        let mut last = HashMap::new();
        for _ in 0..2000 {
            let key = random.below(300).to_le_bytes();
            let value = vec![random.next() as u8; random.below(8000) as usize];
            prop_assert_eq!(set(&cache, &key, &value), Ok(Stored::Yes));
            last.insert(key, value);
            let key = random.below(300).to_le_bytes();
            if let Some(value) = get(&cache, &key) {
                prop_assert_eq!(Some(&value), last.get(&key));
            }
        }
        cache.clear().unwrap();
        prop_assert_eq!(cache.stats().used, 0);
    }
}

fn perform(cache: &Cache, model: &mut HashMap<u8, Model>, operation: &Operation) {
    match *operation {
        Operation::Set(key, length, ttl, tag) => {
            let bytes = vec![key ^ length as u8; usize::from(length)];
            let name = tag.map(|tag| [tag]);
            let tags: Vec<&[u8]> = name.iter().map(|tag| &tag[..]).collect();
            let write = Write {
                ttl,
                tags: &tags,
                ..Write::plain(std::slice::from_ref(&key), &bytes)
            };
            cache.write(&write).unwrap();
            let expires = if ttl == 0 { 0 } else { fake_clock() + ttl };
            model.insert(
                key,
                Model {
                    bytes: bytes.clone(),
                    int: 0,
                    expires,
                    tag,
                },
            );
        }
        Operation::Delete(key) => {
            assert_eq!(cache.delete(&[key]).unwrap(), model.remove(&key).is_some());
        }
        Operation::DeleteTag(tag) => {
            cache.delete_tag(&[tag]).unwrap();
            model.retain(|_, entry| entry.tag != Some(tag));
        }
        Operation::Increment(key, by) => {
            let empty = Model {
                bytes: Vec::new(),
                int: 0,
                expires: 0,
                tag: None,
            };
            let entry = model.entry(key).or_insert(empty);
            entry.int += i64::from(by);
            assert_eq!(
                cache.increment(i64::from(by), &Write::plain(&[key], b"")),
                Ok(entry.int)
            );
        }
        Operation::Clear => {
            cache.clear().unwrap();
            model.clear();
        }
        Operation::Pass(time) => pass(time),
    }
}
