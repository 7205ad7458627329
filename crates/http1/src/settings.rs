//! The limits and timeouts of clients: from the configuration to all processes that serve connections.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::parse::Limits;

/// The options `http.*`, by name. 0 means no limit, except for `keepalive_timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub header_timeout: Duration,
    /// With 0, a connection is closed after each response.
    pub keepalive_timeout: Duration,
    pub body_timeout: Duration,
    pub send_timeout: Duration,
    /// Bytes per second of a body or a response.
    pub min_rate: u64,
    pub max_body: u64,
    /// Bytes of a request's head.
    pub max_header_size: u64,
    /// Fields of a request's head.
    pub max_headers: u32,
    /// Requests of one connection.
    pub max_requests: u32,
    /// Open connections in all.
    pub max_connections: u32,
    /// Open connections of one worker that accepts connections.
    pub max_connections_per_worker: u32,
    /// Open connections from one address.
    pub max_connections_per_address: u32,
    /// Bytes of bodies and responses in temporary files, of one process.
    pub max_spool: u64,
}

/// Returns the limit, with 0 as the largest number.
pub(crate) fn or_most(limit: u64) -> u64 {
    if limit == 0 { u64::MAX } else { limit }
}

/// Returns the milliseconds, with 0 as the largest number.
#[cfg(feature = "server")]
pub(crate) fn or_longest(limit: Duration) -> u64 {
    or_most(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

impl Settings {
    /// Returns the limits of a request's head.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let head = usize::try_from(or_most(self.max_header_size)).unwrap_or(usize::MAX);
        Limits {
            head,
            target: head.min(Limits::LONGEST_TARGET),
            fields: match self.max_headers {
                0 => Limits::MOST_FIELDS,
                most => usize::try_from(most)
                    .map_or(Limits::MOST_FIELDS, |most| most.min(Limits::MOST_FIELDS)),
            },
        }
    }
}

impl Default for Settings {
    /// Has no limits of time and number, except for heads.
    fn default() -> Settings {
        Settings {
            header_timeout: Duration::ZERO,
            keepalive_timeout: Duration::MAX,
            body_timeout: Duration::ZERO,
            send_timeout: Duration::ZERO,
            min_rate: 0,
            max_body: 0,
            max_header_size: 32 * 1024,
            max_headers: 100,
            max_requests: 0,
            max_connections: 0,
            max_connections_per_worker: 0,
            max_connections_per_address: 0,
            max_spool: 0,
        }
    }
}
