//! The intake: the socket through which a process sends the supervisor one end of a socket pair.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Makes the intake: the supervisor's end, which does not block, and the end that all other processes share.
pub fn intake() -> io::Result<(OwnedFd, OwnedFd)> {
    let (inside, outside) = socketpair(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::io::ioctl_fionbio(&inside, true)?;
    Ok((inside, outside))
}

/// Makes a socket pair, sends one end through the intake, and returns the other.
pub(crate) fn connect(intake: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let (own, theirs) = UnixStream::pair()?;
    let fds = [theirs.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::io::retry_on_intr(|| {
        sendmsg(
            intake,
            &[IoSlice::new(b"c")],
            &mut beside,
            SendFlags::NOSIGNAL,
        )
    })?;
    Ok(own)
}

/// Receives a socket from the intake. The error has the kind `WouldBlock` if there is none yet.
pub fn receive(inside: BorrowedFd<'_>) -> io::Result<Option<UnixStream>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        inside,
        &mut [IoSliceMut::new(&mut byte)],
        &mut beside,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let fds = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok(fds.flatten().next().map(UnixStream::from))
}
