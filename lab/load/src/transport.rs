//! One non-blocking connection: TCP or Unix socket, plain or TLS.
//!
//! Plain reads and writes are one system call and nothing else; TLS is rustls driven by hand, so
//! that both run on the same event loop.

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

/// A connection.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Transport {
    /// Begins to connect; `source` is the local address to use.
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

    /// Tells the poll to watch it.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match &mut self.socket {
            Socket::Tcp(stream) => registry.register(stream, token, both),
            Socket::Unix(stream) => registry.register(stream, token, both),
        }
    }

    /// The error of a connect that failed.
    pub(crate) fn connect_error(&self) -> io::Result<Option<io::Error>> {
        match &self.socket {
            Socket::Tcp(stream) => stream.take_error(),
            Socket::Unix(stream) => stream.take_error(),
        }
    }

    /// True if TLS is spoken.
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// TLS version and cipher suite.
    pub(crate) fn session(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        Some(format!("{:?} {:?}", tls.protocol_version()?, suite).replace("TLSv1_", "TLS 1."))
    }

    /// Goes on with the handshake as far as possible; true when it is over.
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
                        "closed in the TLS handshake",
                    ));
                }
                Ok(n) => deliver(tls, &raw[..n])?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes `bytes` from `at` on; true when everything is out.
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

    /// Reads plain bytes into `buffer`; 0 is the end. `raw` is scratch space for TLS.
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
        // The port is chosen when connecting, so that only the whole address pair must be free.
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

// The raw system calls: libc's are points of thread cancellation, which costs two atomic
// operations per call in a program with threads.

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
            // A peer that closes without close_notify has still ended the stream.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            other => return other,
        }
        // Never more than rustls can buffer as plain text at once.
        let limit = raw.len().min(16 * 1024);
        match read_socket(socket, &mut raw[..limit])? {
            0 => return Ok(0),
            n => deliver(tls, &raw[..n])?,
        }
        flush(tls, socket)?;
    }
}
