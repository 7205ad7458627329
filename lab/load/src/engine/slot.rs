//! A slot: at most one connection, and the request in flight on it.
//!
//! A slot outlives its connections, so that fairness is counted per slot and not per socket.

use crate::clock::Nanos;
use crate::http1::Reader;
use crate::record::Times;
use crate::transport::Transport;

/// The state of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection, no request.
    #[default]
    Closed,
    /// A request waits for another attempt to connect.
    Retry,
    /// A request waits for the connection.
    Connecting,
    /// A request waits for the TLS handshake.
    Handshaking,
    /// The request is partly written.
    Sending,
    /// The answer is awaited or being read.
    Waiting,
    /// Connected, no request.
    Idle,
}

impl State {
    /// Returns whether a request is in flight.
    pub(crate) fn is_busy(self) -> bool {
        !matches!(self, Self::Closed | Self::Idle)
    }

    /// Returns whether the connection cannot carry a request yet.
    pub(crate) fn is_opening(self) -> bool {
        matches!(self, Self::Retry | Self::Connecting | Self::Handshaking)
    }
}

/// A slot: its connection, its request and its counts.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) state: State,
    pub(crate) transport: Option<Transport>,
    pub(crate) reader: Reader,
    pub(crate) request: usize,
    /// Responses still to come: more than one where requests are pipelined.
    pub(crate) awaited: usize,
    /// Bytes of the request that are already written.
    pub(crate) written: usize,
    pub(crate) times: Times,
    pub(crate) connect_began: Nanos,
    pub(crate) handshake_began: Nanos,
    /// Responses received on this connection.
    pub(crate) served: u64,
    /// Consecutive failures to connect.
    pub(crate) failures: u32,
    /// Whether the request began on a connection that had served another before.
    pub(crate) reused: bool,
    /// Responses received on this slot.
    pub(crate) answered: u64,
    /// Longest wait for one response.
    pub(crate) longest: Nanos,
    /// The request as written, where it differs from the prepared one (cookies).
    pub(crate) own_bytes: Vec<u8>,
    /// Cookies that the server has set.
    pub(crate) jar: Vec<(String, String)>,
}

impl Slot {
    /// Resets the counts of the warm-up.
    pub(crate) fn restart(&mut self) {
        self.answered = 0;
        self.longest = 0;
    }

    /// Returns the value of the Cookie field.
    pub(crate) fn cookies(&self) -> String {
        let pairs: Vec<String> = self
            .jar
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    fn header_lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reader
            .head
            .split(|byte| *byte == b'\n')
            .filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'))
    }

    /// Returns a field of the response, if its head was kept.
    pub(crate) fn header(&self, wanted: &str) -> Option<String> {
        let mut lines = self.header_lines();
        lines
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.trim().to_owned())
    }

    /// Stores the cookies that a response head sets.
    pub(crate) fn learn_cookies(&mut self) {
        let set: Vec<(String, String)> = self
            .header_lines()
            .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
            .filter_map(|(_, value)| value.split(';').next().unwrap_or("").trim().split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (name, value) in set {
            self.jar.retain(|(known, _)| *known != name);
            self.jar.push((name, value));
        }
    }
}
