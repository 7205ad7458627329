//! The listening sockets. This process opens them and keeps them open; workers get copies.
//!
//! Each TCP address has one socket per worker slot, all of one SO_REUSEPORT group, so the kernel spreads connections and
//! each worker wakes only for its own. The sockets stay open across crashes and reloads: closing one would reset the
//! connections that wait in it. A Unix socket is shared by all slots. The front, if there is one, gets all sockets, the same
//! number for each of its threads.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use config::{Listen, Settings, SocketAccess};
use rustix::fs::Mode;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::error::Error;
use crate::inherited;
use crate::port_owner::port_owner;
use crate::users;

/// The backlog of listen(2); the kernel limits it to `net.core.somaxconn`.
const BACKLOG: i32 = 65535;

/// All listening sockets.
#[derive(Debug)]
pub(crate) struct Sockets {
    listeners: Vec<Listener>,
}

#[derive(Debug)]
enum Listener {
    Tcp {
        address: SocketAddr,
        per_slot: Vec<Socket>,
    },
    Unix(UnixSocket),
    /// A socket that the service manager has opened: one for all slots, whose file this process does not remove.
    Inherited {
        socket: Socket,
        copies: usize,
    },
}

impl Sockets {
    /// Opens all sockets for this number of worker slots. On failure none stays open.
    pub(crate) fn open(settings: &Settings, slots: u32) -> Result<Sockets, Error> {
        Sockets::open_each(&settings.listen, Access::given(&settings.socket)?, slots)
    }

    fn open_each(listen: &[Listen], access: Access, slots: u32) -> Result<Sockets, Error> {
        let open = |listen: &Listen| match listen {
            Listen::Tcp(address) => open_tcp(*address, slots),
            Listen::Unix(path) => UnixSocket::open(path, access).map(Listener::Unix),
        };
        Ok(Sockets {
            listeners: listen.iter().map(open).collect::<Result<_, _>>()?,
        })
    }

    /// Wraps the sockets that the service manager has opened.
    pub(crate) fn inherited(sockets: Vec<Socket>) -> Sockets {
        let one = |socket| Listener::Inherited { socket, copies: 1 };
        Sockets {
            listeners: sockets.into_iter().map(one).collect(),
        }
    }

    /// Copies the sockets for the worker of this slot, in the order of `--listen`.
    pub(crate) fn for_slot(&self, slot: u32) -> io::Result<Vec<OwnedFd>> {
        let copy = |listener: &Listener| match listener {
            Listener::Tcp { per_slot, .. } => {
                per_slot[slot as usize].try_clone().map(OwnedFd::from)
            }
            Listener::Unix(unix) => unix.listener.try_clone().map(OwnedFd::from),
            Listener::Inherited { socket, .. } => socket.try_clone().map(OwnedFd::from),
        };
        self.listeners.iter().map(copy).collect()
    }

    /// Copies all sockets for a front of `threads` threads. Further ones are opened so that each thread gets the same
    /// number.
    pub(crate) fn for_front(&mut self, threads: u32) -> Result<Vec<OwnedFd>, Error> {
        for listener in &mut self.listeners {
            match listener {
                Listener::Tcp { address, per_slot } => {
                    let number = per_slot.len().next_multiple_of(threads.max(1) as usize);
                    while per_slot.len() < number {
                        per_slot.push(listen_also(*address)?);
                    }
                }
                // The front distributes TCP sockets among its threads, and gives each thread a copy of a Unix socket.
                Listener::Inherited { socket, copies } => {
                    let is_tcp = socket.local_addr()?.as_socket().is_some();
                    *copies = if is_tcp { threads.max(1) as usize } else { 1 };
                }
                Listener::Unix(_) => {}
            }
        }
        Ok(self.all()?)
    }

    fn all(&self) -> io::Result<Vec<OwnedFd>> {
        let copies = |listener: &Listener| match listener {
            Listener::Tcp { per_slot, .. } => per_slot
                .iter()
                .map(|socket| socket.try_clone().map(OwnedFd::from))
                .collect(),
            Listener::Unix(unix) => vec![unix.listener.try_clone().map(OwnedFd::from)],
            Listener::Inherited { socket, copies } => (0..*copies)
                .map(|_| socket.try_clone().map(OwnedFd::from))
                .collect(),
        };
        self.listeners.iter().flat_map(copies).collect()
    }

    /// Returns the addresses as clients would write them.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let name = |listener: &Listener| match listener {
            Listener::Tcp { address, .. } => format!("http://{address}"),
            Listener::Unix(unix) => format!("unix:{}", unix.path.display()),
            Listener::Inherited { socket, .. } => inherited::address(socket),
        };
        self.listeners.iter().map(name).collect()
    }
}

fn open_tcp(wanted: SocketAddr, slots: u32) -> Result<Listener, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => Error::PortTaken {
            address: wanted.to_string(),
            port_owner: port_owner(wanted),
        },
        _ => Error::Listen {
            address: wanted.to_string(),
            source,
        },
    };
    if wanted.port() != 0 {
        // Without SO_REUSEPORT, so that another server of the same user on this port is detected, not joined.
        bind_tcp(wanted, false).map_err(failed)?;
    }
    let first = bind_tcp(wanted, true).map_err(failed)?;
    let address = first
        .local_addr()
        .map_err(failed)?
        .as_socket()
        .expect("a TCP socket has such an address");
    let mut per_slot = vec![first];
    for _ in 1..slots {
        per_slot.push(bind_tcp(address, true).map_err(failed)?);
    }
    for socket in &per_slot {
        socket.listen(BACKLOG).map_err(failed)?;
    }
    Ok(Listener::Tcp { address, per_slot })
}

/// Opens a further socket for an address that this process listens on.
fn listen_also(address: SocketAddr) -> Result<Socket, Error> {
    let socket = bind_tcp(address, true).and_then(|socket| {
        socket.listen(BACKLOG)?;
        Ok(socket)
    });
    socket.map_err(|source| Error::Listen {
        address: address.to_string(),
        source,
    })
}

fn bind_tcp(address: SocketAddr, shared: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// The access to a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The access that the options `socket.*` set.
    Given {
        mode: u32,
        owner: Option<u32>,
        group: Option<u32>,
    },
    /// Access for the same user only.
    Owner,
}

impl Access {
    fn given(socket: &SocketAccess) -> Result<Access, Error> {
        let owner = socket.owner.as_deref().map(users::user_id);
        let group = socket.group.as_deref().map(users::group_id);
        Ok(Access::Given {
            mode: socket.mode,
            owner: owner.transpose()?,
            group: group.transpose()?,
        })
    }

    /// Sets owner, group and mode of the file of a socket that does not listen yet.
    fn set(self, path: &Path) -> io::Result<()> {
        let Access::Given { mode, owner, group } = self else {
            return Ok(());
        };
        if owner.or(group).is_some() {
            lchown(path, owner, group)?;
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }
}

/// A bound Unix socket. Dropping it removes the file, unless another socket has replaced it.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    inode: (u64, u64),
}

impl UnixSocket {
    /// Binds the socket. A file left by a server that is gone is replaced.
    pub(crate) fn open(path: &Path, access: Access) -> Result<UnixSocket, Error> {
        let failed = |source| Error::Listen {
            address: format!("unix:{}", path.display()),
            source,
        };
        match path.symlink_metadata() {
            Ok(file) if !file.file_type().is_socket() => {
                return Err(Error::NotASocket(path.into()));
            }
            Ok(_) if answers(path) => return Err(Error::SocketTaken(path.into())),
            Ok(_) => std::fs::remove_file(path).map_err(failed)?,
            Err(_) => {}
        }
        let listener = bind_unix(path, access).map_err(failed)?;
        let file = path.symlink_metadata().map_err(failed)?;
        Ok(UnixSocket {
            listener,
            path: path.into(),
            inode: (file.dev(), file.ino()),
        })
    }
}

fn bind_unix(path: &Path, access: Access) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    if access == Access::Owner {
        // Before bind, so that the file is created with this mode and no other user can connect before.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    }
    socket.bind(&SockAddr::unix(path)?)?;
    if let Err(error) = access.set(path) {
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    socket.listen(BACKLOG)?;
    Ok(OwnedFd::from(socket).into())
}

/// Whether a process listens there. Any error but a refusal counts as yes.
fn answers(path: &Path) -> bool {
    match UnixStream::connect(path) {
        Ok(_) => true,
        Err(e) => !matches!(
            e.kind(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
        ),
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if self
            .path
            .symlink_metadata()
            .is_ok_and(|file| (file.dev(), file.ino()) == self.inode)
        {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Access = Access::Given {
        mode: 0o666,
        owner: None,
        group: None,
    };

    fn open(listen: &[Listen], slots: u32) -> Result<Sockets, Error> {
        Sockets::open_each(listen, ALL, slots)
    }

    fn tcp(text: &str) -> Listen {
        Listen::Tcp(text.parse().unwrap())
    }

    #[test]
    fn port_zero_is_the_same_port_for_every_slot() {
        let sockets = open(&[tcp("127.0.0.1:0"), tcp("127.0.0.1:0")], 3).unwrap();
        let ports: Vec<Vec<u16>> = (0..3)
            .map(|slot| {
                let fds = sockets.for_slot(slot).unwrap();
                fds.into_iter()
                    .map(|fd| std::net::TcpListener::from(fd).local_addr().unwrap().port())
                    .collect()
            })
            .collect();
        assert_eq!(ports[0], ports[1]);
        assert_eq!(ports[0], ports[2]);
        assert_ne!(ports[0][0], ports[0][1]);
        assert_eq!(
            sockets.addresses()[0],
            format!("http://127.0.0.1:{}", ports[0][0])
        );
    }

    #[test]
    fn a_port_taken_names_the_holder_even_if_it_shares_ports() {
        let first = open(&[tcp("127.0.0.1:0")], 2).unwrap();
        let address = first.addresses()[0]
            .trim_start_matches("http://")
            .to_owned();
        let error = open(&[tcp(&address)], 1).unwrap_err().to_string();
        let expected = format!(
            "cannot listen on {address}: the address is in use by process {} (",
            std::process::id()
        );
        assert!(error.starts_with(&expected), "{error}");
    }

    #[test]
    fn a_stale_socket_is_replaced_a_live_one_and_a_file_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        let socket = UnixSocket::open(&path, ALL).unwrap();
        assert!(matches!(
            UnixSocket::open(&path, ALL),
            Err(Error::SocketTaken(_))
        ));
        drop(socket);
        assert!(!path.exists());
        std::fs::write(&path, "x").unwrap();
        assert!(matches!(
            UnixSocket::open(&path, ALL),
            Err(Error::NotASocket(_))
        ));
        assert_eq!(std::fs::read(&path).unwrap(), b"x");
    }
}
