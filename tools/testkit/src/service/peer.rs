//! A peer with delayed responses, for apps that wait for HTTP or a bare socket.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server that answers each line `GET /MILLISECONDS` (any HTTP/1 request line, or that line alone) after that time.
#[derive(Debug)]
pub struct Peer {
    /// The port on 127.0.0.1.
    pub port: u16,
    waiting: Arc<Waiting>,
}

/// The number of requests that wait now, and the most that waited at once.
#[derive(Debug, Default)]
struct Waiting {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Peer {
    /// Starts the peer, which runs as long as the test process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        let waiting = Arc::<Waiting>::default();
        let shared = Arc::clone(&waiting);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let waiting = Arc::clone(&shared);
                std::thread::spawn(move || answer(&stream, &waiting));
            }
        });
        Self { port, waiting }
    }

    /// Returns the most requests that waited at the same time.
    pub fn most_at_once(&self) -> usize {
        self.waiting.most.load(Ordering::Relaxed)
    }

    /// Returns the URL whose response takes this number of milliseconds.
    pub fn url(&self, milliseconds: u64) -> String {
        format!("http://127.0.0.1:{}/{milliseconds}", self.port)
    }
}

/// Answers one request, and closes the connection.
fn answer(mut stream: &TcpStream, waiting: &Waiting) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let wait = first
        .split(['/', ' ', '?'])
        .find_map(|word| word.parse().ok())?;
    if first.contains("HTTP/") {
        while lines.next()?.ok().is_some_and(|line| !line.is_empty()) {}
    }
    let now = waiting.now.fetch_add(1, Ordering::Relaxed) + 1;
    waiting.most.fetch_max(now, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(wait));
    waiting.now.fetch_sub(1, Ordering::Relaxed);
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlate\n")
        .ok()
}
