//! Messages between our processes: packets as another build, or another program, might send them.

use std::fmt::Debug;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ipc::{
    Channel, FromFront, FromWorker, FromZygote, FrontToWorker, HandOff, ToFront, ToWorker, ToZygote,
};
use rustix::fs::MemfdFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::input::Input;

/// Receives a packet; the first byte selects the receiver, and whether the rest is a packet or the content of a memfd
/// beside one.
///
/// A packet that is accepted as a message arrives as the same message when it is sent again; after any other packet the
/// channel still works.
///
/// # Panics
/// If that does not hold.
pub fn packets(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let kind = input.byte();
    let (long, body) = (kind & 8 != 0, input.rest());
    match kind & 7 {
        0 => received::<ToZygote>(body, long),
        1 => received::<FromZygote>(body, long),
        2 => received::<ToWorker>(body, long),
        3 => received::<FromWorker>(body, long),
        4 => received::<ToFront>(body, long),
        5 => received::<FromFront>(body, long),
        6 => received::<FrontToWorker>(body, long),
        _ => received::<HandOff>(body, long),
    }
}

fn received<T: Serialize + DeserializeOwned + Debug>(body: &[u8], long: bool) {
    let (here, there) = Channel::pair().expect("a pair of sockets");
    if long {
        let memfd = memfd(body);
        send(&there, b"m", &[memfd.as_fd()]);
    } else if body.is_empty() {
        return;
    } else {
        send(&there, body, &[]);
    }
    if let Ok(Some((message, descriptors))) = here.try_recv::<T>() {
        assert!(descriptors.is_empty());
        same_again(&message, &here, &there);
    }
    // The next packet is read from its own beginning.
    there.try_send(&"next", &[]).expect("a message can be sent");
    let next = here.try_recv::<String>().expect("a message comes");
    assert_eq!(next.expect("the other end is open").0, "next");
}

fn same_again<T: Serialize + DeserializeOwned + Debug>(
    message: &T,
    here: &Channel,
    there: &Channel,
) {
    there.try_send(message, &[]).expect("it can be sent");
    let (again, _) = here
        .try_recv::<T>()
        .expect("it can be received")
        .expect("the other end is open");
    // Not every message can be compared, but each can be shown.
    assert_eq!(format!("{again:?}"), format!("{message:?}"));
}

fn memfd(bytes: &[u8]) -> OwnedFd {
    let memfd = rustix::fs::memfd_create("hearth-fuzz", MemfdFlags::CLOEXEC).expect("a memfd");
    rustix::io::write(&memfd, bytes).expect("a memfd can be written");
    memfd
}

fn send(channel: &Channel, packet: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(channel, &[IoSlice::new(packet)], &mut ancillary, flags)
        .expect("a packet can be sent");
}
