//! Clients: some wait, some leave, some send the next request before the response; and the server that handlers send
//! questions to.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use testkit::http::{Broken, Client, Response};

use crate::random::Random;

const CLIENTS: u64 = 16;
/// Percentage of requests whose client does not wait for the response.
const LEAVE: u64 = 40;
/// A server that answers each line `MICROSECONDS TEXT`, and each HTTP request for `/MICROSECONDS/TEXT`, with TEXT after that
/// time.
#[derive(Debug)]
pub(crate) struct Echo {
    address: String,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn answer(stream: TcpStream) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    if line.contains(" HTTP/1.") {
        return answer_http(&mut reader, line);
    }
    let (time, text) = line.split_once(' ')?;
    thread::sleep(Duration::from_micros(time.parse().ok()?));
    (&stream).write_all(text.as_bytes()).ok()
}

/// Answers the requests of a connection, the first of which begins with `line`, until the client ends it.
fn answer_http(reader: &mut BufReader<&TcpStream>, mut line: String) -> Option<()> {
    loop {
        let (_, path) = line.split_once(" /")?;
        let (time, text) = path.split_once(' ')?.0.split_once('/')?;
        let closes = read_request(reader)?;
        thread::sleep(Duration::from_micros(time.parse().ok()?));
        let length = text.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Said: {text}\r\n\r\n");
        let mut stream = *reader.get_ref();
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(text.as_bytes()).ok()?;
        if closes {
            return None;
        }
        line.clear();
        reader.read_line(&mut line).ok()?;
    }
}

/// Reads the fields of a request and its body; returns whether its connection ends after it.
fn read_request(reader: &mut impl BufRead) -> Option<bool> {
    let (mut line, mut length, mut closes) = (String::new(), 0, false);
    while line != "\r\n" {
        line.clear();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|count| *count > 0)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        closes |= line.eq_ignore_ascii_case("connection: close\r\n");
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(closes)
}

impl Echo {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                thread::spawn(move || answer(stream));
            }
        });
        Self {
            address,
            ended,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The requests of a run.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) address: String,
    pub(crate) seed: u64,
    /// The numbers of the requests, which are in their tokens.
    pub(crate) requests: Range<u64>,
    pub(crate) handlers: u64,
    pub(crate) handler: Option<u64>,
    /// How long a client waits: longer than any wait that `request.timeout` ends, however busy the machine is.
    pub(crate) timeout: Duration,
}

/// A request: its token, its target and its bytes.
struct SentRequest {
    token: String,
    target: String,
    bytes: Vec<u8>,
}

impl Traffic {
    fn request(&self, number: u64, random: &mut Random) -> SentRequest {
        let handler = self.handler.unwrap_or_else(|| random.below(self.handlers)) % self.handlers;
        let token = format!("T{:x}{number:06x}T", self.seed & 0xfff);
        let target = format!("/h/{handler}?t={token}&how={}", random.below(10));
        let common = format!("Host: x\r\nX-Token: {token}\r\nCookie: t={token}\r\n");
        let more = "x".repeat(usize::try_from(random.below(3000)).unwrap_or(0));
        let (kind, body) = match random.below(100) {
            0..25 => (
                "application/x-www-form-urlencoded",
                format!("t={token}&more={more}"),
            ),
            25..33 => ("multipart/form-data; boundary=B", multipart(&token, &more)),
            _ => ("", String::new()),
        };
        let length = body.len();
        let bytes = if kind.is_empty() {
            format!("GET {target} HTTP/1.1\r\n{common}\r\n")
        } else if random.is(20) {
            format!(
                "POST {target} HTTP/1.1\r\n{common}Content-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
            )
        } else {
            format!(
                "POST {target} HTTP/1.1\r\n{common}Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        };
        SentRequest {
            token,
            target,
            bytes: bytes.into_bytes(),
        }
    }

    /// Returns what is wrong with a response: a token of another request.
    fn judge(request: &SentRequest, response: &Response) -> Option<String> {
        let mut text = response.text();
        for (name, value) in &response.headers {
            text.push_str(&format!("\n{name}: {value}"));
        }
        let mut rest = text.as_str();
        while let Some(at) = rest.find('T') {
            let word: String = rest[at + 1..]
                .chars()
                .take_while(char::is_ascii_hexdigit)
                .collect();
            rest = &rest[at + 1..];
            let is_token = word.len() >= 7 && rest[word.len()..].starts_with('T');
            if is_token && format!("T{word}T") != request.token {
                return Some(format!("{} got T{word}T: {text:.300}", request.target));
            }
        }
        None
    }

    /// Sends the requests of one connection, and adds the findings; returns false if no connection could be made.
    fn visit(&self, next: &AtomicU64, random: &mut Random, found: &mut Vec<String>) -> bool {
        let Ok(stream) = TcpStream::connect(&self.address) else {
            found.push("no connection".to_owned());
            return false;
        };
        let mut client = Client::of(stream);
        client.set_timeout(self.timeout);
        for turn in 0..1 + random.below(4) {
            let count = if random.is(20) { 2 } else { 1 };
            let requests: Vec<SentRequest> = (0..count)
                .map(|_| self.request(next.fetch_add(1, Ordering::Relaxed), random))
                .collect();
            let bytes: Vec<u8> = requests.iter().flat_map(|one| one.bytes.clone()).collect();
            let leaves = random.is(LEAVE);
            let torn = random
                .is(10)
                .then(|| usize::try_from(random.below(bytes.len() as u64)).unwrap_or(0));
            let sent = send(&client, &bytes, torn);
            if leaves {
                if random.is(20) {
                    let _ = client.stream().shutdown(Shutdown::Write);
                }
                thread::sleep(Duration::from_micros(random.below(6000)));
                return true;
            }
            for (n, one) in requests.iter().enumerate() {
                match client.try_response(false) {
                    Ok(response) => {
                        found.extend(Self::judge(one, &response));
                        if response.header("connection") == Some("close") {
                            return true;
                        }
                    }
                    // A connection that was idle may be closed at any time; a new one with a request may not.
                    Err(Broken::Closed(rest)) if rest.is_empty() && (turn > 0 || n > 0) => {
                        return true;
                    }
                    Err(Broken::Io(error))
                        if turn > 0 && error.kind() == std::io::ErrorKind::ConnectionReset =>
                    {
                        return true;
                    }
                    // A PHP error after the head was sent ends the body in the middle.
                    Err(Broken::Cut(response)) => {
                        found.extend(Self::judge(one, &response));
                        return true;
                    }
                    Err(_) if !sent => return true,
                    Err(broken) => {
                        found.push(format!("{} got no answer: {broken:?}", one.target));
                        return true;
                    }
                }
            }
        }
        true
    }
}

/// Returns a form with a field and a file.
fn multipart(token: &str, more: &str) -> String {
    format!(
        "--B\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\n{token}\r\n\
         --B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"{token}\"\r\n\r\n{token}{more}\r\n--B--\r\n"
    )
}

/// Sends the bytes at once, or in two parts.
fn send(client: &Client, bytes: &[u8], torn: Option<usize>) -> bool {
    let mut stream = client.stream();
    let (first, second) = bytes.split_at(torn.unwrap_or(0));
    if !first.is_empty() {
        if stream.write_all(first).is_err() {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    stream.write_all(second).is_ok()
}

/// Sends all requests; returns the findings.
pub(crate) fn send_all(traffic: &Traffic) -> Vec<String> {
    let next = AtomicU64::new(traffic.requests.start);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let next = &next;
                scope.spawn(move || {
                    let mut random =
                        Random::new(traffic.seed, 1000 + n + CLIENTS * traffic.requests.start);
                    let mut found = Vec::new();
                    while next.load(Ordering::Relaxed) < traffic.requests.end
                        && traffic.visit(next, &mut random, &mut found)
                    {}
                    found
                })
            })
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().expect("a client does not panic"))
            .collect()
    })
}
