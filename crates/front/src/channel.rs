//! A channel in this runtime.

use std::io;
use std::os::fd::OwnedFd;

use ipc::Channel;
use serde::de::DeserializeOwned;
use tokio::io::unix::AsyncFd;

/// Wait for a channel in the runtime.
#[expect(
    deprecated,
    reason = "its successor is unsafe for types that may close their descriptor unseen; ours owns its"
)]
pub(crate) fn watch(channel: Channel) -> io::Result<AsyncFd<Channel>> {
    AsyncFd::new(channel)
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
