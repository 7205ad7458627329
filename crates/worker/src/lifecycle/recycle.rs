//! Recycling: this worker asks to be replaced after a number of requests, or when it uses too much memory of its own.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::FileExt;

/// The limits from which a worker is recycled, and how much of them is used up.
pub(crate) struct RecyclePolicy {
    /// Requests that are left; `None` is no limit.
    requests: Cell<Option<u32>>,
    /// The limit of memory in bytes.
    memory: u64,
    /// Pages that were resident and of no file when the worker began: it shares them with the zygote.
    shared: u64,
    statm: Option<File>,
    reason: RefCell<Option<String>>,
}

impl RecyclePolicy {
    /// Makes the policy from the settings `requests` and `memory`; 0 is no limit.
    pub(crate) fn new(requests: u32, memory: u64) -> RecyclePolicy {
        let statm = (memory > 0)
            .then(|| File::open("/proc/self/statm").ok())
            .flatten();
        let spread = spread();
        let requests = spread(u64::from(requests));
        RecyclePolicy {
            requests: Cell::new(
                (requests > 0).then(|| u32::try_from(requests).unwrap_or(u32::MAX)),
            ),
            memory: spread(memory),
            shared: statm.as_ref().map_or(0, own_pages),
            statm,
            reason: RefCell::default(),
        }
    }

    /// Checks the limits after a request; returns true the first time that one is reached.
    pub(crate) fn check(&self) -> bool {
        if self.reason.borrow().is_some() {
            return false;
        }
        let reason = self.by_requests().or_else(|| self.by_memory());
        let wants_recycle = reason.is_some();
        self.reason.replace(reason);
        wants_recycle
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.borrow().clone()
    }

    fn by_requests(&self) -> Option<String> {
        let left = self.requests.get()?.saturating_sub(1);
        self.requests.set(Some(left));
        (left == 0).then(|| "workers.max_requests".to_owned())
    }

    fn by_memory(&self) -> Option<String> {
        let pages = own_pages(self.statm.as_ref()?).saturating_sub(self.shared);
        let bytes = pages * rustix::param::page_size() as u64;
        (bytes > self.memory).then(|| {
            format!(
                "workers.max_memory: {:.1} MB of its own",
                bytes as f64 / 1e6
            )
        })
    }
}

/// Returns the number of pages that are resident and of no file, from `/proc/self/statm`; 0 if that cannot be read.
fn own_pages(statm: &File) -> u64 {
    let mut buffer = [0; 128];
    let length = statm.read_at(&mut buffer, 0).unwrap_or(0);
    let text = std::str::from_utf8(&buffer[..length]).unwrap_or("");
    let mut numbers = text.split(' ').map(|word| word.parse().unwrap_or(0));
    let resident: u64 = numbers.nth(1).unwrap_or(0);
    resident.saturating_sub(numbers.next().unwrap_or(0))
}

/// Returns a function that changes limits by up to 10 %, so that workers that began together are not recycled together.
fn spread() -> impl Fn(u64) -> u64 {
    let random = RandomState::new().hash_one(std::process::id()) % 201;
    move |limit| {
        let spread = u128::from(limit) * u128::from(900 + random) / 1000;
        u64::try_from(spread).unwrap_or(u64::MAX).max(limit.min(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_spread_by_a_tenth() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            let limit = spread()(1000);
            assert!((900..=1100).contains(&limit), "{limit}");
            seen.insert(limit);
        }
        assert!(seen.len() > 20, "{seen:?}");
        assert_eq!([spread()(0), spread()(1)], [0, 1]);
    }

    #[test]
    fn a_worker_is_recycled_once_by_requests() {
        let policy = RecyclePolicy::new(1, 0);
        assert!(policy.reason().is_none());
        assert!(policy.check());
        assert_eq!(policy.reason().as_deref(), Some("workers.max_requests"));
        assert!(!policy.check(), "once only");
        let none = RecyclePolicy::new(0, 0);
        assert!((0..10_000).all(|_| !none.check()));
    }

    #[test]
    fn memory_of_its_own_recycles_it() {
        let policy = RecyclePolicy::new(0, 32 << 20);
        assert!(!policy.check());
        let grown = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(policy.check(), "{}", grown.len());
        assert!(
            policy
                .reason()
                .is_some_and(|reason| reason.starts_with("workers.max_memory: "))
        );
    }
}
