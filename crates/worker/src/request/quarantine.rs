//! Requests that killed workers, seen from a worker: each request leaves its fingerprint in the scoreboard before it runs,
//! and one that killed two workers is answered 503 for a while ([`shm::Quarantine`]).
//!
//! 503 and not 500: the request was not run, and `Retry-After` says when it will be.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use http1::RequestHead;
use shm::{Suspect, Ticket, Writer};

use crate::response::{HttpResponse, plain};

pub(crate) struct Quarantine {
    table: shm::Quarantine,
    /// The epoch in which nothing in it counts any more.
    quiet: Cell<u64>,
    /// While the worker asks itself (`boot.probe`), which back-off slows down.
    is_off: Cell<bool>,
}

/// Fields that make two requests of one target different, beside their bodies.
const TELLING: [&str; 4] = ["Host", "Cookie", "Authorization", "Content-Length"];

/// So much of a body tells it from others.
const BODY: usize = 1024;

impl Quarantine {
    pub(crate) fn map(fd: &OwnedFd) -> io::Result<Quarantine> {
        Ok(Quarantine {
            table: shm::Quarantine::map(fd)?,
            quiet: Cell::new(0),
            is_off: Cell::new(true),
        })
    }

    /// This worker serves clients from here on.
    pub(crate) fn begin(&self) {
        self.is_off.set(false);
    }

    /// `body`: the beginning of it, as far as it is here. `again`: a worker has died with it.
    pub(crate) fn suspect(&self, head: &RequestHead, body: &[u8], again: bool) -> Suspect {
        let mut fingerprint = self.table.fingerprint();
        fingerprint.add(head.method());
        fingerprint.add(head.resource());
        for (name, value) in head.fields.iter() {
            if is_telling(name) {
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

    /// How long this request is not to be run yet.
    #[inline]
    pub(crate) fn refuses(&self, suspect: Suspect) -> Option<Duration> {
        match self.is_quiet() || self.is_off.get() {
            true => None,
            false => self.table.refuses(suspect.fingerprint),
        }
    }

    /// It has ended, and this worker lives.
    #[inline]
    pub(crate) fn survived(&self, board: &Writer, ticket: &Ticket) {
        if !self.is_quiet() {
            self.table.acquit(board.fingerprint(ticket));
        }
    }

    /// No worker has died lately.
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

fn is_telling(name: &[u8]) -> bool {
    matches!(name.len(), 4 | 6 | 13 | 14)
        && TELLING
            .iter()
            .any(|telling| telling.as_bytes().eq_ignore_ascii_case(name))
}

/// The answer to such a request, which may be asked for again in so long.
pub(crate) fn refused(left: Duration) -> HttpResponse {
    let text = "This request has stopped the server's workers and is not run for a while.\n";
    let mut answer = plain(503, text);
    let seconds = left.as_secs().max(1).to_string();
    answer.head.fields.push("Retry-After", seconds);
    answer
}
