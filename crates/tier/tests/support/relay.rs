//! A relay between a server and its Redis, which can stop to forward as a network does that drops packets.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Default)]
struct Shared {
    is_stopped: Mutex<bool>,
    changed: Condvar,
    streams: Mutex<Vec<TcpStream>>,
}

pub struct Relay {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Relay {
    pub fn to(port: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let relay = Relay {
            port: own,
            shared: Arc::clone(&shared),
        };
        // It ends with the process.
        std::thread::spawn(move || {
            for inside in listener.incoming().map_while(Result::ok) {
                if let Ok(outside) = TcpStream::connect(("127.0.0.1", port)) {
                    shared.join(inside, outside);
                }
            }
        });
        relay
    }

    /// Nothing goes through in either direction, and nothing is closed.
    pub fn stop(&self) {
        self.set_stopped(true);
    }

    /// What waited goes through.
    pub fn resume(&self) {
        self.set_stopped(false);
    }

    /// What waited is lost, and all connections of now end.
    pub fn close(&self) {
        for stream in self.shared.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.set_stopped(false);
    }

    fn set_stopped(&self, is_stopped: bool) {
        *self.shared.is_stopped.lock().unwrap() = is_stopped;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn join(self: &Arc<Self>, inside: TcpStream, outside: TcpStream) {
        for (from, to) in [(&inside, &outside), (&outside, &inside)] {
            let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let shared = Arc::clone(self);
            std::thread::spawn(move || shared.forward(from, to));
        }
        self.streams.lock().unwrap().extend([inside, outside]);
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut bytes = [0; 65536];
        loop {
            let read = from.read(&mut bytes).unwrap_or(0);
            let is_stopped = self.is_stopped.lock().unwrap();
            drop(self.changed.wait_while(is_stopped, |is| *is).unwrap());
            if read == 0 || to.write_all(&bytes[..read]).is_err() {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
        }
    }
}
