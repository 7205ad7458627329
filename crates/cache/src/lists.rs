//! The free cells, and the queues in which entries wait for their eviction.

use crate::entry::{Head, Queue};
use crate::geometry::{AT_LISTS, AT_SESSIONS};
use crate::memory::{Cell, Memory};

const FREE: usize = AT_LISTS;
const FREE_COUNT: usize = AT_LISTS + 1;
/// The cells up to this one have been used; those behind were never touched.
const TOUCHED: usize = AT_LISTS + 2;
const ENTRIES: usize = AT_LISTS + 3;
/// Three words for each queue: the newest entry, the oldest entry, the number of cells.
const QUEUES: usize = AT_LISTS + 4;

impl Memory {
    pub(crate) fn free_cells(&self) -> usize {
        let untouched =
            self.geometry.cells as u64 - self.get(TOUCHED).min(self.geometry.cells as u64);
        (self.get(FREE_COUNT) + untouched) as usize
    }

    pub(crate) fn entries(&self) -> u64 {
        self.get(ENTRIES).min(self.geometry.cells as u64)
    }

    pub(crate) fn sessions(&self) -> u64 {
        self.get(AT_SESSIONS)
    }

    pub(crate) fn reset_lists(&self) {
        (AT_LISTS..QUEUES + 3 * 4).for_each(|at| self.set(at, 0));
        self.set(AT_SESSIONS, 0);
    }

    /// Sets the cell up to which all cells are in use or in the list of free cells.
    pub(crate) fn set_touched(&self, cell: Cell) {
        self.set(TOUCHED, u64::from(cell));
    }

    pub(crate) fn push_free(&self, cell: Cell) {
        self.set_next_cell(cell, self.valid(self.get(FREE)));
        self.set(FREE, u64::from(cell));
        self.set(FREE_COUNT, self.get(FREE_COUNT) + 1);
    }

    fn pop_free(&self) -> Cell {
        let cell = self.valid(self.get(FREE));
        if cell != 0 {
            self.set(FREE, u64::from(self.next_cell(cell)));
            self.set(FREE_COUNT, self.get(FREE_COUNT).saturating_sub(1));
            return cell;
        }
        let touched = self.get(TOUCHED);
        if touched >= self.geometry.cells as u64 {
            return 0;
        }
        self.set(TOUCHED, touched + 1);
        (touched + 1) as Cell
    }

    /// Allocates a chain of `count` cells. The caller has made room for them.
    pub(crate) fn allocate(&self, count: usize) -> Option<Cell> {
        let first = self.pop_free();
        let mut last = first;
        for _ in 1..count {
            let cell = self.pop_free();
            self.set_next_cell(last, cell);
            last = cell;
        }
        if last == 0 {
            return None;
        }
        self.set_next_cell(last, 0);
        Some(first)
    }

    pub(crate) fn release(&self, first: Cell, count: usize) {
        let mut cell = first;
        for _ in 0..count {
            let next = self.next_cell(cell);
            self.push_free(cell);
            cell = next;
            if cell == 0 {
                break;
            }
        }
    }

    fn newest(queue: Queue) -> usize {
        QUEUES + 3 * queue as usize
    }

    /// Returns the entry that is considered for eviction next.
    pub(crate) fn oldest(&self, queue: Queue) -> Cell {
        self.valid(self.get(Self::newest(queue) + 1))
    }

    /// Returns the entries of a queue, from the oldest on. Each may be removed once the iterator has returned it. There are
    /// no more than the memory has cells, so that a damaged queue that is a circle ends.
    pub(crate) fn queued(&self, queue: Queue) -> impl Iterator<Item = Head<'_>> {
        let mut cell = self.oldest(queue);
        let next = std::iter::from_fn(move || {
            let head = (cell != 0).then(|| self.head(cell))?;
            cell = head.newer();
            Some(head)
        });
        next.take(self.geometry.cells)
    }

    /// Returns the number of cells of all entries in a queue.
    pub(crate) fn queue_cells(&self, queue: Queue) -> u64 {
        self.get(Self::newest(queue) + 2)
    }

    pub(crate) fn enqueue(&self, head: Head<'_>, queue: Queue) {
        let at = Self::newest(queue);
        let newest = self.valid(self.get(at));
        head.set_queue(queue);
        head.set_neighbours(newest, 0);
        if newest == 0 {
            self.set(at + 1, u64::from(head.cell));
        } else {
            let before = self.head(newest);
            before.set_neighbours(before.older(), head.cell);
        }
        self.set(at, u64::from(head.cell));
        self.set(at + 2, self.get(at + 2) + head.cells() as u64);
        self.set(ENTRIES, self.get(ENTRIES) + 1);
        if matches!(queue, Queue::NewSession | Queue::Session) {
            self.set(AT_SESSIONS, self.sessions() + 1);
        }
    }

    pub(crate) fn dequeue(&self, head: Head<'_>) {
        let at = Self::newest(head.queue());
        let (older, newer) = (head.older(), head.newer());
        if newer == 0 {
            self.set(at, u64::from(older));
        } else {
            let after = self.head(newer);
            after.set_neighbours(older, after.newer());
        }
        if older == 0 {
            self.set(at + 1, u64::from(newer));
        } else {
            let before = self.head(older);
            before.set_neighbours(before.older(), newer);
        }
        self.set(at + 2, self.get(at + 2).saturating_sub(head.cells() as u64));
        self.set(ENTRIES, self.get(ENTRIES).saturating_sub(1));
        if matches!(head.queue(), Queue::NewSession | Queue::Session) {
            self.set(AT_SESSIONS, self.sessions().saturating_sub(1));
        }
    }
}
