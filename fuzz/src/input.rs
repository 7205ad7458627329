//! Bytes as several things: what a target needs beside its main input.

/// Takes parts off the front of the bytes; what has run out is zero or empty, so every input means something.
#[derive(Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(f, r)| (*f, r));
        self.0 = rest;
        first
    }

    /// Up to the next byte `end`, which is taken too.
    pub fn until(&mut self, end: u8) -> &'a [u8] {
        let at = self.0.iter().position(|byte| *byte == end);
        let taken = &self.0[..at.unwrap_or(self.0.len())];
        self.0 = &self.0[at.map_or(self.0.len(), |at| at + 1)..];
        taken
    }

    /// Everything else.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `bytes` in pieces, whose lengths follow from `seed`: 0 is all at once, 1 is byte by byte.
pub fn pieces(bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    if bytes.is_empty() {
        return Vec::new();
    }
    match seed {
        0 => vec![bytes],
        1 => bytes.chunks(1).collect(),
        _ => {
            let (mut pieces, mut rest, mut state) = (Vec::new(), bytes, u32::from(seed));
            while !rest.is_empty() {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let length = 1 + (state >> 16) as usize % 23;
                let (piece, after) = rest.split_at(length.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces
        }
    }
}
