//! One end of a channel in the runtime: received messages become events, and sending never waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use ::server::channel::watch;
use ipc::Channel;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

/// A received message, or the end of the channel.
#[derive(Debug)]
pub(crate) enum Received<In> {
    /// A message and its descriptors.
    Message(In, Vec<OwnedFd>),
    /// The end of the channel: the peer has closed its end, or has sent an invalid message.
    Closed(Option<String>),
}

/// An open channel. Dropping it closes this end, after all messages are sent.
#[derive(Debug)]
pub(crate) struct Link<Out> {
    outgoing: UnboundedSender<(Out, Vec<OwnedFd>)>,
    reader: AbortHandle,
}

impl<Out: Serialize + Send + 'static> Link<Out> {
    /// Opens the link. `on` is called with each message, then with [`Received::Closed`] once.
    pub(crate) fn open<In>(
        channel: Channel,
        on: impl Fn(Received<In>) + Send + 'static,
    ) -> io::Result<Link<Out>>
    where
        In: DeserializeOwned + Send + 'static,
    {
        let channel = Arc::new(watch(channel, Interest::READABLE | Interest::WRITABLE)?);
        let (outgoing, queue) = unbounded_channel();
        tokio::spawn(write(Arc::clone(&channel), queue));
        let reader = tokio::spawn(read(channel, on)).abort_handle();
        Ok(Link { outgoing, reader })
    }

    /// Queues a message; its descriptors stay open until it is sent. The reader notices a receiver that is gone.
    pub(crate) fn send(&self, message: Out, fds: Vec<OwnedFd>) {
        let _ = self.outgoing.send((message, fds));
    }
}

impl<Out> Drop for Link<Out> {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read<In: DeserializeOwned>(channel: Arc<AsyncFd<Channel>>, on: impl Fn(Received<In>)) {
    loop {
        let Ok(mut ready) = channel.readable().await else {
            return on(Received::Closed(None));
        };
        match ready.try_io(|channel| channel.get_ref().try_recv().map_err(io::Error::from)) {
            Err(_would_block) => {}
            Ok(Ok(Some((message, fds)))) => on(Received::Message(message, fds)),
            Ok(Ok(None)) => return on(Received::Closed(None)),
            Ok(Err(e)) => return on(Received::Closed(Some(e.to_string()))),
        }
    }
}

async fn write<Out: Serialize>(
    channel: Arc<AsyncFd<Channel>>,
    mut queue: UnboundedReceiver<(Out, Vec<OwnedFd>)>,
) {
    while let Some((message, fds)) = queue.recv().await {
        let borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(OwnedFd::as_fd).collect();
        let sent = loop {
            let Ok(mut ready) = channel.writable().await else {
                return;
            };
            match ready.try_io(|channel| {
                channel
                    .get_ref()
                    .try_send(&message, &borrowed)
                    .map_err(io::Error::from)
            }) {
                Err(_would_block) => {}
                Ok(sent) => break sent,
            }
        };
        match sent {
            Ok(()) => {}
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                ) =>
            {
                return;
            }
            Err(e) => logging::error!("cannot send to a child process: {e}"),
        }
    }
}
