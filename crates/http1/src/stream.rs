//! The operations of a socket that a connection needs besides reading and writing.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Ready when the socket has bytes, EOF or an error; also if it only had them and was not polled since.
    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Returns how many bytes could be read now, one or more; 0 at EOF. Without any, clears the readiness that
    /// [`Stream::poll_readable`] knows.
    ///
    /// # Errors
    /// If there are no bytes now, or the connection is broken.
    fn peek(&self) -> io::Result<usize>;

    /// Returns whether there are bytes to read now, whatever [`Stream::poll_readable`] knows.
    fn has_unread(&self) -> bool;

    /// Sends the bytes, as far as the socket has room.
    fn try_send(&self, bytes: &[u8]);

    /// Makes the next close a reset, which the client cannot take for a proper end.
    fn break_off(&self);
}

fn peek_at(socket: impl AsFd) -> io::Result<usize> {
    let mut byte = [0; 1];
    let (_, length) = recv(socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT)?;
    Ok(length)
}

macro_rules! streams {
    ($($stream:ty),*) => {$(
        impl Stream for $stream {
            fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_read_ready(context)
            }

            fn peek(&self) -> io::Result<usize> {
                self.try_io(Interest::READABLE, || peek_at(self))
            }

            fn has_unread(&self) -> bool {
                peek_at(self).is_ok_and(|length| length > 0)
            }

            fn try_send(&self, bytes: &[u8]) {
                let _ = send(self, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            }

            fn break_off(&self) {
                // If this fails, the connection is gone anyway.
                let _ = set_socket_linger(self, Some(Duration::ZERO));
            }
        }
    )*};
}

streams!(TcpStream, UnixStream);
