//! Request ids.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The source of one thread's request ids. They differ between processes, starts and threads, and increase within a thread;
/// 0 is no id.
#[derive(Debug)]
pub struct RequestIds {
    last: Cell<u64>,
    step: u64,
}

impl RequestIds {
    /// Makes the source of ids for the thread `index` of `threads`.
    #[must_use]
    pub fn new(index: u32, threads: u32) -> RequestIds {
        RequestIds {
            last: Cell::new(process_seed().wrapping_add(u64::from(index))),
            step: u64::from(threads),
        }
    }

    /// Returns the next id.
    pub fn next(&self) -> u64 {
        let id = self.last.get().wrapping_add(self.step).max(1);
        self.last.set(id);
        id
    }
}

/// Returns the number from which all threads of this process count.
fn process_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let start = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let start = u64::try_from(start.as_micros()).unwrap_or(0);
        (u64::from(std::process::id()) << 40) ^ (start << 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_give_different_ids_that_increase() {
        let threads = [RequestIds::new(0, 2), RequestIds::new(1, 2)];
        let [first, second] = threads.map(|ids| [ids.next(), ids.next(), ids.next()]);
        assert!(first.is_sorted() && second.is_sorted());
        assert!(first.iter().all(|id| !second.contains(id)));
    }
}
