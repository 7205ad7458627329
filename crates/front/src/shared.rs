//! State that the threads of the front share: limits hold for all threads together.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http1::OpenConnections;

/// The shared state, one for the process.
struct Shared {
    connections: Arc<OpenConnections>,
    admission: Mutex<()>,
    published: Vec<Published>,
    ready: AtomicU32,
    began: Instant,
    /// Since when requests wait, in microseconds after `began`; 0 while none do.
    filled: AtomicU64,
}

/// What other threads read of a thread; on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Published {
    /// Requests of the thread that wait for a worker, as it published last.
    waiting: AtomicUsize,
    /// Whether the thread is to end idle connections, because another thread has no room for a new one.
    is_to_end_idle: AtomicBool,
}

/// One thread's view of the shared state.
#[derive(Clone)]
pub(crate) struct Thread {
    index: u32,
    shared: Arc<Shared>,
}

impl Thread {
    /// Returns the views of all threads.
    pub(crate) fn all(number: u32) -> Vec<Thread> {
        let shared = Arc::new(Shared {
            connections: Arc::default(),
            admission: Mutex::default(),
            published: (0..number).map(|_| Published::default()).collect(),
            ready: AtomicU32::new(0),
            began: Instant::now(),
            filled: AtomicU64::new(0),
        });
        let thread = |index| Thread {
            index,
            shared: Arc::clone(&shared),
        };
        (0..number).map(thread).collect()
    }

    /// Returns the number of this thread, from 0.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    pub(crate) fn number(&self) -> u32 {
        self.shared.published.len() as u32
    }

    /// Notes that this thread is ready; returns true if all threads are.
    pub(crate) fn is_last_ready(&self) -> bool {
        self.shared.ready.fetch_add(1, Ordering::Relaxed) + 1 == self.number()
    }

    pub(crate) fn connections(&self) -> Arc<OpenConnections> {
        Arc::clone(&self.shared.connections)
    }

    /// Locks admission; held from reading the number of connections until the new one is counted.
    pub(crate) fn admission(&self) -> MutexGuard<'_, ()> {
        let admission = self.shared.admission.lock();
        admission.unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the number of requests of this thread that wait for a worker.
    pub(crate) fn set_waiting(&self, requests: usize) {
        let published = &self.shared.published[self.index as usize];
        published.waiting.store(requests, Ordering::Relaxed);
    }

    fn others(&self) -> impl Iterator<Item = &Published> {
        let all = (0..).zip(&self.shared.published);
        let others = all.filter(|(index, _)| *index != self.index);
        others.map(|(_, published)| published)
    }

    /// Returns how many requests wait in other threads.
    pub(crate) fn waiting_elsewhere(&self) -> usize {
        let waiting = |other: &Published| other.waiting.load(Ordering::Relaxed);
        self.others().map(waiting).sum()
    }

    /// Notes that a request of this thread waits since `now`.
    pub(crate) fn queue_filled(&self, now: Instant) {
        let filled = &self.shared.filled;
        if filled.load(Ordering::Relaxed) == 0 {
            let since = now.saturating_duration_since(self.shared.began);
            let since = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
            filled.store(since.max(1), Ordering::Relaxed);
        }
    }

    /// Notes that no request of this thread waits; if that holds for all threads, the queue is empty.
    pub(crate) fn queue_emptied(&self) {
        if self.waiting_elsewhere() == 0 {
            self.shared.filled.store(0, Ordering::Relaxed);
        }
    }

    /// Returns for how long the queue has not been empty; `None` if it is empty.
    pub(crate) fn queue_filled_for(&self) -> Option<Duration> {
        match self.shared.filled.load(Ordering::Relaxed) {
            0 => None,
            since => Some(
                self.shared
                    .began
                    .elapsed()
                    .saturating_sub(Duration::from_micros(since)),
            ),
        }
    }

    /// Makes the other threads end idle connections at their next tick: this thread has no room for a new connection, and
    /// no idle one to end.
    pub(crate) fn end_idle_of_others(&self) {
        self.others()
            .for_each(|other| other.is_to_end_idle.store(true, Ordering::Relaxed));
    }

    /// Whether another thread wants this one to end idle connections; true once for each time.
    pub(crate) fn is_to_end_idle(&self) -> bool {
        let published = &self.shared.published[self.index as usize];
        published.is_to_end_idle.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_sees_what_waits_in_the_others() {
        let threads = Thread::all(3);
        for (thread, requests) in threads.iter().zip([1, 20, 300]) {
            thread.set_waiting(requests);
        }
        let seen = threads.iter().map(Thread::waiting_elsewhere);
        assert_eq!(seen.collect::<Vec<_>>(), [320, 301, 21]);
        let ready = threads.iter().map(Thread::is_last_ready);
        assert_eq!(ready.collect::<Vec<_>>(), [false, false, true]);
        threads[1].end_idle_of_others();
        let signalled = threads.iter().map(Thread::is_to_end_idle);
        assert_eq!(signalled.collect::<Vec<_>>(), [true, false, true]);
    }
}
