//! A server that answers on a known schedule and remembers what it did.
//!
//! One blocking thread per connection; the path of a request says what happens to it. The server
//! keeps its own record of how long each answer took, so a late sleep of a busy machine is part
//! of the truth and not an error of the client.

use socket2::SockRef;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// More connections than any test opens.
pub(crate) const UNLIMITED: usize = 1 << 30;

/// What the server did.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Requests, by method and path.
    pub(crate) requests: BTreeMap<String, u64>,
    /// From the whole request being read to the whole answer being written.
    pub(crate) took: Vec<Duration>,
    /// The same, until the last of the answer went: no client can have it sooner.
    pub(crate) least: Vec<Duration>,
    /// Bodies received.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Heads received (the first hundred).
    pub(crate) heads: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    served: AtomicU64,
    connections: AtomicU64,
    record: Mutex<Record>,
    freeze: Option<(Duration, Duration)>,
    first: Mutex<Option<Instant>>,
    /// Connections that may be served at once, as with prefork workers.
    slots: Mutex<usize>,
    slot_free: Condvar,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What becomes of the connection after a request.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Keep,
    Close,
    Reset,
}

impl Truth {
    pub(crate) fn start() -> Self {
        Self::with(None, UNLIMITED)
    }

    /// Freezes for `length`, `after` the first request.
    pub(crate) fn freezing(after: Duration, length: Duration) -> Self {
        Self::with(Some((after, length)), UNLIMITED)
    }

    /// Serves only this number of connections at once; others wait in vain.
    pub(crate) fn with_slots(slots: usize) -> Self {
        Self::with(None, slots)
    }

    fn with(freeze: Option<(Duration, Duration)>, slots: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            served: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            record: Mutex::default(),
            freeze,
            first: Mutex::new(None),
            slots: Mutex::new(slots),
            slot_free: Condvar::new(),
        });
        let inner = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &inner));
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Requests answered or refused so far.
    pub(crate) fn served(&self) -> u64 {
        self.shared.served.load(Ordering::SeqCst)
    }

    /// Connections that carried at least one request.
    pub(crate) fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Takes the record.
    pub(crate) fn record(&self) -> Record {
        std::mem::take(&mut *self.shared.record.lock().unwrap())
    }
}

impl Drop for Truth {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.slot_free.notify_all();
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        threads.push(std::thread::spawn(move || serve(&stream, &shared)));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn serve(stream: &TcpStream, shared: &Shared) {
    stream.set_nodelay(true).unwrap();
    // So that the thread sees the end of the test.
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    if !take_slot(shared) {
        return;
    }
    let mut reader = BufReader::new(stream);
    let mut on_connection = 0;
    while let Some(request) = read_request(&mut reader, shared) {
        if on_connection == 0 {
            shared.connections.fetch_add(1, Ordering::SeqCst);
        }
        on_connection += 1;
        let began = Instant::now();
        let sent = Cell::new(None);
        let then = answer(stream, &request, on_connection, shared, &sent);
        let took = began.elapsed();
        let mut record = shared.record.lock().unwrap();
        record.took.push(took);
        record.least.push(sent.get().map_or(took, |at| at - began));
        drop(record);
        if then == Then::Reset {
            let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
        if then != Then::Keep {
            break;
        }
    }
    *shared.slots.lock().unwrap() += 1;
    shared.slot_free.notify_one();
}

fn take_slot(shared: &Shared) -> bool {
    let mut slots = shared.slots.lock().unwrap();
    while *slots == 0 && !shared.stop.load(Ordering::SeqCst) {
        slots = shared.slot_free.wait(slots).unwrap();
    }
    *slots = slots.saturating_sub(1);
    !shared.stop.load(Ordering::SeqCst)
}

struct Request {
    path: String,
    keep: bool,
    number: u64,
}

fn read_request(reader: &mut BufReader<&TcpStream>, shared: &Shared) -> Option<Request> {
    let mut head = String::new();
    loop {
        match reader.read_line(&mut head) {
            Ok(0) => return None,
            Ok(_) if head.ends_with("\r\n\r\n") => break,
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if shared.stop.load(Ordering::SeqCst) {
                    return None;
                }
            }
            Err(_) => return None,
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    shared
        .first
        .lock()
        .unwrap()
        .get_or_insert_with(Instant::now);
    let mut words = head.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let number = shared.served.fetch_add(1, Ordering::SeqCst);
    let mut record = shared.record.lock().unwrap();
    *record
        .requests
        .entry(format!("{method} {path}"))
        .or_default() += 1;
    if length > 0 && record.bodies.len() < 100 {
        record.bodies.push(body);
    }
    if record.heads.len() < 100 {
        record.heads.push(head);
    }
    let old = lower.contains("http/1.0") && !lower.contains("connection: keep-alive");
    Some(Request {
        path,
        keep: !old && !lower.contains("connection: close"),
        number,
    })
}

/// `sent` becomes the moment before the last bytes go: their receiver may run before this thread does again.
fn answer(
    mut out: &TcpStream,
    request: &Request,
    on_connection: u64,
    shared: &Shared,
    sent: &Cell<Option<Instant>>,
) -> Then {
    let mut parts = request.path.trim_start_matches('/').splitn(2, '/');
    let (what, value) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let number: u64 = value.parse().unwrap_or(0);
    let ok = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nServer: truth\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let every = number > 0 && (request.number + 1).is_multiple_of(number);
    match what {
        "delay" => wait(Duration::from_millis(number), shared),
        "schedule" => wait(scheduled(request.number), shared),
        _ => wait(Duration::ZERO, shared),
    }
    let (text, then) = match what {
        "eof" => return Then::Close,
        "eof-every" if every => return Then::Close,
        "reset" => return Then::Reset,
        "reset-mid" => {
            let _ = out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart");
            wait(Duration::from_millis(20), shared);
            return Then::Reset;
        }
        "truncate" => ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort".to_owned(), Then::Close),
        "long" => ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore".to_owned(), Then::Keep),
        "garbage" => ("SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned(), Then::Close),
        "bad-chunk" => ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".to_owned(), Then::Close),
        "chunked" => ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nwiki\r\n5\r\npedia\r\n0\r\nT: x\r\n\r\n".to_owned(), Then::Keep),
        "until-close" => ("HTTP/1.1 200 OK\r\n\r\nto the end".to_owned(), Then::Close),
        "slow-body" => {
            let _ = out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
            wait(Duration::from_millis(number), shared);
            ("cd".to_owned(), Then::Keep)
        }
        "never" => {
            while !shared.stop.load(Ordering::SeqCst) && out.peek(&mut [0]).is_err() {
                std::hint::spin_loop();
            }
            return Then::Close;
        }
        "status" => (format!("HTTP/1.1 {number} Some\r\nContent-Length: 5\r\n\r\nwrong"), Then::Keep),
        "status-every" if every => ("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops".to_owned(), Then::Keep),
        "close-after" if on_connection >= number => ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_owned(), Then::Close),
        "varying" => (ok(&"x".repeat((request.number % 10) as usize)), Then::Keep),
        "cookie" => (ok("ok").replace("Server: truth", &format!("Set-Cookie: visit={on_connection}; Path=/")), Then::Keep),
        "big" => (ok(&"x".repeat(number as usize)), Then::Keep),
        _ => (ok("ok"), Then::Keep),
    };
    let text = if request.keep {
        text
    } else {
        text.replace("Connection: keep-alive", "Connection: close")
    };
    sent.set(Some(Instant::now()));
    match out.write_all(text.as_bytes()) {
        Ok(()) if request.keep => then,
        _ => Then::Close,
    }
}

/// 90 of 100 take 2 ms, 8 take 15 ms, 2 take 60 ms, in a fixed shuffled order.
fn scheduled(number: u64) -> Duration {
    Duration::from_millis(match (number * 37) % 100 {
        0..90 => 2,
        90..98 => 15,
        _ => 60,
    })
}

/// Waits as asked, and through the freeze if it is on.
fn wait(length: Duration, shared: &Shared) {
    if !length.is_zero() {
        std::thread::sleep(length);
    }
    let (Some((after, frozen)), Some(first)) = (shared.freeze, *shared.first.lock().unwrap())
    else {
        return;
    };
    let since = first.elapsed();
    if since >= after && since < after + frozen {
        std::thread::sleep(after + frozen - since);
    }
}
