//! Accepting connections where no front does.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use php::Client;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::{AbortHandle, spawn_local};

use crate::worker::Worker;
use crate::{connection, log, spread};

/// Accept on a socket that the supervisor opened, TCP or Unix.
pub(crate) fn listen(worker: Rc<Worker>, fd: OwnedFd) -> std::io::Result<AbortHandle> {
    let socket = socket2::Socket::from(fd);
    socket.set_nonblocking(true)?;
    let handle = if socket.local_addr()?.is_unix() {
        let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_unix(worker, listener))
    } else {
        let listener = TcpListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_tcp(worker, listener))
    };
    Ok(handle.abort_handle())
}

async fn accept_tcp(worker: Rc<Worker>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let local = stream.local_addr().unwrap_or(peer);
                // Small answers must not wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let Some((stream, seat)) = spread::keep(&worker, stream) else {
                    continue;
                };
                let client = connection::tcp_client(peer, local);
                let served = connection::serve(Rc::clone(&worker), stream, client, seat);
                spawn_local(served);
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn accept_unix(worker: Rc<Worker>, listener: UnixListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some((stream, seat)) = spread::keep(&worker, stream) else {
                    continue;
                };
                let served = connection::serve(Rc::clone(&worker), stream, Client::default(), seat);
                spawn_local(served);
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

/// Out of descriptors or memory: the queue keeps who knocks; try again when something may have been freed.
async fn cannot_accept(error: &std::io::Error) {
    if !matches!(error.raw_os_error(), Some(libc::ECONNABORTED)) {
        log::error(format_args!("cannot accept a connection: {error}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
