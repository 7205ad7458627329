//! Spreads connections evenly over the workers of direct dispatch.
//!
//! The kernel deals connections by hash: of 64, one worker of four gets 9 and another 22, and every request of the 22
//! pays for it. So all see how many each has ([`shm::ConnectionCounts`]), and a worker that accepts one while it has clearly
//! more than another hands it over before anything is read of it. A connection on its way lies in the inbox of its slot,
//! of which the supervisor holds both ends: if the worker there dies, its successor finds it.
//!
//! Connections that live for one request are not worth the trouble: hand-overs are limited in number (`TokenBucket`), which
//! costs those that live long nothing.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::time::Duration;

use ipc::{Channel, HandOff};
use server::channel;
use shm::{ConnectionCounts, SlotCount};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::{AbortHandle, spawn_local};

use crate::connection;
use crate::worker::Worker;
use http1::now_ms;

/// One worker's part in it.
pub(crate) struct Balancer {
    table: ConnectionCounts,
    slot: u32,
    pid: u32,
    /// Until it is open.
    inbox: Cell<Option<Channel>>,
    /// Inboxes of the slots behind this one.
    partners: Vec<Channel>,
    /// Connections that have a guard.
    taken: Cell<u32>,
    tokens: TokenBucket,
    listening: RefCell<Option<AbortHandle>>,
}

/// A connection's; it counts as open here until this is dropped.
pub(crate) struct ConnectionGuard(Weak<Balancer>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let Some(balancer) = self.0.upgrade() {
            balancer.taken.set(balancer.taken.get() - 1);
            balancer.table.take(balancer.slot, balancer.pid);
        }
    }
}

/// How many connections may be handed over now: many at once, few in the long run.
struct TokenBucket {
    left: Cell<u32>,
    since: Cell<u64>,
}

impl TokenBucket {
    const MOST: u32 = 256;
    /// Milliseconds until one more may be.
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

/// Out of descriptors: try again when something may have been freed.
const AGAIN: Duration = Duration::from_millis(100);

/// Clearly more: the difference would stay if this one went.
fn is_too_many(mine: u32, least: u32) -> bool {
    mine > least + 1 + least / 16
}

impl Balancer {
    /// From the descriptors that came with `Fork`; `None` without.
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
            partners: fds.map(Channel::from).collect(),
            taken: Cell::new(0),
            tokens: TokenBucket {
                left: Cell::new(TokenBucket::MOST),
                since: Cell::new(now_ms()),
            },
            listening: RefCell::default(),
        }))
    }

    /// This worker accepts connections from now on.
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

    /// It takes no more. What lies in its inbox is left to its successor, if it has one.
    pub(crate) fn leave(&self, has_successor: bool) {
        self.table.leave(self.slot, self.pid);
        if has_successor && let Some(listening) = self.listening.take() {
            listening.abort();
        }
    }

    /// Connections of all workers.
    pub(crate) fn total(&self) -> u64 {
        self.table.total()
    }

    /// Connections that all other workers have of this address.
    pub(crate) fn elsewhere_of(&self, address: IpAddr) -> u64 {
        self.table.elsewhere_of(self.slot, address)
    }

    /// A connection of this address was opened here.
    pub(crate) fn opened(&self, address: IpAddr) {
        self.table.add_of(self.slot, self.pid, address);
    }

    pub(crate) fn closed(&self, address: IpAddr) {
        self.table.take_of(self.slot, self.pid, address);
    }

    /// Count one more of ours; how many that makes, if they are counted.
    fn count(self: &Rc<Self>) -> (ConnectionGuard, Option<u32>) {
        self.taken.set(self.taken.get() + 1);
        (
            ConnectionGuard(Rc::downgrade(self)),
            self.table.add(self.slot, self.pid),
        )
    }

    /// The partner with the fewest connections; the first of several.
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

    /// Hand it to a worker that has clearly fewer than these; false if it stays here.
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
            // Its inbox is full, or too many descriptors are on their way.
            self.table.take(slot, count.pid());
        }
        given.is_ok()
    }

    /// A guard for one that came through the inbox, counted for the process `pid`.
    fn arrived(self: &Rc<Self>, pid: u32) -> ConnectionGuard {
        if pid == self.pid {
            self.taken.set(self.taken.get() + 1);
            return ConnectionGuard(Rc::downgrade(self));
        }
        self.table.take(self.slot, pid);
        self.count().0
    }
}

/// A connection that this worker has accepted: with its guard here, or `None` when another worker has it now.
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
        // A successor has come and gone: the slot is empty.
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

/// Serve what other workers hand over.
async fn listen(worker: Rc<Worker>, balancer: Rc<Balancer>, inbox: AsyncFd<Channel>) {
    loop {
        match channel::receive::<HandOff>(&inbox).await {
            Ok(Some((HandOff { pid }, mut fds))) => {
                let guard = balancer.arrived(pid);
                if let Some(fd) = fds.pop() {
                    connection::serve(&worker, fd, Some(guard));
                }
            }
            // The supervisor has gone, and all other workers.
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
