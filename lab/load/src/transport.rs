//! A non-blocking connection: TCP or Unix socket, plain or TLS.
//!
//! A plain read or write is exactly one system call; TLS is rustls without its own I/O, so that both run on the same
//! event loop.

use crate::plan::Tls;
use crate::target::Address;
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};
use nix::sys::socket::{setsockopt, sockopt};
use rustix::net::{SendFlags, send};
use rustls::ClientConnection;
use socket2::{Domain, SockAddr, Socket as Raw, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection, plain or TLS.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Begins to connect; `source` is the local address to bind to.
    pub(crate) fn connect(
        address: &Address,
        source: Option<IpAddr>,
        tls: Option<&Tls>,
    ) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(address) => Socket::Tcp(connect_tcp(*address, source)?),
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
        };
        let tls = tls
            .map(|tls| ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()))
            .transpose()
            .map_err(io::Error::other)?
            .map(|mut connection| {
                connection.set_buffer_limit(None);
                Box::new(connection)
            });
        Ok(Self { socket, tls })
    }

    /// Registers the connection with the poll.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match &mut self.socket {
            Socket::Tcp(stream) => registry.register(stream, token, both),
            Socket::Unix(stream) => registry.register(stream, token, both),
        }
    }

    /// Returns the error of a failed connect, if any.
    pub(crate) fn connect_error(&self) -> io::Result<Option<io::Error>> {
        match &self.socket {
            Socket::Tcp(stream) => stream.take_error(),
            Socket::Unix(stream) => stream.take_error(),
        }
    }

    /// Returns whether the connection uses TLS.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns the TLS version and cipher suite.
    pub(crate) fn session(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        Some(format!("{:?} {:?}", tls.protocol_version()?, suite).replace("TLSv1_", "TLS 1."))
    }

    /// Continues the handshake as far as possible; returns true when it is complete.
    pub(crate) fn handshake(&mut self, raw: &mut [u8]) -> io::Result<bool> {
        let Some(tls) = self.tls.as_mut() else {
            return Ok(true);
        };
        loop {
            flush(tls, &mut self.socket)?;
            if !tls.is_handshaking() {
                return Ok(true);
            }
            match read_socket(&mut self.socket, raw) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "connection closed during the TLS handshake",
                    ));
                }
                Ok(n) => deliver(tls, &raw[..n])?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes `bytes` from `at` on; returns true when all of them are written.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8], at: &mut usize) -> io::Result<bool> {
        if let Some(tls) = self.tls.as_mut() {
            tls.writer().write_all(&bytes[*at..])?;
            *at = bytes.len();
            return match flush(tls, &mut self.socket) {
                Ok(()) => Ok(!tls.wants_write()),
                Err(error) => Err(error),
            };
        }
        while *at < bytes.len() {
            match write_socket(&mut self.socket, &bytes[*at..]) {
                Ok(n) => *at += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads decrypted bytes into `buffer`; 0 means end of stream. `raw` is scratch space for TLS.
    #[inline]
    pub(crate) fn read(&mut self, buffer: &mut [u8], raw: &mut [u8]) -> io::Result<usize> {
        match self.tls.as_mut() {
            None => read_socket(&mut self.socket, buffer),
            Some(tls) => read_tls(tls, &mut self.socket, buffer, raw),
        }
    }
}

fn connect_tcp(address: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = Raw::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking().cloexec(),
        None,
    )?;
    socket.set_tcp_nodelay(true)?;
    if let Some(source) = source {
        // IP_BIND_ADDRESS_NO_PORT: connect(2) chooses the port, so that only the four-tuple must be unused.
        setsockopt(&socket, sockopt::IpBindAddressNoPort, &true)?;
        socket.bind(&SockAddr::from(SocketAddr::new(source, 0)))?;
    }
    match socket.connect(&SockAddr::from(address)) {
        Ok(()) => {}
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    Ok(TcpStream::from_std(socket.into()))
}

// Raw system calls: libc's wrappers are points of thread cancellation, which cost two atomic operations per call in a
// multi-threaded program.

#[inline]
fn read_socket(socket: &mut Socket, buffer: &mut [u8]) -> io::Result<usize> {
    let read = match socket {
        Socket::Tcp(stream) => rustix::io::read(&*stream, buffer),
        Socket::Unix(stream) => rustix::io::read(&*stream, buffer),
    };
    read.map_err(io::Error::from)
}

#[inline]
fn write_socket(socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
    let written = match socket {
        Socket::Tcp(stream) => send(&*stream, bytes, SendFlags::NOSIGNAL),
        Socket::Unix(stream) => send(&*stream, bytes, SendFlags::NOSIGNAL),
    };
    written.map_err(io::Error::from)
}

fn flush(tls: &mut ClientConnection, socket: &mut Socket) -> io::Result<()> {
    while tls.wants_write() {
        let written = match socket {
            Socket::Tcp(stream) => tls.write_tls(stream),
            Socket::Unix(stream) => tls.write_tls(stream),
        };
        match written {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn deliver(tls: &mut ClientConnection, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        tls.read_tls(&mut bytes)?;
        tls.process_new_packets()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    }
    Ok(())
}

fn read_tls(
    tls: &mut ClientConnection,
    socket: &mut Socket,
    buffer: &mut [u8],
    raw: &mut [u8],
) -> io::Result<usize> {
    loop {
        match tls.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A peer that closes without close_notify has ended the stream too.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            other => return other,
        }
        // At most as much as rustls can buffer as plain text at once.
        let limit = raw.len().min(16 * 1024);
        match read_socket(socket, &mut raw[..limit])? {
            0 => return Ok(0),
            n => deliver(tls, &raw[..n])?,
        }
        flush(tls, socket)?;
    }
}
