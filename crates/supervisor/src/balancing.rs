//! Shared memory and sockets by which workers hand each other connections in direct dispatch: the kernel distributes them by
//! hash, 9 to one worker and 22 to another.
//!
//! Each slot has an inbox, a socket pair of which this process keeps both ends for the server's life: a connection on its
//! way to a worker that dies waits for the successor, and the end of one worker never closes another's inbox.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ipc::Channel;
use shm::ConnectionCounts;

/// The most slots behind its own to which a worker hands connections over; each costs it a descriptor.
const PARTNERS: u32 = 32;

#[derive(Debug)]
pub(crate) struct Balancing {
    table: ConnectionCounts,
    fd: OwnedFd,
    inboxes: Vec<Inbox>,
}

#[derive(Debug)]
struct Inbox {
    give: Channel,
    take: Channel,
}

impl Balancing {
    pub(crate) fn new(slots: u32) -> io::Result<Balancing> {
        let fd = ConnectionCounts::create(slots)?;
        let inbox = |_| Channel::pair().map(|(give, take)| Inbox { give, take });
        Ok(Balancing {
            table: ConnectionCounts::map(&fd)?,
            fd,
            inboxes: (0..slots).map(inbox).collect::<io::Result<_>>()?,
        })
    }

    /// Copies the descriptors for the worker of this slot ([`ipc::ToZygote::Fork`]).
    pub(crate) fn for_slot(&self, slot: u32) -> io::Result<Vec<OwnedFd>> {
        let slots = self.table.slots();
        let inbox = |number: u32| &self.inboxes[(number % slots) as usize];
        let mut fds = vec![
            self.fd.try_clone()?,
            inbox(slot).take.as_fd().try_clone_to_owned()?,
        ];
        for partner in slot + 1..slot + slots.min(1 + PARTNERS) {
            fds.push(inbox(partner).give.as_fd().try_clone_to_owned()?);
        }
        Ok(fds)
    }

    /// Clears the count of a process that has ended.
    pub(crate) fn left(&self, slot: u32, pid: u32) {
        self.table.leave(slot, pid);
    }
}
