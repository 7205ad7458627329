//! The payload of an entry, behind its fields and over all its cells: tags, key and value, each beginning at a new word.

use std::sync::atomic::Ordering;

use crate::entry::{HEAD, Head};
use crate::memory::{Cell, Memory};
use crate::words::AtomicU64;

/// The payload words of a chain. They end with the chain, or where a link is invalid.
#[derive(Debug, Clone)]
pub(crate) struct Words<'a> {
    memory: &'a Memory,
    rest: &'a [AtomicU64],
    next: Cell,
    /// Cells of the chain that may still follow, so that a circle ends.
    left: usize,
}

impl<'a> Words<'a> {
    /// Returns the rest of the current cell, or the whole next one.
    fn run(&mut self) -> Option<&'a [AtomicU64]> {
        if self.rest.is_empty() {
            if self.next == 0 || self.left == 0 {
                return None;
            }
            let cell = self.memory.cell(self.next);
            self.next = self.memory.next_cell(self.next);
            self.left -= 1;
            self.rest = &cell[1..];
        }
        Some(self.rest)
    }

    pub(crate) fn next(&mut self) -> Option<u64> {
        let run = self.run()?;
        self.rest = &run[1..];
        Some(run[0].load(Ordering::Relaxed))
    }

    pub(crate) fn skip(&mut self, mut words: usize) {
        while words > 0 {
            let Some(run) = self.run() else { return };
            let taken = words.min(run.len());
            self.rest = &run[taken..];
            words -= taken;
        }
    }

    pub(crate) fn put(&mut self, word: u64) {
        if let Some(run) = self.run() {
            run[0].store(word, Ordering::Relaxed);
            self.rest = &run[1..];
        }
    }

    pub(crate) fn put_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(run) = self.run() else { return };
            let taken = run.len().min(bytes.len() / 8);
            let (whole, rest) = bytes.split_at(taken * 8);
            for (word, bytes) in run.iter().zip(whole.as_chunks::<8>().0) {
                word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            }
            self.rest = &run[taken..];
            bytes = rest;
            if bytes.len() < 8 {
                break;
            }
        }
        if !bytes.is_empty() {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.put(u64::from_le_bytes(word));
        }
    }

    /// Appends `length` bytes; fewer if the chain ends before.
    pub(crate) fn take_bytes(&mut self, length: usize, into: &mut Vec<u8>) {
        let start = into.len();
        let mut words = length.div_ceil(8);
        into.reserve(words * 8);
        while words > 0 {
            let Some(run) = self.run() else { break };
            let taken = words.min(run.len());
            into.extend(
                run[..taken]
                    .iter()
                    .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()),
            );
            self.rest = &run[taken..];
            words -= taken;
        }
        into.truncate(start + length);
    }
}

impl Memory {
    pub(crate) fn next_cell(&self, cell: Cell) -> Cell {
        self.valid(self.cell(cell)[0].load(Ordering::Relaxed) & 0xffff_ffff)
    }

    pub(crate) fn set_next_cell(&self, cell: Cell, next: Cell) {
        let word = &self.cell(cell)[0];
        let others = word.load(Ordering::Relaxed) & !0xffff_ffff;
        word.store(others | u64::from(next), Ordering::Relaxed);
    }

    pub(crate) fn payload(&self, head: Cell) -> Words<'_> {
        Words {
            memory: self,
            rest: &self.cell(head)[HEAD..],
            next: self.next_cell(head),
            left: self.geometry.cells,
        }
    }

    pub(crate) fn key(&self, head: Head<'_>) -> Vec<u8> {
        let mut words = self.payload(head.cell);
        let mut key = Vec::new();
        words.skip(head.tags() * 2);
        words.take_bytes(head.key_length().min(crate::entry::MAX_KEY), &mut key);
        key
    }

    pub(crate) fn is_key(&self, head: Head<'_>, key: &[u8]) -> bool {
        let mut words = self.payload(head.cell);
        words.skip(head.tags() * 2);
        key.chunks(8).all(|chunk| {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            words.next() == Some(u64::from_le_bytes(bytes))
        })
    }

    /// Appends the bytes of the value to `into`.
    pub(crate) fn value(&self, head: Head<'_>, into: &mut Vec<u8>) {
        let mut words = self.payload(head.cell);
        words.skip(head.tags() * 2 + head.key_length().div_ceil(8));
        let most = self.geometry.cells * crate::geometry::CELL * 8;
        words.take_bytes(head.value_length().min(most), into);
    }
}
