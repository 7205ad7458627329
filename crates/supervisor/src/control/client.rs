//! Finds a server by its control socket, asks it, and waits for the answer.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{PidfdFlags, Uid};

use super::{Question, Reply, Verb};
use crate::status::Status;

/// The users whose servers a command asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// This user and root: for default paths, one of which is in `/tmp`, where every user can listen.
    Own,
    /// As `Own`, but for root all users: for a path that the command names.
    Named,
}

/// Asks the server at the first of these paths at which one listens. `None` if there is none.
pub fn query(paths: &[PathBuf], trust: Trust, question: &Question) -> io::Result<Option<Reply>> {
    for path in paths {
        match UnixStream::connect(path) {
            Ok(stream) => {
                check_owner(&stream, path, trust)?;
                return converse(stream, question).map(Some);
            }
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) => {}
            Err(e) => return Err(io::Error::new(e.kind(), format!("{}: {e}", path.display()))),
        }
    }
    Ok(None)
}

/// The most bytes of an answer of a server that was found and not named, and the most time that it may take.
const MAX_ANSWER: u64 = 16 << 20;
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A server that was found by its control socket.
#[derive(Debug)]
pub struct Found {
    pub control: PathBuf,
    /// The user of the process that listens, from the kernel.
    pub user: u32,
    pub status: Status,
}

/// Returns the status of the server that listens at this path, if it is a server of this user; root gets any server's.
pub fn status_at(control: PathBuf) -> Option<Found> {
    let mut stream = UnixStream::connect(&control).ok()?;
    let user = rustix::net::sockopt::socket_peercred(&stream).ok()?.uid;
    if !is_trusted(user, rustix::process::geteuid(), Trust::Named) {
        return None;
    }
    stream.set_read_timeout(Some(ANSWERS_WITHIN)).ok()?;
    stream.set_write_timeout(Some(ANSWERS_WITHIN)).ok()?;
    let question = serde_json::to_string(&Question::from(Verb::Status)).ok()?;
    stream.write_all(format!("{question}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    let mut reader = BufReader::new(io::Read::take(stream, MAX_ANSWER));
    reader.read_line(&mut answer).ok()?;
    match serde_json::from_str(&answer).ok()? {
        Reply::Status(status) => Some(Found {
            control,
            user: user.as_raw(),
            status: *status,
        }),
        _ => None,
    }
}

/// Refuses a listener of another user, as reported by the kernel: nothing is sent to its process, and nothing of it is
/// shown.
fn check_owner(stream: &UnixStream, path: &Path, trust: Trust) -> io::Result<()> {
    let listener = rustix::net::sockopt::socket_peercred(stream)?.uid;
    if is_trusted(listener, rustix::process::geteuid(), trust) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{}: a process of user {} listens there, so nothing was asked; run this command as that user, or name the server's control socket with --control",
            path.display(),
            listener.as_raw()
        ),
    ))
}

fn is_trusted(listener: Uid, own: Uid, trust: Trust) -> bool {
    listener == own || listener.is_root() || (own.is_root() && trust == Trust::Named)
}

fn converse(mut stream: UnixStream, question: &Question) -> io::Result<Reply> {
    let server = process(&stream);
    let mut line = serde_json::to_string(question)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the server ended before it answered",
        ));
    }
    if question.verb == Verb::Stop {
        until_gone(reader, server)?;
    }
    Ok(serde_json::from_str(&answer)?)
}

/// Opens a pidfd of the process that listens, because its number may be reused. `None` where the kernel does not report the
/// process, as between two PID namespaces.
fn process(stream: &UnixStream) -> Option<OwnedFd> {
    let pid = rustix::net::sockopt::socket_peercred(stream).ok()?.pid;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits until the server's process has ended: its addresses and its control socket are free then.
fn until_gone(mut connection: impl io::Read, process: Option<OwnedFd>) -> io::Result<()> {
    // The server keeps the connection open until it exits. An error means the same as the end of file.
    let _ = io::copy(&mut connection, &mut io::sink());
    let Some(process) = process else {
        return Ok(());
    };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut ended, None))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_servers_and_those_of_root_are_asked() {
        let [root, mine, other] = [0, 1000, 1001].map(Uid::from_raw);
        for trust in [Trust::Own, Trust::Named] {
            assert!(is_trusted(mine, mine, trust) && is_trusted(root, mine, trust));
            assert!(!is_trusted(other, mine, trust));
        }
        assert!(is_trusted(other, root, Trust::Named));
        assert!(!is_trusted(other, root, Trust::Own));
    }

    #[test]
    fn a_socket_without_a_server_is_no_connection() {
        assert!(
            query(
                &["/nonexistent/a".into(), "/nonexistent/b".into()],
                Trust::Own,
                &Verb::Status.into()
            )
            .unwrap()
            .is_none()
        );
    }
}
