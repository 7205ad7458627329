//! The control socket: one line of JSON asks, one line answers. Both sides are here.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{PidfdFlags, Uid};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixListener;
use tokio::sync::oneshot;

use crate::cache::CacheQuestion;
use crate::error::Error;
use crate::event::{Command, Event, Events};
use crate::sockets::{Access, UnixSocket};
use crate::status::Status;

/// The longest question: a value for the cache may be in it.
const MAX_LINE: u64 = 1024 * 1024;

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Status,
    /// Answered when the new generation serves, or has failed to.
    Reload,
    /// Answered when the server has stopped.
    Stop,
    /// With [`Question::cache`].
    Cache,
    /// The memory of the cache, for a script: [`ipc::ask_for_cache`].
    CacheMemory,
}

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    verb: Verb,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<CacheQuestion>,
    /// What the process that asks for memory was built from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
}

impl Question {
    pub fn verb(&self) -> Verb {
        self.verb
    }
}

impl From<Verb> for Question {
    fn from(verb: Verb) -> Question {
        Question {
            verb,
            cache: None,
            build: None,
        }
    }
}

impl From<CacheQuestion> for Question {
    fn from(question: CacheQuestion) -> Question {
        Question {
            verb: Verb::Cache,
            cache: Some(question),
            build: None,
        }
    }
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    Done(String),
    Failed(String),
    Status(Box<Status>),
}

/// Whose servers are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// This user's and root's: for default paths, one of which is in `/tmp`, where every user can listen.
    Own,
    /// For root those of all users: for a path that was named.
    Named,
}

/// Ask the server that listens at the first of these paths where one does. `None`: no server answers at any.
pub fn ask(paths: &[PathBuf], trust: Trust, question: &Question) -> io::Result<Option<Reply>> {
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

/// The longest answer of a server that was found and not named, and how long it may take.
const MAX_ANSWER: u64 = 16 << 20;
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// A server that was found.
#[derive(Debug)]
pub struct Found {
    pub control: PathBuf,
    /// Whose process answers, as the kernel has it.
    pub user: u32,
    pub status: Status,
}

/// How the server is that listens there, if one does: one of this user's, and for root of any.
pub fn look(control: PathBuf) -> Option<Found> {
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

/// The kernel says which user listens; nothing is sent to another user's process, and nothing of it is shown.
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

/// The process that listens, by a descriptor: its number may become another's. `None` where the kernel does not tell, as
/// between two PID namespaces.
fn process(stream: &UnixStream) -> Option<OwnedFd> {
    let pid = rustix::net::sockopt::socket_peercred(stream).ok()?.pid;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Returns when the server's process has ended: its addresses and its control socket are free then.
fn until_gone(mut connection: impl io::Read, process: Option<OwnedFd>) -> io::Result<()> {
    // The server keeps the connection for as long as it runs. An error means the same as its end.
    let _ = io::copy(&mut connection, &mut io::sink());
    let Some(process) = process else {
        return Ok(());
    };
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut ended, None))?;
    Ok(())
}

/// Make the socket: where it was asked for, or at the first candidate that can be made.
pub(crate) fn open(asked: Option<&Path>, candidates: &[PathBuf]) -> Result<UnixSocket, Error> {
    if let Some(path) = asked {
        return bind(path);
    }
    let mut last = None;
    for path in candidates {
        let made = path.parent().map_or(Ok(()), private_directory);
        match made
            .map_err(|source| Error::Control {
                path: path.clone(),
                source,
            })
            .and_then(|()| bind(path))
        {
            Err(error @ Error::Control { .. }) => last = Some(error),
            result => return result,
        }
    }
    Err(last.unwrap_or_else(|| Error::Io(io::Error::other("no place for a control socket"))))
}

fn bind(path: &Path) -> Result<UnixSocket, Error> {
    UnixSocket::open(path, Access::Owner).map_err(|error| match error {
        Error::SocketTaken(path) => Error::Running(path),
        Error::Listen { source, .. } => Error::Control {
            path: path.into(),
            source,
        },
        other => other,
    })
}

/// Make this directory for this user alone. In `/tmp` another user may have made it before, or a symbolic link of that name:
/// then no socket is made in it.
fn private_directory(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let found = path.symlink_metadata()?;
    let why = if !found.is_dir() {
        "is no directory".into()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        format!("belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!(
            "has mode {:04o}, so other users may write in it",
            found.mode() & 0o7777
        )
    } else {
        return Ok(());
    };
    Err(io::Error::other(format!(
        "{} {why}; remove it, or set XDG_RUNTIME_DIR to a directory of this user",
        path.display()
    )))
}

/// Answer until the runtime ends.
pub(crate) fn serve(socket: &UnixSocket, events: Events) -> io::Result<()> {
    let listener = socket.listener.try_clone()?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(answer(stream, events.clone()))),
                Err(_) => tokio::time::sleep(::server::accept::RETRY_DELAY).await,
            }
        }
    });
    Ok(())
}

async fn answer(mut stream: tokio::net::UnixStream, events: Events) {
    let mut line = String::new();
    let (reading, mut writing) = stream.split();
    let read = tokio::io::BufReader::new(reading.take(MAX_LINE))
        .read_line(&mut line)
        .await;
    if !matches!(read, Ok(1..)) {
        return;
    }
    let question = serde_json::from_str::<Question>(&line);
    let is_stop = matches!(
        question,
        Ok(Question {
            verb: Verb::Stop,
            ..
        })
    );
    let reply = match question {
        Ok(question) if question.verb == Verb::CacheMemory => {
            return lend_cache(&stream, question.build, &events).await;
        }
        Ok(question) => perform(question, &events).await,
        Err(e) => Reply::Failed(format!("not a question: {e}")),
    };
    let mut text = serde_json::to_string(&reply).unwrap_or_default();
    text.push('\n');
    // An error means that the client has left without waiting for the answer.
    let _ = writing.write_all(text.as_bytes()).await;
    if is_stop {
        // The connection ends with this process.
        std::future::pending::<()>().await;
    }
}

/// Only to a process of this user: it can write whatever workers read.
async fn lend_cache(stream: &tokio::net::UnixStream, build: Option<String>, events: &Events) {
    let is_own = stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
    let (reply, memory) = oneshot::channel();
    if is_own {
        let build = build.unwrap_or_default();
        events.send(Event::Command(Command::CacheMemory(build, reply)));
    }
    // An error means that the client has left, which needs no answer, or that nothing is lent: then it sees the end.
    if let Ok(Some(memory)) = memory.await {
        let send = || ipc::send_cache(stream.as_fd(), b"{\"done\":\"\"}\n", &memory);
        let _ = stream.async_io(Interest::WRITABLE, send).await;
    }
}

async fn perform(question: Question, events: &Events) -> Reply {
    let (done, result) = oneshot::channel();
    let ask = match question.verb {
        Verb::Reload => Command::Reload(Some(done)),
        Verb::Stop => Command::Stop(Some(done)),
        Verb::Cache => match question.cache {
            Some(question) => Command::Cache(question, done),
            None => return Reply::Failed("nothing is asked of the cache".into()),
        },
        Verb::CacheMemory => unreachable!("answered by its descriptors"),
        Verb::Status => {
            let (reply, status) = oneshot::channel();
            events.send(Event::Command(Command::StatusWithPools(reply)));
            return match status.await {
                Ok(status) => Reply::Status(Box::new(status)),
                Err(_) => Reply::Failed("the server is stopping".into()),
            };
        }
    };
    events.send(Event::Command(ask));
    match result.await {
        Ok(Ok(text)) => Reply::Done(text),
        Ok(Err(text)) => Reply::Failed(text),
        Err(_) => Reply::Failed("the server stopped meanwhile".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_socket_is_private_and_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hearth/a.sock");
        let socket = open(None, std::slice::from_ref(&path)).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            path.parent()
                .unwrap()
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o700
        );
        assert!(matches!(
            open(None, std::slice::from_ref(&path)),
            Err(Error::Running(_))
        ));
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_that_others_may_write_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let (open_to_all, private) = (dir.path().join("all"), dir.path().join("mine"));
        std::fs::create_dir(&open_to_all).unwrap();
        std::fs::set_permissions(&open_to_all, std::fs::Permissions::from_mode(0o777)).unwrap();
        let socket = open(None, &[open_to_all.join("s"), private.join("s")]).unwrap();
        assert_eq!(socket.path, private.join("s"));
        let error = open(None, &[open_to_all.join("s")]).unwrap_err();
        assert!(error.to_string().contains("has mode 0777"), "{error}");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let error = open(None, &[link.join("s")]).unwrap_err().to_string();
        assert!(error.contains("is no directory; remove it"), "{error}");
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    }

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
            ask(
                &["/nonexistent/a".into(), "/nonexistent/b".into()],
                Trust::Own,
                &Verb::Status.into()
            )
            .unwrap()
            .is_none()
        );
    }
}
