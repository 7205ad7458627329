//! The target of the access log's lines: a file, standard error, or syslog.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use config::LogTarget;

use crate::log_file::{above_reserved, open};

/// Bytes that a pipe takes in one piece (PIPE_BUF), so that lines of several processes do not mix.
const PIECE: usize = 4096;
/// Severity "informational" of the facility "daemon", RFC 3164.
const PRIORITY: &str = "<30>";

pub(super) enum Sink {
    /// A file to which several processes append; each write is whole.
    File(File),
    Stderr,
    /// The path of the log's socket, and the connection; `None` after an error, until the next lines connect again.
    Syslog(PathBuf, Option<UnixDatagram>),
}

impl Sink {
    pub(super) fn open(target: &LogTarget) -> io::Result<Sink> {
        Ok(match target {
            LogTarget::Stderr => Sink::Stderr,
            LogTarget::Syslog(path) => Sink::Syslog(path.clone(), Some(connect(path)?)),
            LogTarget::File(path) => Sink::File(open(path)?),
        })
    }

    /// Writes whole lines.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file) => file.write_all(lines),
            Sink::Stderr => {
                let mut stderr = io::stderr().lock();
                pieces(lines).try_for_each(|piece| stderr.write_all(piece))
            }
            Sink::Syslog(path, socket) => {
                let sent = send(socket.take().map_or_else(|| connect(path), Ok)?, lines)?;
                *socket = Some(sent);
                Ok(())
            }
        }
    }
}

/// Sends each line as a message, and returns the socket if that succeeds. A daemon that was restarted has another socket, so
/// after an error the next lines connect again.
fn send(socket: UnixDatagram, lines: &[u8]) -> io::Result<UnixDatagram> {
    let mut message = format!("{PRIORITY}hearth[{}]: ", std::process::id()).into_bytes();
    let head = message.len();
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        message.truncate(head);
        message.extend_from_slice(line);
        socket.send(&message)?;
    }
    Ok(socket)
}

fn connect(path: &PathBuf) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    // A line is lost rather than that the server waits for the system's log.
    socket.set_nonblocking(true)?;
    Ok(above_reserved(socket.into())?.into())
}

/// Splits lines into pieces of whole lines, each of at most [`PIECE`] bytes, or of one longer line.
fn pieces(mut lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let first = lines.iter().position(|byte| *byte == b'\n')? + 1;
        let within = &lines[..lines.len().min(PIECE)];
        let last = within.iter().rposition(|byte| *byte == b'\n');
        let (piece, rest) = lines.split_at(last.map_or(first, |at| at + 1));
        lines = rest;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines() {
        let line = |length: usize| [vec![b'x'; length - 1], vec![b'\n']].concat();
        let lines = [line(4000), line(90), line(6), line(5000), line(1)].concat();
        let lengths: Vec<_> = pieces(&lines).map(<[u8]>::len).collect();
        assert_eq!(lengths, [4096, 5000, 1]);
        assert_eq!(pieces(b"").count(), 0);
    }
}
