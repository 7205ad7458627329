//! Operations of one process: values, conditions, numbers, tags, expiry, eviction.
#![forbid(unsafe_code)]

mod support;

use cache::{Cache, Claim, Condition, Encoding, Owner, Refused, Space, Stored, Write};
use support::{Random, cache, fake_clock, get, pass, set};

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
        condition: Condition::Equals(Encoding::Plain, 0, expected),
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
    assert!(!cache.is_current(&before.validators, 0));
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
        assert_eq!(copy.validators.len(), 3);
        assert!(cache.is_current(&copy.validators, 0));
        match end {
            "tag" => assert_eq!(cache.delete_tag(b"user"), Ok(true)),
            _ => cache.clear().unwrap(),
        }
        assert!(!cache.is_current(&copy.validators, 0));
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
    assert!(cache.is_current(&copy.validators, copy.expires) && get(&cache, b"k").is_some());
    assert_eq!(
        cache.claim(Space::Lock, b"l", Owner::here(8), 100),
        Ok(Claim::Held(Owner::here(7)))
    );
    pass(1);
    assert!(!cache.is_current(&copy.validators, copy.expires) && get(&cache, b"k").is_none());
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

/// The computed value is discarded, because it was made of older data.
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

/// Eviction is gradual: entries that are read stay, however many are written beside them.
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

/// Whatever another process writes into the memory, no operation panics or hangs.
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
