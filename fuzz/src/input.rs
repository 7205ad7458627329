//! Input bytes split into the values that a target needs beside its main input.

/// A reader that takes parts off the front of the bytes; once they are used up it returns zeros or nothing, so every
/// input is valid.
#[derive(Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    /// Takes one byte.
    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(f, r)| (*f, r));
        self.0 = rest;
        first
    }

    /// Takes the bytes up to the next byte `end`, and that byte too.
    pub fn until(&mut self, end: u8) -> &'a [u8] {
        let at = self.0.iter().position(|byte| *byte == end);
        let taken = &self.0[..at.unwrap_or(self.0.len())];
        self.0 = &self.0[at.map_or(self.0.len(), |at| at + 1)..];
        taken
    }

    /// Takes the rest.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Cuts `bytes` into pieces, whose lengths follow from `seed`: 0 is all at once, 1 is byte by byte.
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
