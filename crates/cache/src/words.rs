//! The words of the memory, and its lock.
//!
//! With the feature `model` both are those of shuttle, which controls the order of all accesses: see `interleavings.rs`.

#[cfg(not(feature = "model"))]
pub(crate) use std::sync::atomic::AtomicU64;

#[cfg(not(feature = "model"))]
pub(crate) use shm::{Guard, Mapping, lock};

#[cfg(feature = "model")]
pub(crate) use model::{Guard, Mapping, lock};
#[cfg(feature = "model")]
pub(crate) use shuttle::sync::atomic::AtomicU64;

#[cfg(feature = "model")]
mod model {
    use std::ops::Deref;
    use std::sync::Arc;

    use shuttle::sync::atomic::AtomicU64;
    use shuttle::sync::{Mutex, MutexGuard};

    /// Memory of one process.
    #[derive(Debug, Clone)]
    pub(crate) struct Mapping {
        words: Arc<[AtomicU64]>,
        lock: Arc<Mutex<()>>,
    }

    impl Mapping {
        pub(crate) fn new(words: usize) -> Mapping {
            Mapping {
                words: (0..words).map(|_| AtomicU64::new(0)).collect(),
                lock: Arc::default(),
            }
        }
    }

    impl Deref for Mapping {
        type Target = [AtomicU64];

        fn deref(&self) -> &[AtomicU64] {
            &self.words
        }
    }

    /// The guard of the lock. No holder dies in a model: `tests/processes.rs` kills real ones.
    pub(crate) struct Guard<'a>(#[expect(dead_code, reason = "held")] MutexGuard<'a, ()>);

    impl Guard<'_> {
        pub(crate) fn is_abandoned(&self) -> bool {
            false
        }

        pub(crate) fn repaired(&mut self) {}
    }

    pub(crate) fn lock(mapping: &Mapping, _: usize) -> Option<Guard<'_>> {
        mapping.lock.lock().ok().map(Guard)
    }
}
