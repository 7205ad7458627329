//! Accepting connections where no front does.
//!
//! Clients' descriptors are kept above those that `select()` can look at: PHP's `stream_select()` and many libraries refuse
//! higher ones, or write beyond their sets, so the low ones are PHP's however many clients there are.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use http1::{Endpoints, RESERVED_DESCRIPTORS};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{SocketFlags, accept_with};
use server::channel;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::{AbortHandle, spawn_local};

use crate::balance::ConnectionGuard;
use crate::worker::Worker;
use crate::{balance, connection};

/// Accept on a socket that the supervisor opened, TCP or Unix.
pub(crate) fn listen(worker: Rc<Worker>, fd: OwnedFd) -> io::Result<AbortHandle> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    let listener = channel::watch(fd, Interest::READABLE)?;
    Ok(spawn_local(accept(worker, listener)).abort_handle())
}

async fn accept(worker: Rc<Worker>, listener: AsyncFd<OwnedFd>) {
    loop {
        match next(&listener).await {
            Ok(stream) => {
                if let Some((stream, guard)) = balance::accept_or_hand_off(&worker, stream) {
                    // If that fails, the client has hung up meanwhile.
                    let _ = serve(&worker, stream, guard);
                }
            }
            Err(error) => {
                let log = |message| logging::error!("{message}");
                server::accept::recover(&worker.connections, &error, log).await;
            }
        }
    }
}

async fn next(listener: &AsyncFd<OwnedFd>) -> io::Result<OwnedFd> {
    loop {
        let mut ready = listener.readable().await?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        if let Ok(accepted) = ready.try_io(|fd| Ok(accept_with(fd, flags)?)) {
            return accepted;
        }
    }
}

/// Serve a connection that was accepted, here or by another worker.
pub(crate) fn serve(
    worker: &Rc<Worker>,
    fd: OwnedFd,
    guard: Option<ConnectionGuard>,
) -> io::Result<()> {
    let fd = above_reserved(fd)?;
    let worker = Rc::clone(worker);
    let socket = socket2::SockRef::from(&fd);
    if socket.local_addr()?.is_unix() {
        let stream = UnixStream::from_std(fd.into())?;
        connection::open(worker, stream, Endpoints::default(), guard);
    } else {
        // Small answers must not wait for an acknowledgement.
        let _ = socket.set_tcp_nodelay(true);
        let stream = TcpStream::from_std(fd.into())?;
        let endpoints = Endpoints::tcp(stream.peer_addr()?, stream.local_addr()?);
        connection::open(worker, stream, endpoints, guard);
    }
    Ok(())
}

/// The same connection under a higher number, where this process may have such.
fn above_reserved(fd: OwnedFd) -> io::Result<OwnedFd> {
    match fcntl_dupfd_cloexec(fd.as_fd(), RESERVED_DESCRIPTORS as i32) {
        Err(Errno::INVAL) => Ok(fd),
        high => Ok(high?),
    }
}
