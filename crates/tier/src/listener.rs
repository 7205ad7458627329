//! Serves the questions of the server's processes. Each socket has one question at a time.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;

use cache_link::decode;
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
                    // The process has ended, or has given up.
                    let _ = answer(&tier, stream).await;
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

async fn answer(tier: &Arc<Tier>, stream: StdStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(stream)?;
    let mut question = Vec::new();
    loop {
        let length = stream.read_u32_le().await? as usize;
        if length > tier.cache.largest() + AROUND {
            return Err(io::ErrorKind::InvalidData.into());
        }
        question.clear();
        question.shrink_to(KEPT);
        question.resize(length, 0);
        stream.read_exact(&mut question).await?;
        let Some(question) = decode(&question) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let answer = tier.answer(question).await;
        stream.write_all(&answer).await?;
    }
}
