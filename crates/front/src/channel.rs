//! A channel in this runtime.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use ipc::Channel;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Wait for a descriptor in the runtime.
#[expect(
    deprecated,
    reason = "its successor is unsafe for types that may close their descriptor unseen; ours owns its"
)]
pub(crate) fn watch<T: AsRawFd>(what: T) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(what, Interest::READABLE)
}

/// The next message; `None` at the end.
pub(crate) async fn receive<T: DeserializeOwned>(
    channel: &AsyncFd<Channel>,
) -> Result<Option<(T, Vec<OwnedFd>)>, ipc::Error> {
    loop {
        let mut ready = channel.readable().await?;
        match ready.get_inner().try_recv() {
            Err(error) if error.is_would_block() => ready.clear_ready(),
            received => return received,
        }
    }
}
