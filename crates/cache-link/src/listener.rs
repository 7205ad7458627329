//! The listener of the second tier: a process connects by sending one end of a socket pair through a shared socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Makes the supervisor's listener, which does not block, and the connector that all other processes share.
pub fn listener() -> io::Result<(OwnedFd, OwnedFd)> {
    let (listener, connector) = socketpair(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::io::ioctl_fionbio(&listener, true)?;
    Ok((listener, connector))
}

/// Makes a socket pair, sends one end through the connector, and returns the other.
pub(crate) fn connect(connector: BorrowedFd<'_>) -> io::Result<UnixStream> {
    let (own, theirs) = UnixStream::pair()?;
    let fds = [theirs.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::io::retry_on_intr(|| {
        sendmsg(
            connector,
            &[IoSlice::new(b"c")],
            &mut control,
            SendFlags::NOSIGNAL,
        )
    })?;
    Ok(own)
}

/// Accepts a socket that another process has sent. The error has the kind `WouldBlock` if there is none yet.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<Option<UnixStream>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        listener,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok(fds.flatten().next().map(UnixStream::from))
}
