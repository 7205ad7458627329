//! The request of a script for the cache of its app's server: a question on the server's control socket, answered with
//! descriptors.
//!
//! Question and answer are lines of JSON, as everything on the control socket; the descriptors come as ancillary data of the
//! answer.

use std::io::{self, IoSlice, IoSliceMut, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

/// How long to wait for the supervisor, which answers at once unless it is stuck.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// Bytes of the longest answer. It is short, unless it contains the reason of a refusal.
const MAX_ANSWER: usize = 4096;

/// Returns the memory of the cache of the server that listens at `control`, and the connector of its second tier, if it has
/// one. Only a process of the same user is asked, because the memory is read as PHP values. Without descriptors, the server
/// has no cache, or was built from other sources.
pub fn request_cache_memory(control: &Path, build: &str) -> io::Result<Vec<OwnedFd>> {
    let mut stream = UnixStream::connect(control)?;
    let listener = rustix::net::sockopt::socket_peercred(&stream)?.uid;
    if listener != rustix::process::geteuid() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a process of another user listens there",
        ));
    }
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
    let question = serde_json::json!({"verb": "cachememory", "build": build});
    stream.write_all(format!("{question}\n").as_bytes())?;
    receive(&stream)
}

/// Receives the descriptors, which come with the first byte of the answer.
fn receive(stream: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut answer = vec![0; MAX_ANSWER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    rustix::io::retry_on_intr(|| {
        rustix::net::recvmsg(
            stream,
            &mut [IoSliceMut::new(&mut answer)],
            &mut beside,
            RecvFlags::CMSG_CLOEXEC,
        )
    })?;
    let descriptors = beside.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    Ok(descriptors.flatten().collect())
}

/// Sends the beginning of an answer with the descriptors; returns how many bytes of it were sent.
pub fn send_cache(stream: BorrowedFd<'_>, answer: &[u8], fds: &[OwnedFd]) -> io::Result<usize> {
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&fds));
    let sent = rustix::net::sendmsg(
        stream,
        &[IoSlice::new(answer)],
        &mut beside,
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    )?;
    Ok(sent)
}
