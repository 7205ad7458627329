//! A server that only sends a fixed response, so that what a run measures is the cost of the client.
//!
//! One thread per event loop, one fixed response with a body of two bytes, no parsing beyond finding the end of a
//! request.

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Socket, Type};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const LISTENER: Token = Token(usize::MAX - 1);
const WAKER: Token = Token(usize::MAX - 2);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nServer: bare\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";

/// A running bare server.
#[derive(Debug)]
pub(crate) struct Bare {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<(Arc<Waker>, JoinHandle<io::Result<()>>)>,
}

impl Bare {
    /// Listens on `address` with `threads` event loops.
    pub(crate) fn start(address: SocketAddr, threads: usize) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut server = Self {
            address,
            stop: Arc::clone(&stop),
            threads: Vec::new(),
        };
        for _ in 0..threads.max(1) {
            let mut listener = listen(server.address)?;
            server.address = listener.local_addr()?;
            let poll = Poll::new()?;
            poll.registry()
                .register(&mut listener, LISTENER, Interest::READABLE)?;
            let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
            let stop = Arc::clone(&stop);
            let thread = std::thread::spawn(move || serve(poll, &listener, &stop));
            server.threads.push((waker, thread));
        }
        Ok(server)
    }

    /// Waits until the server ends, which happens only after an error.
    pub(crate) fn join(mut self) -> io::Result<()> {
        for (_, thread) in self.threads.drain(..) {
            thread
                .join()
                .map_err(|_| io::Error::other("server thread panicked"))??;
        }
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (waker, thread) in self.threads.drain(..) {
            let _ = waker.wake();
            let _ = thread.join();
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM.nonblocking().cloexec(),
        None,
    )?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn serve(mut poll: Poll, listener: &TcpListener, stop: &AtomicBool) -> io::Result<()> {
    let mut events = Events::with_capacity(1024);
    let mut clients: HashMap<usize, TcpStream> = HashMap::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut next = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Err(error) = poll.poll(&mut events, None)
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error);
        }
        for event in &events {
            match event.token() {
                LISTENER => accept_all(listener, &poll, &mut clients, &mut next),
                WAKER => {}
                Token(id) => {
                    if clients
                        .get_mut(&id)
                        .is_some_and(|client| !answer(client, &mut buffer))
                    {
                        clients.remove(&id);
                    }
                }
            }
        }
    }
    Ok(())
}

fn accept_all(
    listener: &TcpListener,
    poll: &Poll,
    clients: &mut HashMap<usize, TcpStream>,
    next: &mut usize,
) {
    while let Ok((mut client, _)) = listener.accept() {
        let _ = client.set_nodelay(true);
        if poll
            .registry()
            .register(&mut client, Token(*next), Interest::READABLE)
            .is_ok()
        {
            clients.insert(*next, client);
            *next += 1;
        }
    }
}

/// Answers every complete request that can be read; returns false if the connection is to be closed.
fn answer(client: &mut TcpStream, buffer: &mut [u8]) -> bool {
    loop {
        let n = match client.read(buffer) {
            Ok(0) => return false,
            Ok(n) => n,
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        };
        let requests = memchr::memmem::find_iter(&buffer[..n], b"\r\n\r\n").count();
        let close = memchr::memmem::find(&buffer[..n], b"Connection: close").is_some();
        for _ in 0..requests {
            if client.write_all(ANSWER).is_err() {
                return false;
            }
        }
        if close || n < buffer.len() {
            return !close;
        }
    }
}
