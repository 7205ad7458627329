//! Random operations, compared with a map.
#![forbid(unsafe_code)]

mod support;

use std::collections::HashMap;

use cache::{Cache, Stored, Write};
use proptest::prelude::*;
use support::{Random, cache, fake_clock, get, pass, set};

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
    /// With room for all entries, the cache is a map with expiry and tags, and a copy is current exactly as long as its
    /// entry exists.
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
                    prop_assert!(cache.is_current(&found.validators, found.expires));
                }
            }
        }
    }

    /// However full the cache is, a read returns the value written last, or nothing; and all memory is accounted for.
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
