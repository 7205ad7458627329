//! The open connections of a thread, for the periodic sweep that closes those that have timed out.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::admission::{Admission, NotAdmitted, OpenConnections};
use crate::connection_state::{ConnectionState, LINGER, Phase, now_ms};
use crate::pace::MinPace;
use crate::settings::{Settings, or_longest};

/// The denominator of the fraction of idle connections that [`Connections::end_idle`] closes at a time.
const IDLE_PART: usize = 64;

/// Milliseconds during which a request may be on its way on a connection that looks idle.
const MOMENT: u64 = 250;

/// The open connections of a thread.
#[derive(Debug, Default)]
pub struct Connections {
    entries: RefCell<Vec<Option<Entry>>>,
    free: RefCell<Vec<usize>>,
    /// The counts of the process, with the connections of its other threads.
    in_process: Arc<OpenConnections>,
}

#[derive(Debug)]
struct Entry {
    state: Rc<ConnectionState>,
    address: Option<IpAddr>,
}

/// How long, in milliseconds, a client may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Before the first request, and while a head is received.
    pub header: u64,
    /// Between requests.
    pub idle: u64,
    /// While the server waits for more of a body.
    pub body: MinPace,
    /// While the server waits for room for more of a response.
    pub send: MinPace,
    /// How long a client may wait with its next request while this process drains; `None` if it does not.
    pub leaving: Option<u64>,
}

impl Timeouts {
    #[must_use]
    pub fn new(settings: &Settings, leaving: Option<u64>) -> Timeouts {
        let pace = |silence| MinPace {
            silence: or_longest(silence),
            rate: settings.min_rate,
        };
        Timeouts {
            header: or_longest(settings.header_timeout),
            idle: u64::try_from(settings.keepalive_timeout.as_millis()).unwrap_or(u64::MAX),
            body: pace(settings.body_timeout),
            send: pace(settings.send_timeout),
            leaving,
        }
    }
}

impl Timeouts {
    /// Returns the limit of a phase, if it has one.
    fn with(&self, phase: Phase) -> Option<u64> {
        match (phase, self.leaving) {
            (Phase::Busy | Phase::Sending, _) => None,
            (Phase::New | Phase::Idle, Some(leaving)) => Some(leaving),
            (Phase::New | Phase::Header, _) => Some(self.header),
            (Phase::Idle, None) => Some(self.idle),
            (Phase::Lingering, None) => Some(LINGER),
            (Phase::Lingering, Some(_)) => Some(0),
        }
    }
}

impl Connections {
    /// Makes an empty set. `in_process` is shared by all threads of the process.
    #[must_use]
    pub fn counted_in(in_process: Arc<OpenConnections>) -> Connections {
        Connections {
            in_process,
            ..Connections::default()
        }
    }

    /// Adds an open connection; returns the key for [`Connections::closed`].
    pub fn opened(&self, state: &Rc<ConnectionState>, address: Option<IpAddr>) -> usize {
        let mut entries = self.entries.borrow_mut();
        let key = self.free.borrow_mut().pop().unwrap_or_else(|| {
            entries.push(None);
            entries.len() - 1
        });
        entries[key] = Some(Entry {
            state: Rc::clone(state),
            address,
        });
        self.in_process.opened(address);
        key
    }

    pub fn closed(&self, key: usize) {
        if let Some(entry) = self.entries.borrow_mut()[key].take() {
            self.in_process.closed(entry.address);
        }
        self.free.borrow_mut().push(key);
    }

    /// Checks whether one more connection may be opened. With it there are `in_all` in all processes; of its address, other
    /// processes have `elsewhere`. At the limit, ends idle connections.
    ///
    /// # Errors
    /// If it may not.
    pub fn admit(
        &self,
        admission: &Admission,
        in_all: u64,
        (address, elsewhere): (Option<IpAddr>, u64),
    ) -> Result<(), NotAdmitted> {
        if admission.is_full_of(self.in_process.of(address) + elsewhere + 1) {
            return Err(NotAdmitted::FullOfAddress);
        }
        let here = self.in_process.count() + 1;
        if admission.is_full(in_all, here) && !self.end_idle() {
            return Err(NotAdmitted::Full);
        }
        Ok(())
    }

    /// Ends some of the connections that have been idle for longest; returns false if none is idle.
    pub fn end_idle(&self) -> bool {
        let entries = self.entries.borrow();
        let states = entries.iter().flatten().map(|entry| &entry.state);
        let before = now_ms().saturating_sub(MOMENT);
        let is_idle = |state: &&Rc<ConnectionState>| {
            matches!(state.phase(), Phase::New | Phase::Idle)
                && state.since() <= before
                && !state.is_ending()
        };
        let mut idle: Vec<_> = states.filter(is_idle).collect();
        // One scan of all connections makes room for several.
        let some = idle.len().div_ceil(IDLE_PART);
        if some < idle.len() {
            idle.select_nth_unstable_by_key(some, |state| state.since());
        }
        idle[..some].iter().for_each(|state| state.end());
        some > 0
    }

    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.entries.borrow().len() - self.free.borrow().len()
    }

    /// Returns the number of open connections of all threads of the process.
    pub fn in_process(&self) -> u64 {
        self.in_process.count()
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Ends the connections whose clients have been silent for too long.
    pub fn close_silent(&self, timeouts: &Timeouts) {
        let now = now_ms();
        let is_over = |since: u64, limit| now.saturating_sub(since) >= limit;
        for Entry { state, .. } in self.entries.borrow().iter().flatten() {
            state.check_pace(&timeouts.body, &timeouts.send, now);
            if timeouts
                .with(state.phase())
                .is_some_and(|limit| is_over(state.since(), limit))
            {
                state.end();
            }
        }
    }

    /// Closes all connections at once, whatever they are doing.
    pub fn cut_off(&self) {
        self.entries
            .borrow()
            .iter()
            .flatten()
            .for_each(|entry| entry.state.cut_off());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_place_is_used_again() {
        let connections = Connections::default();
        let state = Rc::new(ConnectionState::default());
        let keys = [0, 1, 2].map(|_| connections.opened(&state, None));
        assert_eq!((keys, connections.count()), ([0, 1, 2], 3));
        connections.closed(1);
        assert_eq!(
            (connections.count(), connections.opened(&state, None)),
            (2, 1)
        );
        keys.into_iter().for_each(|key| connections.closed(key));
        assert!(connections.is_empty());
    }

    #[test]
    fn at_the_limit_the_longest_idle_ends_and_else_nothing_is_admitted() {
        let settings = Settings {
            max_connections: 3,
            max_connections_per_address: 2,
            ..Settings::default()
        };
        let admission = Admission::new(&settings);
        let connections = Connections::default();
        let [one, two, three] = [1, 2, 3].map(|n| Some(IpAddr::from([192, 0, 2, n])));
        let in_all = || connections.count() as u64 + 1;
        let admit = |address| connections.admit(&admission, in_all(), (address, 0));
        let open = |address, phase| {
            assert_eq!(admit(address), Ok(()));
            let state = Rc::new(ConnectionState::default());
            state.enter(phase);
            state.set_since(now_ms() - MOMENT);
            (connections.opened(&state, address), state)
        };
        let (busy, idle) = (open(one, Phase::Busy), open(one, Phase::Idle));
        let full = Err(NotAdmitted::FullOfAddress);
        assert_eq!(admit(one), full);
        assert_eq!(connections.admit(&admission, in_all(), (two, 2)), full);
        let other = open(two, Phase::Header);
        assert_eq!(admit(three), Ok(()), "an idle one ends");
        assert!(idle.1.is_ending() && !busy.1.is_ending() && !other.1.is_ending());
        assert_eq!(admit(three), Err(NotAdmitted::Full));
        connections.closed(idle.0);
        assert_eq!((admit(three), admit(one)), (Ok(()), Ok(())));
    }

    #[test]
    fn who_leaves_waits_only_for_what_was_asked() {
        let settings = Settings {
            header_timeout: Duration::from_millis(1),
            keepalive_timeout: Duration::from_millis(2),
            ..Settings::default()
        };
        let timeouts = |leaving| Timeouts::new(&settings, leaving);
        for (phase, limit, when_leaving) in [
            (Phase::New, Some(1), Some(7)),
            (Phase::Header, Some(1), Some(1)),
            (Phase::Idle, Some(2), Some(7)),
            (Phase::Busy, None, None),
            (Phase::Sending, None, None),
            (Phase::Lingering, Some(LINGER), Some(0)),
        ] {
            assert_eq!(timeouts(None).with(phase), limit, "{phase:?}");
            assert_eq!(timeouts(Some(7)).with(phase), when_leaving, "{phase:?}");
        }
    }
}
