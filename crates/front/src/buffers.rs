//! Buffers for requests and responses, reused within a thread.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Unused buffers that a thread keeps, and the largest capacity of each in bytes.
const MOST: usize = 64;
const BYTES: usize = 4 * 1024;

thread_local! {
    static FREE_LIST: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A byte vector whose memory the next buffer reuses.
#[derive(Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// Returns an empty buffer.
    pub(crate) fn new() -> Buffer {
        let used = FREE_LIST.with_borrow_mut(Vec::pop);
        Buffer(used.unwrap_or_default())
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0);
        if bytes.capacity() > BYTES {
            return;
        }
        bytes.clear();
        // At the end of the thread the list is gone; the buffer is simply freed.
        let _ = FREE_LIST.try_with(|list| {
            let mut list = list.borrow_mut();
            if list.len() < MOST {
                list.push(bytes);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_but_not_much_of_it() {
        let mut small = Buffer::new();
        small.extend_from_slice(b"abc");
        let place = small.as_ptr();
        drop(small);
        let again = Buffer::new();
        assert!(again.is_empty() && again.as_ptr() == place);
        let mut large = Buffer::new();
        large.reserve(BYTES + 1);
        drop(large);
        assert_eq!(Buffer::new().capacity(), 0);
    }
}
