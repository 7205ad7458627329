//! HTTP requests to a private server that this command has started, by its Unix socket.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Sends a GET request on a new connection. An empty host is `localhost`.
pub(crate) fn get(socket: &Path, host: &str, uri: &str) -> io::Result<Response> {
    send(socket, host, "GET", uri, None)
}

/// Sends a request on a new connection, with a form as its body if there is one.
pub(crate) fn send(
    socket: &Path,
    host: &str,
    method: &str,
    uri: &str,
    form: Option<&str>,
) -> io::Result<Response> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let host = if host.is_empty() { "localhost" } else { host };
    let body = form.map_or_else(String::new, |form| {
        format!(
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        )
    });
    let end = if form.is_some() { "" } else { "\r\n" };
    write!(
        stream,
        "{method} {uri} HTTP/1.0\r\nHost: {host}\r\nUser-Agent: hearth\r\n{body}{end}"
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "no HTTP response"))
}

fn parse(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Response {
        status,
        body: bytes[end + 4..].to_vec(),
    })
}
