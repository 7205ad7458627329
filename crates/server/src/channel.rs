//! Registers descriptors and control channels with the runtime.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use ipc::{Channel, Error};
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the reactor.
///
/// tokio deprecates this constructor because the reactor keeps a stale entry if the descriptor is closed while it is
/// registered. The types given here own their descriptor; the worker's borrowed numbers are deregistered by its hook of
/// `close`.
#[expect(
    deprecated,
    reason = "each caller owns the descriptor or deregisters it before it is closed"
)]
pub fn watch<T: AsRawFd>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(fd, interest)
}

/// Receives the next message; `None` at EOF.
pub async fn receive<T: DeserializeOwned>(
    channel: &AsyncFd<Channel>,
) -> Result<Option<(T, Vec<OwnedFd>)>, Error> {
    loop {
        let mut ready = channel.readable().await?;
        match ready.get_inner().try_recv() {
            Err(error) if error.is_would_block() => ready.clear_ready(),
            received => return received,
        }
    }
}
