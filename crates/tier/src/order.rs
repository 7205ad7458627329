//! Decides whether an answer of Redis is still true when it is put into the memory.
//!
//! Operations on one key may be answered in another order than Redis has done them, and invalidations may be handled before
//! answers that Redis sent earlier. So an operation may leave a value in the memory only if, from its begin to its end, no
//! other operation of this server that changes one of its keys was under way, no invalidation of one arrived, and no answer
//! about one went to a caller. The last rule is needed because Redis sends invalidations only after the answers of the same
//! moment, so that answer may be newer.

use std::collections::{BTreeSet, HashMap};

/// The number of moved keys above which those are forgotten that no operation needs.
const REMEMBERED: usize = 4096;

/// The keys that have moved since the oldest operation under way began.
#[derive(Debug, Default)]
pub(crate) struct Order {
    now: u64,
    moved: HashMap<Vec<u8>, u64>,
    all_moved: u64,
    under_way: BTreeSet<u64>,
    changing: HashMap<Vec<u8>, usize>,
}

/// An operation that is under way.
#[derive(Debug)]
pub(crate) struct Ticket {
    began: u64,
    /// The keys that the operation changes, each once.
    changes: BTreeSet<Vec<u8>>,
}

impl Order {
    fn next(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    pub(crate) fn begin(&mut self, changes: impl IntoIterator<Item = Vec<u8>>) -> Ticket {
        let changes: BTreeSet<_> = changes.into_iter().collect();
        let began = self.next();
        self.under_way.insert(began);
        for key in &changes {
            self.moved.insert(key.clone(), began);
            *self.changing.entry(key.clone()).or_default() += 1;
        }
        Ticket { began, changes }
    }

    pub(crate) fn end(&mut self, ticket: Ticket) {
        self.under_way.remove(&ticket.began);
        for key in ticket.changes {
            match self.changing.get_mut(&key) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.changing.remove(&key)),
            }
            self.moves(&key);
        }
        if self.under_way.is_empty() {
            self.moved.clear();
        }
    }

    /// Notes that a key has moved: it was changed, or an answer about it went to a caller.
    pub(crate) fn moves(&mut self, key: &[u8]) {
        let now = self.next();
        self.moved.insert(key.to_vec(), now);
        if self.moved.len() > REMEMBERED {
            let oldest = self.under_way.first().copied().unwrap_or(u64::MAX);
            self.moved.retain(|_, moved| *moved > oldest);
        }
    }

    pub(crate) fn all_move(&mut self) {
        self.all_moved = self.next();
    }

    /// Returns whether no other operation has changed this key since the operation began, and none is about to.
    pub(crate) fn is_still(&self, ticket: &Ticket, key: &[u8]) -> bool {
        let own = usize::from(ticket.changes.contains(key));
        let others = self.changing.get(key).is_some_and(|count| *count > own);
        let moved = self.moved.get(key).copied().unwrap_or_default();
        !others && moved.max(self.all_moved) <= ticket.began
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<Vec<u8>> {
        Some(name.as_bytes().to_vec())
    }

    #[test]
    fn an_answer_is_kept_only_if_nothing_else_moved_its_key() {
        let mut order = Order::default();
        let read = order.begin(None);
        assert!(order.is_still(&read, b"a"));
        order.moves(b"a");
        assert!(!order.is_still(&read, b"a") && order.is_still(&read, b"b"));
        order.end(read);
        let read = order.begin(None);
        assert!(order.is_still(&read, b"a"), "it moved before");
        order.all_move();
        assert!(!order.is_still(&read, b"b"));
    }

    #[test]
    fn of_two_that_change_a_key_at_once_none_is_kept() {
        let mut order = Order::default();
        let first = order.begin(key("a"));
        assert!(order.is_still(&first, b"a"));
        let second = order.begin(key("a"));
        let read = order.begin(None);
        assert!(!order.is_still(&first, b"a") && !order.is_still(&second, b"a"));
        order.end(first);
        assert!(!order.is_still(&second, b"a"), "they overlapped");
        order.end(second);
        assert!(!order.is_still(&read, b"a"));
        order.end(read);
        let alone = order.begin(key("a"));
        assert!(order.is_still(&alone, b"a"));
    }
}
