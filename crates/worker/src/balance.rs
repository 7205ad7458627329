//! Balances connections over the workers of direct dispatch.
//!
//! The kernel distributes connections by hash: of 64, one worker of four gets 9 and another 22, and every request of the 22
//! is slower for it. So all workers see how many connections each has ([`shm::ConnectionCounts`]), and a worker that accepts
//! one while it has clearly more than another hands it off before it reads from it. A handed-off connection is in the inbox
//! of the other worker's slot, of which the supervisor holds both ends: if that worker dies, its successor takes it.
//!
//! Connections that live for one request are not worth the effort: the number of hand-offs is limited (`TokenBucket`), which
//! costs connections that live long nothing.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::Duration;

use ipc::{Channel, HandOff};
use server::channel;
use shm::{ConnectionCounts, SlotCount};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::{AbortHandle, spawn_local};

use crate::connection;
use crate::io::reactor;
use crate::worker::Worker;
use http1::now_ms;

/// One worker's part in balancing.
pub(crate) struct Balancer {
    table: ConnectionCounts,
    slot: u32,
    pid: u32,
    /// The inbox of this worker's slot, until it is opened.
    inbox: Cell<Option<Channel>>,
    /// Inboxes of the slots after this one.
    partners: Vec<Channel>,
    /// Connections that have a guard.
    taken: Cell<u32>,
    tokens: TokenBucket,
    listening: RefCell<Option<AbortHandle>>,
}

/// The guard of a connection, which counts as open in this worker until the guard is dropped.
pub(crate) struct ConnectionGuard(Weak<Balancer>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let Some(balancer) = self.0.upgrade() {
            balancer.taken.set(balancer.taken.get() - 1);
            balancer.table.take(balancer.slot, balancer.pid);
        }
    }
}

/// The number of connections that may be handed off now: many at once, few in the long run.
struct TokenBucket {
    left: Cell<u32>,
    since: Cell<u64>,
}

impl TokenBucket {
    const MOST: u32 = 256;
    /// Milliseconds until one more may be handed off.
    const PACE: u64 = 10;

    fn try_take(&self, now: u64) -> bool {
        let earned = now.saturating_sub(self.since.get()) / Self::PACE;
        if earned > 0 {
            self.since.set(now);
            let left = u64::from(self.left.get()).saturating_add(earned);
            self.left
                .set(u32::try_from(left).map_or(Self::MOST, |left| left.min(Self::MOST)));
        }
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

/// The pause after an error such as a lack of descriptors, until some may have been freed.
const AGAIN: Duration = Duration::from_millis(100);

/// Whether `mine` is clearly more than `least`: this worker would still have more if one connection moved.
fn is_too_many(mine: u32, least: u32) -> bool {
    mine > least + 1 + least / 16
}

impl Balancer {
    /// Makes the balancer from the descriptors that came with `Fork`; `None` without them.
    pub(crate) fn new(slot: u32, fds: Vec<OwnedFd>) -> std::io::Result<Option<Balancer>> {
        let mut fds = fds.into_iter();
        let (Some(table), Some(inbox)) = (fds.next(), fds.next()) else {
            return Ok(None);
        };
        Ok(Some(Balancer {
            table: ConnectionCounts::map(&table)?,
            slot,
            pid: std::process::id(),
            inbox: Cell::new(Some(Channel::from(inbox))),
            partners: fds
                .inspect(|fd| reactor::add(fd.as_raw_fd()))
                .map(Channel::from)
                .collect(),
            taken: Cell::new(0),
            tokens: TokenBucket {
                left: Cell::new(TokenBucket::MOST),
                since: Cell::new(now_ms()),
            },
            listening: RefCell::default(),
        }))
    }

    /// Announces that this worker accepts connections from now on.
    pub(crate) fn open(self: &Rc<Self>, worker: &Rc<Worker>) -> std::io::Result<()> {
        let Some(inbox) = self.inbox.take() else {
            return Ok(());
        };
        let inbox = channel::watch(inbox, Interest::READABLE)?;
        self.table.enter(self.slot, self.pid);
        let task = spawn_local(listen(Rc::clone(worker), Rc::clone(self), inbox));
        *self.listening.borrow_mut() = Some(task.abort_handle());
        Ok(())
    }

    /// Announces that this worker takes no more connections. Those in its inbox are left to its successor, if it has one.
    pub(crate) fn leave(&self, has_successor: bool) {
        self.table.leave(self.slot, self.pid);
        if has_successor && let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }

    /// Returns the number of connections of all workers.
    pub(crate) fn total(&self) -> u64 {
        self.table.total()
    }

    /// Returns the number of connections from this address in all other workers.
    pub(crate) fn elsewhere_of(&self, address: IpAddr) -> u64 {
        self.table.elsewhere_of(self.slot, address)
    }

    /// Counts a connection from this address that was opened here.
    pub(crate) fn opened(&self, address: IpAddr) {
        self.table.add_of(self.slot, self.pid, address);
    }

    pub(crate) fn closed(&self, address: IpAddr) {
        self.table.take_of(self.slot, self.pid, address);
    }

    /// Counts one more connection of this worker; returns how many it has then, if its slot is counted.
    fn count(self: &Rc<Self>) -> (ConnectionGuard, Option<u32>) {
        self.taken.set(self.taken.get() + 1);
        (
            ConnectionGuard(Rc::downgrade(self)),
            self.table.add(self.slot, self.pid),
        )
    }

    /// Returns the partner with the fewest connections; the first of several.
    fn least(&self) -> Option<(u32, &Channel, SlotCount)> {
        let slots = self.table.slots();
        let partners = self.partners.iter().zip(1..);
        partners
            .filter_map(|(inbox, distance)| {
                let slot = (self.slot + distance) % slots;
                Some((slot, inbox, self.table.count_of(slot)?))
            })
            .min_by_key(|(_, _, count)| count.connections())
    }

    /// Hands the connection off to a worker that has clearly fewer than `mine`; returns false if it stays here.
    fn hand_over(&self, stream: &impl AsFd, mine: u32) -> bool {
        let Some((slot, inbox, count)) = self.least() else {
            return false;
        };
        if !is_too_many(mine, count.connections())
            || !self.tokens.try_take(now_ms())
            || !self.table.give(slot, count)
        {
            return false;
        }
        let given = inbox.try_send(&HandOff { pid: count.pid() }, &[stream.as_fd()]);
        if given.is_err() {
            // The inbox is full, or too many descriptors are in flight.
            self.table.take(slot, count.pid());
        }
        given.is_ok()
    }

    /// Returns a guard for a connection that came through the inbox, and was counted for the process `pid`.
    fn arrived(self: &Rc<Self>, pid: u32) -> ConnectionGuard {
        if pid == self.pid {
            self.taken.set(self.taken.get() + 1);
            return ConnectionGuard(Rc::downgrade(self));
        }
        self.table.take(self.slot, pid);
        self.count().0
    }
}

/// Counts a connection that this worker has accepted; returns it with its guard, or `None` if it was handed off.
pub(crate) fn accept_or_hand_off<S: AsFd>(
    worker: &Worker,
    stream: S,
) -> Option<(S, Option<ConnectionGuard>)> {
    let Some(balancer) = &worker.balancer else {
        return Some((stream, None));
    };
    let (guard, mine) = balancer.count();
    match mine {
        Some(mine) if balancer.hand_over(&stream, mine) => return None,
        Some(_) => {}
        // The slot is empty: a successor has started and exited.
        None if !worker.is_draining() => {
            let taken = balancer.taken.get();
            balancer
                .table
                .enter_again(balancer.slot, balancer.pid, taken);
        }
        None => {}
    }
    Some((stream, Some(guard)))
}

/// Serves connections that other workers hand off.
async fn listen(worker: Rc<Worker>, balancer: Rc<Balancer>, inbox: AsyncFd<Channel>) {
    loop {
        match channel::receive::<HandOff>(&inbox).await {
            Ok(Some((HandOff { pid }, mut fds))) => {
                let guard = balancer.arrived(pid);
                if let Some(fd) = fds.pop() {
                    connection::serve(&worker, fd, Some(guard));
                }
            }
            // The supervisor and all other workers have exited.
            Ok(None) => return,
            Err(error) => {
                logging::error!("cannot take a connection from another worker: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_one_is_none_and_of_many_a_sixteenth() {
        for (mine, least, too_many) in [
            (1, 0, false),
            (2, 0, true),
            (17, 16, false),
            (18, 16, false),
            (19, 16, true),
            (1050, 1000, false),
            (1064, 1000, true),
        ] {
            assert_eq!(is_too_many(mine, least), too_many, "{mine} and {least}");
        }
    }

    #[test]
    fn credit_is_earned_slowly_and_never_more_than_the_most() {
        let tokens = TokenBucket {
            left: Cell::new(2),
            since: Cell::new(1000),
        };
        let spend = |at, times| (0..times).filter(|_| tokens.try_take(at)).count();
        assert_eq!(spend(1000, 5), 2);
        assert_eq!(spend(1000 + TokenBucket::PACE - 1, 5), 0);
        assert_eq!(spend(1000 + 3 * TokenBucket::PACE, 5), 3);
        assert_eq!(spend(1_000_000, 500), TokenBucket::MOST as usize);
    }
}
