//! Helpers of the cache's tests.
#![allow(dead_code, unreachable_pub, reason = "each test uses some of it")]

use std::cell::Cell;

use cache::{Cache, Refused, Stored, Write};

pub fn cache(bytes: u64) -> Cache {
    Cache::map(&Cache::create(bytes).expect("memory")).expect("a cache")
}

pub fn set(cache: &Cache, key: &[u8], bytes: &[u8]) -> Result<Stored, Refused> {
    cache.write(&Write::plain(key, bytes))
}

pub fn get(cache: &Cache, key: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    cache
        .read(key, &mut bytes)
        .expect("not stuck")
        .map(|_| bytes)
}

/// A generator of pseudo-random numbers, the same ones in each run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(1_000_000) };
}

/// Returns the time of this thread's test, in microseconds.
pub fn fake_clock() -> u64 {
    NOW.get()
}

pub fn pass(time: u64) {
    NOW.set(NOW.get() + time);
}
