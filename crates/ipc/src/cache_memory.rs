//! How a script gets the cache of its app's server: a question on the server's control socket, answered with descriptors.
//!
//! Question and answer are lines of JSON, as all of the control socket; the descriptors come beside the answer.

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

/// A supervisor answers at once; one that does not is not waited for.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// The longest answer, which is short unless it says why not.
const MAX_ANSWER: usize = 4096;

/// The memory of the cache of the server that listens there. Only a process of this very user is asked: what it gives is read as
/// values of PHP. With it, if there is one, the intake to its second tier. None: it has no cache, or was built from other sources.
pub fn ask_for_cache(control: &Path, build: &str) -> io::Result<Vec<OwnedFd>> {
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

/// They come with the first byte of the answer.
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

/// Sends what begins an answer, with the descriptors; how much of it was sent.
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
