//! Random numbers from a seed, the same on every machine: splitmix64.

/// A stream of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns the stream `part` of `seed`: parts do not depend on how much of the others was used.
    pub(crate) fn new(seed: u64, part: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ part);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `limit` - 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Returns true in `percent` of a hundred cases.
    pub(crate) fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
