//! The limits on open connections: in all processes, in this process, from one address.
//!
//! At a limit, the connections that have been idle for longest are closed, as in nginx: clients that keep connections for
//! later do not keep others out.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use crate::settings::{Settings, or_most};
use crate::stream::Stream;

/// Descriptors below this number are left to PHP and its libraries, because `select()` supports no others.
pub const RESERVED_DESCRIPTORS: u32 = 1024;

/// Returns how many descriptors connections may take: those of this process without the reserved ones, but at least half.
fn most_descriptors() -> u64 {
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let reserved = u64::from(RESERVED_DESCRIPTORS);
    most.saturating_sub(reserved).max(most / 2)
}

/// The limits of one process.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    in_all: u64,
    here: u64,
    per_address: u64,
}

impl Admission {
    #[must_use]
    pub fn new(settings: &Settings) -> Admission {
        Admission {
            in_all: or_most(settings.max_connections.into()),
            here: most_descriptors().min(or_most(settings.max_connections_per_worker.into())),
            per_address: or_most(settings.max_connections_per_address.into()),
        }
    }

    /// Returns whether there are too many connections with `in_all` in all processes and `here` in this one.
    pub(crate) fn is_full(&self, in_all: u64, here: u64) -> bool {
        in_all > self.in_all || here > self.here
    }

    /// Returns whether the number of connections of an address is limited.
    #[must_use]
    pub fn has_address_limit(&self) -> bool {
        self.per_address != u64::MAX
    }

    pub(crate) fn is_full_of(&self, from_address: u64) -> bool {
        from_address > self.per_address
    }
}

/// Why a connection is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdmitted {
    Full,
    FullOfAddress,
}

impl NotAdmitted {
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            NotAdmitted::Full => {
                "the limit of connections is reached (http.max_connections, http.max_connections_per_worker)"
            }
            NotAdmitted::FullOfAddress => {
                "the limit of connections from its address is reached (http.max_connections_per_address)"
            }
        }
    }
}

const UNAVAILABLE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

/// Sends 503 to a client that is not admitted, and closes its connection.
pub fn turn_away(stream: impl Stream) {
    stream.try_send(UNAVAILABLE);
}

/// The number of connections of all threads of a process, and of each address.
#[derive(Debug, Default)]
pub struct OpenConnections(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    connections: u64,
    addresses: HashMap<IpAddr, u64>,
}

impl OpenConnections {
    fn open(&self) -> MutexGuard<'_, Open> {
        // Each change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> u64 {
        self.open().connections
    }

    pub(crate) fn of(&self, address: Option<IpAddr>) -> u64 {
        let counted = |address| self.open().addresses.get(&address).copied();
        address.and_then(counted).unwrap_or(0)
    }

    pub(crate) fn opened(&self, address: Option<IpAddr>) {
        let mut open = self.open();
        open.connections += 1;
        if let Some(address) = address {
            *open.addresses.entry(address).or_default() += 1;
        }
    }

    pub(crate) fn closed(&self, address: Option<IpAddr>) {
        let mut open = self.open();
        open.connections -= 1;
        if let Some(address) = address
            && let Some(count) = open.addresses.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                open.addresses.remove(&address);
            }
        }
    }
}

/// Returns whether the error is a lack of descriptors, of this process or of the system.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|errno| number == Some(errno.raw_os_error()))
}
