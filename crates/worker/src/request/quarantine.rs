//! The worker's part of the quarantine: each request leaves its fingerprint in the scoreboard before it runs, and a request
//! that killed two workers is answered 503 for a while ([`shm::Quarantine`]).
//!
//! The status is 503, not 500, because the request was not run; `Retry-After` contains the time after which it will be.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use http1::RequestHead;
use shm::{Suspect, Ticket, Writer};

use crate::response::{HttpResponse, plain};

pub(crate) struct Quarantine {
    table: shm::Quarantine,
    /// The last epoch in which the table was found empty.
    quiet: Cell<u64>,
    /// Whether the quarantine is off: during the probe (`boot.probe`), whose failures are slowed down by back-off instead.
    is_off: Cell<bool>,
}

/// Fields that tell requests of one target apart, besides their bodies.
const DISTINGUISHING: [&str; 4] = ["Host", "Cookie", "Authorization", "Content-Length"];

/// Bytes of a body that tell it from other bodies.
const BODY: usize = 1024;

impl Quarantine {
    pub(crate) fn map(fd: &OwnedFd) -> io::Result<Quarantine> {
        Ok(Quarantine {
            table: shm::Quarantine::map(fd)?,
            quiet: Cell::new(0),
            is_off: Cell::new(true),
        })
    }

    /// Turns the quarantine on, when this worker begins to serve clients.
    pub(crate) fn begin(&self) {
        self.is_off.set(false);
    }

    /// Computes the fingerprint of a request. `body`: its beginning, as far as it has come. `again`: a worker has died with
    /// the request.
    pub(crate) fn suspect(&self, head: &RequestHead, body: &[u8], again: bool) -> Suspect {
        let mut fingerprint = self.table.fingerprint();
        fingerprint.add(head.method());
        fingerprint.add(head.resource());
        for (name, value) in head.fields.iter() {
            if is_distinguishing(name) {
                fingerprint.add(value);
            }
        }
        fingerprint.add(&body[..body.len().min(BODY)]);
        Suspect {
            fingerprint: fingerprint.finish(),
            epoch: self.table.epoch(),
            again,
        }
    }

    /// Returns for how long the request is not to be run; `None` if it may be run.
    #[inline]
    pub(crate) fn refuses(&self, suspect: Suspect) -> Option<Duration> {
        match self.is_quiet() || self.is_off.get() {
            true => None,
            false => self.table.refuses(suspect.fingerprint),
        }
    }

    /// Acquits a request that has ended without killing this worker.
    #[inline]
    pub(crate) fn survived(&self, board: &Writer, ticket: &Ticket) {
        if !self.is_quiet() {
            self.table.acquit(board.fingerprint(ticket));
        }
    }

    /// Whether no worker has died lately.
    fn is_quiet(&self) -> bool {
        let epoch = self.table.epoch();
        if epoch == self.quiet.get() {
            return true;
        }
        let is_quiet = self.table.is_empty();
        if is_quiet {
            self.quiet.set(epoch);
        }
        is_quiet
    }
}

fn is_distinguishing(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 6 | 13 | 14)
        && DISTINGUISHING
            .iter()
            .any(|field| field.as_bytes().eq_ignore_ascii_case(name))
}

/// Returns the response to a request in quarantine, which may be repeated after `left`.
pub(crate) fn refused(left: Duration) -> HttpResponse {
    let text = "This request has stopped the server's workers and is not run for a while.\n";
    let mut answer = plain(503, text);
    let seconds = left.as_secs().max(1).to_string();
    answer.head.fields.push("Retry-After", seconds);
    answer
}
