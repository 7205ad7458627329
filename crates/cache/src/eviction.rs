//! Eviction by S3-FIFO: a small queue for new entries, a main queue for entries that were read, and a record of the keys
//! evicted recently (ghosts).
//!
//! Yang, Zhang, Qiu, Yue, Rashmi: FIFO queues are all you need for cache eviction, SOSP 2023. An entry that is written and
//! not read again leaves through the small queue, a tenth of the memory, and evicts no entry that is read.

use std::sync::atomic::Ordering;

use crate::counters::Counter;
use crate::entry::{Head, Queue, Space};
use crate::memory::Memory;

/// The small queue's share of the cells: one in this number.
const SMALL: u64 = 10;

impl Memory {
    /// Evicts entries until `cells` cells are free; returns false if the rest cannot be evicted.
    pub(crate) fn make_room(&self, cells: usize, now: u64) -> bool {
        if cells > self.geometry.cells {
            return false;
        }
        // Each entry is considered at most four times, because at most three reads are counted.
        let mut steps = self.entries() * 4 + 16;
        while self.free_cells() < cells {
            if steps == 0 {
                return false;
            }
            steps -= 1;
            if !self.step(now) {
                // The queues are inconsistent.
                self.recover();
                steps = steps.min(self.entries() * 4);
            }
        }
        true
    }

    /// Considers one entry for eviction; returns false if the queue's next cell is no entry.
    fn step(&self, now: u64) -> bool {
        let is_full = self.queue_cells(Queue::Small) > self.geometry.cells as u64 / SMALL;
        let (small, main) = (self.oldest(Queue::Small), self.oldest(Queue::Main));
        let is_small = small != 0 && (is_full || main == 0);
        let head = self.head(if is_small { small } else { main });
        if head.cell == 0 || head.sequence() == 0 {
            return false;
        }
        if is_small {
            self.step_small(head, now);
        } else {
            self.step_main(head, now);
        }
        true
    }

    fn step_small(&self, head: Head<'_>, now: u64) {
        if !head.is_alive(now) {
            return self.expire(head, now);
        }
        let reads = self.reads(head.cell);
        if reads.load(Ordering::Relaxed) > 0 || head.space().is_some_and(Space::is_claim) {
            reads.store(0, Ordering::Relaxed);
            self.dequeue(head);
            return self.enqueue(head, Queue::Main);
        }
        self.set(self.ghost(head.hash()), head.hash());
        self.evict(head);
    }

    fn step_main(&self, head: Head<'_>, now: u64) {
        if !head.is_alive(now) {
            return self.expire(head, now);
        }
        let reads = self.reads(head.cell);
        let count = reads.load(Ordering::Relaxed);
        if count == 0 && !head.space().is_some_and(Space::is_claim) {
            return self.evict(head);
        }
        reads.store(count.min(3).saturating_sub(1), Ordering::Relaxed);
        self.dequeue(head);
        self.enqueue(head, Queue::Main);
    }

    fn evict(&self, head: Head<'_>) {
        self.count(Counter::Evicted, 1);
        self.remove(head);
    }

    fn expire(&self, head: Head<'_>, now: u64) {
        let counter = if head.is_expired(now) {
            Counter::Expired
        } else {
            Counter::Invalidated
        };
        self.count(counter, 1);
        self.remove(head);
    }

    fn ghost(&self, hash: u64) -> usize {
        self.geometry.at_ghosts() + ((hash >> 32) as usize & (self.geometry.ghosts - 1))
    }

    /// Returns the queue in which an entry of this key begins. A key that was evicted recently was evicted too early, and
    /// begins in the main queue.
    pub(crate) fn first_queue(&self, space: Space, hash: u64) -> Queue {
        if space == Space::Session {
            Queue::NewSession
        } else if self.get(self.ghost(hash)) == hash {
            Queue::Main
        } else {
            Queue::Small
        }
    }

    /// Removes an entry, which ends with the first store.
    pub(crate) fn remove(&self, head: Head<'_>) {
        // A swap is not reordered with later stores.
        self.sequence(head.cell).swap(0, Ordering::AcqRel);
        self.unlink(head);
        self.dequeue(head);
        self.release(head.cell, head.cells());
    }
}
