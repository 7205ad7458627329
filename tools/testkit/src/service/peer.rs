//! A peer that takes its time: what an app waits for over HTTP or a bare socket.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Answers each line `GET /MILLISECONDS` (any HTTP/1 request line, or that line alone) after that time.
#[derive(Debug)]
pub struct Peer {
    /// Its port on 127.0.0.1.
    pub port: u16,
}

impl Peer {
    /// Starts it; it lives as long as the test process.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener
            .local_addr()
            .expect("a bound socket has an address")
            .port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || answer(&stream));
            }
        });
        Self { port }
    }

    /// The address at which it answers after so many milliseconds.
    pub fn url(&self, milliseconds: u64) -> String {
        format!("http://127.0.0.1:{}/{milliseconds}", self.port)
    }
}

/// One request, one answer, then the end.
fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let wait = first
        .split(['/', ' ', '?'])
        .find_map(|word| word.parse().ok())?;
    if first.contains("HTTP/") {
        while lines.next()?.ok().is_some_and(|line| !line.is_empty()) {}
    }
    std::thread::sleep(Duration::from_millis(wait));
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlate\n")
        .ok()
}
