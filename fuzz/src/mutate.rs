//! Inputs for a run on stable Rust: mutations as libFuzzer makes them, without coverage feedback.

/// Numbers at the limits of integer types, and separators and keywords of our formats.
const WORDS: &[&[u8]] = &[
    b"\0",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b" ",
    b":",
    b",",
    b"=",
    b"/",
    b"..",
    b"%2e",
    b"%2f",
    b"%00",
    b"?",
    b"\"",
    b"[",
    b"]",
    b"0",
    b"-1",
    b"4294967296",
    b"18446744073709551615",
    b"18446744073709551616",
    b"99999999999999999999999",
    b"\xff",
    b"\x80\x00\x00\x00",
    b"\x7f",
    b"chunked",
    b"close",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"5\r\nhello\r\n",
];

/// A random generator with a reproducible sequence for each seed (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 33) as usize).checked_rem(end).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[5]
    }

    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..start + self.below(length - start + 1)
    }
}

/// Longest input in bytes; longer ones are truncated, because the structure matters and not the length.
const LONGEST: usize = 16 << 10;

/// Returns an input of the corpus with one to eight mutations.
pub fn input(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus
        .get(random.below(corpus.len()))
        .cloned()
        .unwrap_or_default();
    for _ in 0..=random.below(8) {
        change(&mut bytes, corpus, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(9) {
        0 => bytes.insert(at, random.byte()),
        1 => drop(bytes.drain(random.part(bytes.len()))),
        2 => {
            let part = random.part(bytes.len());
            let copy = bytes[part].to_vec();
            bytes.splice(at..at, copy);
        }
        3 => {
            let word = WORDS[random.below(WORDS.len())];
            bytes.splice(at..at, word.iter().copied());
        }
        4 => {
            let word = WORDS[random.below(WORDS.len())];
            let end = bytes.len().min(at + word.len());
            bytes.splice(at..end, word.iter().copied());
        }
        5 => {
            let other = &corpus[random.below(corpus.len())];
            let part = random.part(other.len());
            bytes.splice(at..at, other[part].iter().copied());
        }
        6 => bytes.truncate(at),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = match random.below(3) {
                    0 => *byte ^ (1 << random.below(8)),
                    1 => byte.wrapping_add(1),
                    _ => random.byte(),
                };
            }
        }
    }
}
