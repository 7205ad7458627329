//! Reads questions from the control socket, and answers them.

use std::io;
use std::os::fd::AsFd as _;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;

use super::{Question, Reply, Verb};
use crate::event::{Command, Event, Events};
use crate::sockets::UnixSocket;

/// Bytes of the longest question, which may contain a value for the cache.
const MAX_LINE: u64 = 1024 * 1024;

/// Answers questions until the runtime ends.
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

async fn answer(mut stream: UnixStream, events: Events) {
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
        // The connection stays open until this process exits.
        std::future::pending::<()>().await;
    }
}

/// Sends the memory of the cache, only to processes of this user: they can write whatever workers read.
async fn lend_cache(stream: &UnixStream, build: Option<String>, events: &Events) {
    let is_own = stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw());
    let (reply, memory) = oneshot::channel();
    if is_own {
        let build = build.unwrap_or_default();
        events.send(Event::Command(Command::CacheMemory(build, reply)));
    }
    // An error means that the client has left, or that nothing is lent. In the latter case the client reads end of file.
    if let Ok(Some(memory)) = memory.await {
        let send = || ipc::send_cache(stream.as_fd(), b"{\"done\":\"\"}\n", &memory);
        let _ = stream.async_io(Interest::WRITABLE, send).await;
    }
}

async fn perform(question: Question, events: &Events) -> Reply {
    let (done, result) = oneshot::channel();
    let command = match question.verb {
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
    events.send(Event::Command(command));
    match result.await {
        Ok(Ok(text)) => Reply::Done(text),
        Ok(Err(text)) => Reply::Failed(text),
        Err(_) => Reply::Failed("the server stopped meanwhile".into()),
    }
}
