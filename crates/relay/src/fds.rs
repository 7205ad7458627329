//! Passes the descriptors of a request's files over the stream socket from front to worker (`SCM_RIGHTS`).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Files of one request at most: one for the head, one for the body.
const MOST: usize = 2;

/// Sends the files of the request with this number; none if the request is cancelled. Never waits: little is ever sent in
/// this direction, so the socket has room.
pub fn send_files(socket: impl AsFd, number: u32, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("more files than a request has"));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let number = number.to_le_bytes();
    sendmsg(socket, &[IoSlice::new(&number)], &mut ancillary, flags)?;
    Ok(())
}

/// The number of a request, and its files, unless this process has no room for their descriptors.
pub type Received = (u32, io::Result<Vec<OwnedFd>>);

/// Receives what [`send_files`] sent; `None` at EOF. Never waits.
pub fn recv_files(socket: impl AsFd) -> io::Result<Option<Received>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut number = [0; 4];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let pieces = &mut [IoSliceMut::new(&mut number)];
    let received = recvmsg(socket, pieces, &mut ancillary, flags)?;
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    let files = if received.flags.contains(ReturnFlags::CTRUNC) {
        // MSG_CTRUNC is the only sign that the kernel has dropped descriptors for which this process has no room.
        Err(io::Error::from(Errno::MFILE))
    } else {
        Ok(files)
    };
    Ok((received.bytes == 4).then(|| (u32::from_le_bytes(number), files)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn files_arrive_with_their_number() {
        let (a, b) = UnixStream::pair().unwrap();
        let mut file = tempfile();
        file.write_all(b"body").unwrap();
        send_files(&a, 7, &[file.as_fd()]).unwrap();
        send_files(&a, 8, &[]).unwrap();
        let (number, files) = recv_files(&b).unwrap().unwrap();
        let mut files = files.unwrap();
        let mut text = String::new();
        let mut file = std::fs::File::from(files.pop().unwrap());
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((number, text.as_str(), files.len()), (7, "body", 0));
        assert!(matches!(recv_files(&b), Ok(Some((8, Ok(files)))) if files.is_empty()));
        let error = recv_files(&b).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(a);
        assert!(recv_files(&b).unwrap().is_none());
    }

    fn tempfile() -> std::fs::File {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        rustix::fs::memfd_create("test", flags).unwrap().into()
    }
}
