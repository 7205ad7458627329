//! Serves the questions of the server's processes. Each socket has one question at a time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use cache_link::{Answer, Question, decode};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{UnixDatagram, UnixStream};

use crate::state::Tier;

/// The most bytes of a question beside its value, or of one with several values. A longer message is invalid.
const AROUND: usize = 2 << 20;
/// Bytes of memory that a connection keeps between two questions.
const KEPT: usize = 64 * 1024;
/// The pause after a socket could not be received, for lack of descriptors for example.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) async fn serve(tier: &Arc<Tier>, listener: OwnedFd) {
    let listener = match UnixDatagram::from_std(listener.into()) {
        Ok(listener) => listener,
        Err(error) => {
            return logging::error!(
                "cannot receive the questions of processes for redis error={error}"
            );
        }
    };
    loop {
        let accept = || cache_link::accept(listener.as_fd());
        match listener.async_io(Interest::READABLE, accept).await {
            Ok(Some(stream)) => {
                let tier = Arc::clone(tier);
                tokio::spawn(async move {
                    let mut untold = None;
                    let ended = answer(&tier, stream, &mut untold).await;
                    give_back(&tier, untold.filter(|_| !is_end(&ended))).await;
                });
            }
            Ok(None) => {}
            Err(error) => {
                logging::warning!("a process could not reach redis error={error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A claim whose token the process may not have read yet.
struct Untold {
    lock: bool,
    name: Vec<u8>,
    token: u64,
}

impl Untold {
    /// Returns the claim of a name that the question of this answer took.
    fn of((lock, name): (bool, Vec<u8>), answer: &[u8]) -> Option<Untold> {
        let Answer::Number(token) = decode(answer.get(4..)?)? else {
            return None;
        };
        Some(Untold { lock, name, token })
    }
}

/// Returns whether the process has closed its socket after it had read everything. If it has not, because its task was cancelled or it
/// has died, the kernel reports that the connection was reset.
fn is_end(ended: &io::Result<()>) -> bool {
    matches!(ended, Err(error) if error.kind() == io::ErrorKind::UnexpectedEof)
}

/// Gives back a claim that no task knows of: nothing else would before its time is over.
async fn give_back(tier: &Arc<Tier>, untold: Option<Untold>) {
    match untold {
        Some(Untold {
            lock: true,
            name,
            token,
        }) => drop(tier.hold(&name, token, Some(0)).await),
        Some(Untold { name, token, .. }) => drop(tier.give_back(&name, token)),
        None => {}
    }
}

/// Answers until the process has ended, or has given up.
async fn answer(
    tier: &Arc<Tier>,
    stream: StdStream,
    untold: &mut Option<Untold>,
) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(stream)?;
    let mut bytes = Vec::new();
    loop {
        let length = stream.read_u32_le().await? as usize;
        *untold = None;
        if length > tier.cache.largest() + AROUND {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.clear();
        bytes.shrink_to(KEPT);
        bytes.resize(length, 0);
        stream.read_exact(&mut bytes).await?;
        let question: Question<'_> = decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
        let claims = question.claims().map(|(lock, name)| (lock, name.to_vec()));
        let answer = tier.answer(question).await;
        *untold = claims.and_then(|claims| Untold::of(claims, &answer));
        stream.write_all(&answer).await?;
    }
}
