//! Sockets that systemd opened for this process (`LISTEN_FDS`, see sd_listen_fds(3)): systemd may bind ports that this user
//! may not, and connections wait in the sockets while the server restarts.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use listenfd::ListenFd;
use rustix::io::FdFlags;
use socket2::{SockRef, Socket};

use crate::error::Error;

/// The `FileDescriptorName=` in the socket unit of the socket for `/health`, `/metrics` and the like.
const ADMIN: &str = "admin";

/// The sockets that were passed to this process.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    /// Sockets for clients.
    pub(crate) sockets: Vec<Socket>,
    /// The socket that replaces the address of `admin`.
    pub(crate) admin: Option<TcpListener>,
}

impl Inherited {
    /// Takes the sockets, which belong to this process from then on. Called once.
    pub(crate) fn take() -> Result<Inherited, Error> {
        let mut found = Inherited::default();
        let mut passed = ListenFd::from_env();
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':');
        for number in 0..passed.len() {
            let is_admin = names.next() == Some(ADMIN);
            let socket = take(&mut passed, number).map_err(Error::Inherited)?;
            match is_admin {
                true => found.admin = Some(OwnedFd::from(socket).into()),
                false => found.sockets.push(socket),
            }
        }
        Ok(found)
    }
}

fn take(passed: &mut ListenFd, number: usize) -> io::Result<Socket> {
    let tcp = passed.take_tcp_listener(number);
    let socket: OwnedFd = match tcp {
        Ok(Some(listener)) => listener.into(),
        _ => match passed.take_unix_listener(number)? {
            Some(listener) => listener.into(),
            None => return Err(io::ErrorKind::NotFound.into()),
        },
    };
    // Programs that this process starts get only the descriptors that are meant for them.
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(socket.into())
}

/// Returns the address as a client would write it.
pub(crate) fn address(socket: &Socket) -> String {
    let Ok(address) = SockRef::from(&socket.as_fd()).local_addr() else {
        return "an address that is not known".into();
    };
    match (address.as_socket(), address.as_pathname()) {
        (Some(address), _) => format!("http://{address}"),
        (None, Some(path)) => format!("unix:{}", path.display()),
        (None, None) => "unix: without a path".into(),
    }
}
