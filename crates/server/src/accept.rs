//! Accepts clients' connections.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use http1::{Connections, Endpoints, is_out_of_descriptors};
use rustix::net::{SocketFlags, accept_with, sockopt};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::spawn_local;

use crate::channel;
use crate::connection::{self, Handler};

/// The pause before the next attempt to accept.
pub const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Accepts connections from a socket that the supervisor opened, TCP or Unix, until
/// [`HttpServer::stop_listening`](crate::HttpServer::stop_listening).
pub fn listen<H: Handler>(handler: &Rc<H>, socket: OwnedFd) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&socket, true)?;
    let listener = channel::watch(socket, Interest::READABLE)?;
    let task = spawn_local(accept(Rc::clone(handler), listener));
    let mut listeners = handler.http().listeners.borrow_mut();
    listeners.push(task.abort_handle());
    Ok(())
}

async fn accept<H: Handler>(handler: Rc<H>, listener: AsyncFd<OwnedFd>) {
    loop {
        match next(&listener).await {
            Ok(connection) => handler.accepted(connection),
            Err(error) => {
                let log = |message| logging::error!("{message}");
                recover(&handler.http().connections, &error, log).await;
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

/// Serves a connection that was accepted, here or by another process. `guard` is dropped when the connection has ended.
///
/// # Errors
/// If the client has hung up meanwhile.
pub fn serve<H: Handler>(
    handler: &Rc<H>,
    fd: OwnedFd,
    guard: impl Sized + 'static,
) -> io::Result<()> {
    let handler = Rc::clone(handler);
    let is_unix = sockopt::socket_domain(&fd)? == rustix::net::AddressFamily::UNIX;
    if is_unix {
        let stream = UnixStream::from_std(fd.into())?;
        connection::open(handler, stream, Endpoints::default(), guard);
    } else {
        // Small responses must not wait for an acknowledgement.
        let _ = sockopt::set_tcp_nodelay(&fd, true);
        let stream = TcpStream::from_std(fd.into())?;
        let endpoints = Endpoints::tcp(stream.peer_addr()?, stream.local_addr()?);
        connection::open(handler, stream, endpoints, guard);
    }
    Ok(())
}

/// Waits until another attempt to accept makes sense; `log` gets the error. Without descriptors or memory the clients stay
/// in the kernel's queue, and idle connections are ended to free some. A client that hung up before it was accepted is no
/// failure.
pub async fn recover(connections: &Connections, error: &io::Error, log: impl FnOnce(String)) {
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    if is_out_of_descriptors(error) {
        connections.end_idle();
    }
    log(format!("cannot accept a connection: {error}"));
    tokio::time::sleep(RETRY_DELAY).await;
}
