//! One end of a `SOCK_SEQPACKET` pair that carries messages and descriptors.
//!
//! A packet is one tag byte and the message as JSON. The size of a packet is limited by the socket's buffer, which an
//! unprivileged process cannot raise enough. So a long message is sent in a memfd, whose descriptor goes with an otherwise
//! empty packet: it is still one packet, and still arrives whole or not at all.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message, in bytes of JSON.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;
/// The most descriptors beside one message.
pub const MAX_DESCRIPTORS: usize = 128;

/// Bytes of JSON above which a message is sent in a memfd. Well below the smallest default socket buffer.
const INLINE: usize = 32 << 10;
const TAG_INLINE: u8 = b'i';
const TAG_MEMFD: u8 = b'm';

/// Why a message was not sent or not received.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("message of {0} bytes is longer than the limit of {MAX_MESSAGE} bytes")]
    TooLong(u64),
    #[error("{0} descriptors beside one message are more than the limit of {MAX_DESCRIPTORS}")]
    TooManyDescriptors(usize),
    #[error(
        "the kernel dropped descriptors of a message: too many are open (raise the limit with `ulimit -n`)"
    )]
    DescriptorsLost,
    #[error("a packet is not one of ours: {0}")]
    Packet(&'static str),
    #[error("a message is not what was expected here: {0}")]
    Malformed(#[source] serde_json::Error),
    #[error("a message cannot be written as JSON: {0}")]
    Unwritable(#[source] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Returns whether the other end is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Error::Io(e) if matches!(e.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset))
    }

    /// Returns whether a `try_` call would have blocked.
    pub fn is_would_block(&self) -> bool {
        matches!(self, Error::Io(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Error::Io(errno.into())
    }
}

/// For `AsyncFd::try_io`, whose closure returns `io::Error`.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(e) => e,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        }
    }
}

/// One end of a channel. Both ends may send and receive; each call handles one message.
///
/// The `try_` calls never block, whatever the mode of the descriptor, so an async caller can wrap the channel in an
/// `AsyncFd` of its own.
#[derive(Debug)]
pub struct Channel(OwnedFd);

impl Channel {
    /// Makes a pair of connected ends, closed on exec.
    pub fn pair() -> io::Result<(Channel, Channel)> {
        let (a, b) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Channel(a), Channel(b)))
    }

    /// Returns another descriptor of this end.
    pub fn try_clone(&self) -> io::Result<Channel> {
        self.0.try_clone().map(Channel)
    }

    /// Sends one message with descriptors; blocks until there is room.
    pub fn send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.send_with(message, fds, SendFlags::NOSIGNAL)
    }

    /// Sends a message, or fails with an error that [`Error::is_would_block`].
    pub fn try_send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
        self.send_with(message, fds, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
    }

    /// Receives one message and its descriptors (close-on-exec); blocks until there is one. `None` if the other end is
    /// closed.
    pub fn recv<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>)>, Error> {
        self.recv_with(RecvFlags::CMSG_CLOEXEC)
    }

    /// Receives a message, or fails with an error that [`Error::is_would_block`].
    pub fn try_recv<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>)>, Error> {
        self.recv_with(RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT)
    }

    fn send_with<T: Serialize>(
        &self,
        message: &T,
        fds: &[BorrowedFd<'_>],
        flags: SendFlags,
    ) -> Result<(), Error> {
        let json = serde_json::to_vec(message).map_err(Error::Unwritable)?;
        if json.len() > MAX_MESSAGE {
            return Err(Error::TooLong(json.len() as u64));
        }
        if fds.len() > MAX_DESCRIPTORS {
            return Err(Error::TooManyDescriptors(fds.len()));
        }
        if json.len() <= INLINE {
            return self.send_packet(TAG_INLINE, &json, fds, flags);
        }
        let memfd = rustix::fs::memfd_create("hearth-message", MemfdFlags::CLOEXEC)?;
        write_all(&memfd, &json)?;
        let mut all = Vec::with_capacity(fds.len() + 1);
        all.push(memfd.as_fd());
        all.extend_from_slice(fds);
        self.send_packet(TAG_MEMFD, &[], &all, flags)
    }

    fn send_packet(
        &self,
        tag: u8,
        body: &[u8],
        fds: &[BorrowedFd<'_>],
        flags: SendFlags,
    ) -> Result<(), Error> {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS + 1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            let fits = ancillary.push(SendAncillaryMessage::ScmRights(fds));
            debug_assert!(fits, "the buffer is sized for the limit");
        }
        let tag = [tag];
        let parts = [IoSlice::new(&tag), IoSlice::new(body)];
        loop {
            match rustix::net::sendmsg(&self.0, &parts, &mut ancillary, flags) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn recv_with<T: DeserializeOwned>(
        &self,
        flags: RecvFlags,
    ) -> Result<Option<(T, Vec<OwnedFd>)>, Error> {
        let mut buffer = vec![0; 1 + INLINE];
        let Some((length, mut fds)) = self.recv_packet(&mut buffer, flags)? else {
            return Ok(None);
        };
        let message = match buffer[0] {
            TAG_INLINE => serde_json::from_slice(&buffer[1..length]),
            TAG_MEMFD if fds.is_empty() => {
                return Err(Error::Packet("a long message came without its memfd"));
            }
            TAG_MEMFD => serde_json::from_slice(&read_all(&fds.remove(0))?),
            _ => return Err(Error::Packet("unknown tag")),
        };
        Ok(Some((message.map_err(Error::Malformed)?, fds)))
    }

    /// Receives the length and the descriptors of the next packet; `None` at EOF.
    fn recv_packet(
        &self,
        buffer: &mut [u8],
        flags: RecvFlags,
    ) -> Result<Option<(usize, Vec<OwnedFd>)>, Error> {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS + 1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let packet = loop {
            match rustix::net::recvmsg(
                &self.0,
                &mut [IoSliceMut::new(buffer)],
                &mut ancillary,
                flags,
            ) {
                Ok(packet) => break packet,
                // The other end was closed with messages unread. The kernel reports that once, before the messages that the
                // other end had sent itself; the next call returns those, or EOF.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                Err(errno) => return Err(errno.into()),
            }
        };
        let mut fds = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
        if packet.flags.contains(ReturnFlags::CTRUNC) {
            return Err(Error::DescriptorsLost);
        }
        if packet.flags.contains(ReturnFlags::TRUNC) {
            return Err(Error::Packet("longer than any of ours"));
        }
        Ok((packet.bytes > 0).then_some((packet.bytes, fds)))
    }
}

fn write_all(fd: &OwnedFd, mut bytes: &[u8]) -> Result<(), Error> {
    while !bytes.is_empty() {
        let n = rustix::io::write(fd, bytes)?;
        bytes = &bytes[n..];
    }
    Ok(())
}

/// Reads the whole memfd, by position, because sender and receiver share its file offset.
fn read_all(fd: &OwnedFd) -> Result<Vec<u8>, Error> {
    let size = u64::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or(0);
    if size > MAX_MESSAGE as u64 {
        return Err(Error::TooLong(size));
    }
    let mut bytes = vec![0; size as usize];
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pread(fd, &mut bytes[done..], done as u64)? {
            0 => return Err(Error::Packet("a memfd shrank while it was read")),
            n => done += n,
        }
    }
    Ok(bytes)
}

impl From<OwnedFd> for Channel {
    fn from(fd: OwnedFd) -> Self {
        Channel(fd)
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.0
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
