//! A small HTTP/1 client that sends exactly the given bytes and reads exactly one response.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(20);

/// One response, as received.
#[derive(Debug, Clone)]
pub struct Response {
    /// `HTTP/1.0` or `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    /// The reason phrase of the status line.
    pub reason: String,
    /// Header fields in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, decoded if it was chunked.
    pub body: Vec<u8>,
    /// The chunks as they were received, if the body was chunked.
    pub chunks: Vec<Vec<u8>>,
}

impl Response {
    /// Returns the first field of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns every field of that name.
    pub fn header_all(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The reason why no response could be read.
#[derive(Debug)]
pub enum Broken {
    /// The server closed the connection before the end, or before the first byte (then no bytes are in it).
    Closed(Vec<u8>),
    /// The server closed the connection in the middle of the body; with the head of the response.
    Cut(Box<Response>),
    /// The connection failed.
    Io(std::io::Error),
}

/// A client connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to `127.0.0.1:PORT`.
    ///
    /// # Panics
    /// If no process listens there.
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address)
            .unwrap_or_else(|error| panic!("connect {address}: {error}"));
        Self::of(stream)
    }

    /// Uses a connection that is already established.
    ///
    /// # Panics
    /// If its options cannot be set.
    pub fn of(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(TIMEOUT))
            .expect("a timeout can be set");
        stream.set_nodelay(true).expect("nodelay can be set");
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Sets how long a response may take; the default is 20 seconds.
    ///
    /// # Panics
    /// If `time` is zero.
    pub fn set_timeout(&self, time: Duration) {
        self.stream
            .set_read_timeout(Some(time))
            .expect("a timeout can be set");
    }

    /// Returns the socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the bytes that were received and not read yet.
    pub fn buffered(&self) -> &[u8] {
        &self.buffer
    }

    /// Sends bytes as they are.
    ///
    /// # Panics
    /// If the connection is broken.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream
            .write_all(bytes.as_ref())
            .expect("the request can be sent");
    }

    /// Sends one GET with a Host field and reads the response; the connection stays open.
    pub fn get(&mut self, target: &str) -> Response {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        self.response()
    }

    /// Sends one POST of a body with its length and reads the response.
    pub fn post(&mut self, target: &str, media_type: &str, body: impl AsRef<[u8]>) -> Response {
        let body = body.as_ref();
        let length = body.len();
        self.send(format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
        ));
        self.send(body);
        self.response()
    }

    /// Reads the next response.
    ///
    /// # Panics
    /// If no response arrives.
    pub fn response(&mut self) -> Response {
        self.try_response(false)
            .unwrap_or_else(|broken| panic!("no response: {broken:?}"))
    }

    /// Reads the response to a HEAD: its head only, whatever length it announces.
    ///
    /// # Panics
    /// If no response arrives.
    pub fn response_to_head(&mut self) -> Response {
        self.try_response(true)
            .unwrap_or_else(|broken| panic!("no response: {broken:?}"))
    }

    /// Reads the next response, or returns how the connection ended.
    ///
    /// # Errors
    /// If the connection ends or fails before the response does.
    pub fn try_response(&mut self, head: bool) -> Result<Response, Broken> {
        let end = self.fill_until(b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut response = parse_head(&text);
        if head || matches!(response.status, 100..=199 | 204 | 304) {
            return Ok(response);
        }
        match self.read_body(&mut response) {
            Ok(()) => Ok(response),
            Err(Broken::Closed(_)) => Err(Broken::Cut(Box::new(response))),
            Err(broken) => Err(broken),
        }
    }

    fn read_body(&mut self, response: &mut Response) -> Result<(), Broken> {
        if response.header("transfer-encoding") == Some("chunked") {
            self.read_chunks(response)?;
        } else if let Some(length) = response.header("content-length") {
            let length = length.parse().expect("content-length is a number");
            response.body = self.take(length)?;
        } else {
            response.body = self.take_rest()?;
        }
        Ok(())
    }

    /// Reads until the server closes the connection; returns the bytes not read yet.
    ///
    /// # Errors
    /// If the connection fails instead.
    pub fn take_rest(&mut self) -> Result<Vec<u8>, Broken> {
        while self.fill()? > 0 {}
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Returns whether the server closes the connection without another byte.
    pub fn is_closed_by_server(&mut self) -> bool {
        self.buffer.is_empty()
            && match self.fill() {
                Ok(count) => count == 0,
                // A time-out is no end: the server only sends nothing.
                Err(Broken::Io(error)) => error.kind() != std::io::ErrorKind::WouldBlock,
                Err(Broken::Closed(_) | Broken::Cut(_)) => true,
            }
    }

    /// Reads one chunk of a chunked body, empty at its end; to be called after [`Client::head`].
    ///
    /// # Errors
    /// If the connection ends or fails first.
    pub fn chunk(&mut self) -> Result<Vec<u8>, Broken> {
        let end = self.fill_until(b"\r\n")?;
        let size = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 2);
        let size = usize::from_str_radix(size.trim(), 16)
            .unwrap_or_else(|_| panic!("chunk size {size:?}"));
        let chunk = self.take(size)?;
        self.take(2)?;
        Ok(chunk)
    }

    /// Reads the head of the next response and leaves its body unread.
    ///
    /// # Errors
    /// If the connection ends or fails first.
    pub fn head(&mut self) -> Result<Response, Broken> {
        self.try_response(true)
    }

    fn read_chunks(&mut self, response: &mut Response) -> Result<(), Broken> {
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(());
            }
            response.body.extend_from_slice(&chunk);
            response.chunks.push(chunk);
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, Broken> {
        while self.buffer.len() < length {
            if self.fill()? == 0 {
                return Err(Broken::Closed(std::mem::take(&mut self.buffer)));
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn fill_until(&mut self, mark: &[u8]) -> Result<usize, Broken> {
        loop {
            if let Some(at) = self
                .buffer
                .windows(mark.len())
                .position(|window| window == mark)
            {
                return Ok(at);
            }
            if self.fill()? == 0 {
                return Err(Broken::Closed(std::mem::take(&mut self.buffer)));
            }
        }
    }

    fn fill(&mut self) -> Result<usize, Broken> {
        let mut bytes = [0; 65536];
        let count = self.stream.read(&mut bytes).map_err(Broken::Io)?;
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

fn parse_head(text: &str) -> Response {
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut words = first.splitn(3, ' ');
    let version = words.next().unwrap_or_default().to_owned();
    let status = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("status line {first:?}"));
    let reason = words.next().unwrap_or_default().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Response {
        version,
        status,
        reason,
        headers,
        body: Vec::new(),
        chunks: Vec::new(),
    }
}
