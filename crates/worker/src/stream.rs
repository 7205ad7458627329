//! What a connection needs of its stream besides reading and writing: a look at what comes, without taking it.

use std::io;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

/// A connected socket.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {
    /// Ready when there is something to read, or its end, or an error; or was, and nobody has looked since.
    fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// How many bytes could be read now, one or more; 0 at their end. Without any, what [`Stream::poll_readable`] knows
    /// is forgotten.
    fn peek(&self) -> io::Result<usize>;
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
        }
    )*};
}

streams!(TcpStream, UnixStream);
