//! All connections of a process, for the one clock that closes those that nothing comes from.

use std::cell::RefCell;
use std::rc::Rc;

use crate::life::{LEAVING, Life, Phase, now_ms};

/// Those that are open.
#[derive(Debug, Default)]
pub struct Connections {
    places: RefCell<Vec<Option<Rc<Life>>>>,
    free: RefCell<Vec<usize>>,
}

/// For how long, in milliseconds, a client may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Before a request, the first one too, and while its head comes.
    pub header: u64,
    /// Between requests.
    pub idle: u64,
    /// While more of a body is waited for, or room for more of an answer.
    pub stall: u64,
    /// If this process is about to leave: with a client that has asked for nothing.
    pub leaving: Option<u64>,
}

impl Patience {
    /// With a connection in this phase, where that has a limit.
    fn with(&self, phase: Phase) -> Option<u64> {
        match (phase, self.leaving) {
            (Phase::Busy | Phase::Sending, _) => None,
            (Phase::New | Phase::Idle, Some(leaving)) => Some(leaving),
            (Phase::New | Phase::Header, _) => Some(self.header),
            (Phase::Idle, None) => Some(self.idle),
            (Phase::Leaving, None) => Some(LEAVING),
            (Phase::Leaving, Some(_)) => Some(0),
        }
    }
}

impl Connections {
    /// One more is open; its key is for [`Connections::closed`].
    pub fn opened(&self, life: &Rc<Life>) -> usize {
        let mut places = self.places.borrow_mut();
        let key = self.free.borrow_mut().pop().unwrap_or_else(|| {
            places.push(None);
            places.len() - 1
        });
        places[key] = Some(Rc::clone(life));
        key
    }

    pub fn closed(&self, key: usize) {
        self.places.borrow_mut()[key] = None;
        self.free.borrow_mut().push(key);
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.places.borrow().len() - self.free.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// End those whose clients are silent for too long.
    pub fn close_silent(&self, patience: &Patience) {
        let now = now_ms();
        let is_over = |since: u64, limit| now.saturating_sub(since) >= limit;
        for life in self.places.borrow().iter().flatten() {
            let stalled = life.stalled_since();
            if stalled.is_some_and(|since| is_over(since, patience.stall)) {
                life.give_up();
            } else if patience
                .with(life.phase())
                .is_some_and(|limit| is_over(life.since(), limit))
            {
                life.end();
            }
        }
    }

    /// End all, whatever they are doing.
    pub fn cut_off(&self) {
        self.places
            .borrow()
            .iter()
            .flatten()
            .for_each(|life| life.cut_off());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again() {
        let connections = Connections::default();
        let life = Rc::new(Life::default());
        let keys = [0, 1, 2].map(|_| connections.opened(&life));
        assert_eq!((keys, connections.count()), ([0, 1, 2], 3));
        connections.closed(1);
        assert_eq!((connections.count(), connections.opened(&life)), (2, 1));
        keys.into_iter().for_each(|key| connections.closed(key));
        assert!(connections.is_empty());
    }

    #[test]
    fn who_leaves_waits_only_for_what_was_asked() {
        let patience = |leaving| Patience {
            header: 1,
            idle: 2,
            stall: 3,
            leaving,
        };
        for (phase, limit, when_leaving) in [
            (Phase::New, Some(1), Some(7)),
            (Phase::Header, Some(1), Some(1)),
            (Phase::Idle, Some(2), Some(7)),
            (Phase::Busy, None, None),
            (Phase::Sending, None, None),
            (Phase::Leaving, Some(LEAVING), Some(0)),
        ] {
            assert_eq!(patience(None).with(phase), limit, "{phase:?}");
            assert_eq!(patience(Some(7)).with(phase), when_leaving, "{phase:?}");
        }
    }
}
