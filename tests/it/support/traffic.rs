//! Clients that send requests continuously while a test acts on the server.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use testkit::Server;
use testkit::http::Response;

/// Whether the work during which clients load the server is done.
pub(crate) struct Done(AtomicBool);

impl Done {
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs `client` in `clients` threads, each with its number, while `work` runs. A client ends when the work is done.
pub(crate) fn meanwhile(clients: usize, client: impl Fn(usize, &Done) + Sync, work: impl FnOnce()) {
    let done = Done(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _end = End(&done);
        for number in 0..clients {
            let (client, done) = (&client, &done);
            scope.spawn(move || client(number, done));
        }
        work();
    });
}

/// Marks the work as done also if it panics, or the clients would never end.
struct End<'a>(&'a Done);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Sends GETs on `clients` connections at the same time until `work` is done; asserts that no response fails but those
/// that `may_fail` accepts. Returns how many were answered, and how many failed in an accepted way. Each client keeps one
/// connection for as long as the server does.
pub(crate) fn under_load(
    server: &Server,
    clients: usize,
    target: &str,
    may_fail: impl Fn(&Response) -> bool + Sync,
    work: impl FnOnce(),
) -> (usize, usize) {
    let (answered, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let request = |_, done: &Done| {
        let mut client = server.connect();
        while !done.is_done() {
            let response = client.get(target);
            answered.fetch_add(1, Ordering::Relaxed);
            if response.status != 200 {
                let text = response.text();
                assert!(may_fail(&response), "{} {text}", response.status);
                failed.fetch_add(1, Ordering::Relaxed);
            }
            if response.header("connection") == Some("close") {
                client = server.connect();
            }
        }
    };
    meanwhile(clients, request, work);
    (answered.into_inner(), failed.into_inner())
}
