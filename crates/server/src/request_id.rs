//! Ids of requests.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The ids that one thread gives. They differ between processes, starts and threads, and increase within one; 0 is none.
#[derive(Debug)]
pub struct RequestIds {
    last: Cell<u64>,
    step: u64,
}

impl RequestIds {
    /// For the thread `index` of `threads`.
    #[must_use]
    pub fn new(index: u32, threads: u32) -> RequestIds {
        RequestIds {
            last: Cell::new(process_seed().wrapping_add(u64::from(index))),
            step: u64::from(threads),
        }
    }

    /// The next id.
    pub fn next(&self) -> u64 {
        let id = self.last.get().wrapping_add(self.step).max(1);
        self.last.set(id);
        id
    }
}

/// All threads of a process count from the same number.
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
