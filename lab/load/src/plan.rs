//! The plan of a run, complete before the first connection: the one input of the engines.

use crate::expect::Expect;
use crate::request::Request;
use crate::schedule::{Spacing, Stage};
use crate::target::Target;
use measure::KeepAlive;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;

/// The version of HTTP to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.0, which ab uses.
    V1_0,
    /// HTTP/1.1, the default.
    V1_1,
    /// HTTP/2.
    V2,
}

/// The trigger of a connection's next request.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// The response to the previous request.
    Closed,
    /// A schedule that does not depend on responses.
    Open {
        /// The rate over time.
        stages: Vec<Stage>,
        /// How arrivals are spaced.
        spacing: Spacing,
    },
}

/// The pause between a response and the next request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// A constant pause.
    Fixed(Duration),
    /// An exponentially distributed pause with this mean.
    Exponential(Duration),
}

/// The load before the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Nothing.
    None,
    /// Load for this duration.
    For(Duration),
    /// Load until three seconds in a row agree within 5 %; 3 to 30 s.
    UntilSteady,
}

/// The order in which the requests of a mix are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// At random, by weight and seed.
    Weighted,
    /// As listed, cyclically, shared by all connections of a thread.
    Listed,
}

/// How the server's processes are found, to count their processor time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The process that listens on the target's port, if that is this machine.
    Listener,
    /// These processes and their descendants.
    Pids(Vec<u32>),
    /// Not at all: no processor time is counted.
    Off,
}

/// The client's TLS settings.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The settings of rustls.
    pub config: Arc<ClientConfig>,
    /// The server name for SNI and verification.
    pub name: ServerName<'static>,
}

/// The plan of one run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server under load.
    pub target: Target,
    /// The requests to send, with weights.
    pub requests: Arc<Vec<Request>>,
    /// The order of the requests.
    pub order: Order,
    /// The trigger of requests.
    pub pace: Pace,
    /// Connections (open loop: at most).
    pub connections: usize,
    /// Requests at once on one connection: streams of HTTP/2, or pipelined requests.
    pub streams: usize,
    /// Client threads.
    pub threads: usize,
    /// The number of requests after which the run ends.
    pub request_limit: Option<u64>,
    /// How long requests are started.
    pub duration: Option<Duration>,
    /// The load before the measurement.
    pub warmup: Warmup,
    /// Whether and how often a connection is reused.
    pub keep_alive: KeepAlive,
    /// The version of HTTP.
    pub http: Http,
    /// The pause after each response.
    pub think: Option<Think>,
    /// The time over which the connections are opened.
    pub ramp: Duration,
    /// The time after which a request without a complete response fails.
    pub timeout: Duration,
    /// How long to wait for requests in flight after the end.
    pub drain: Duration,
    /// The expectations of a good response.
    pub expect: Expect,
    /// TLS, for https.
    pub tls: Option<Tls>,
    /// Whether to keep the cookies that the server sets, per connection.
    pub cookie_jar: bool,
    /// The seed of every random choice.
    pub seed: u64,
    /// How the server's processes are found.
    pub watch: Watch,
}

impl Plan {
    /// Returns a plan of a closed loop of these requests, on one connection of one thread, without a limit.
    #[must_use]
    pub fn new(target: Target, requests: Vec<Request>) -> Self {
        Self {
            target,
            requests: Arc::new(requests),
            order: Order::Weighted,
            pace: Pace::Closed,
            connections: 1,
            streams: 1,
            threads: 1,
            request_limit: None,
            duration: None,
            warmup: Warmup::None,
            keep_alive: KeepAlive::On,
            http: Http::V1_1,
            think: None,
            ramp: Duration::ZERO,
            timeout: Duration::from_secs(10),
            drain: Duration::from_secs(2),
            expect: Expect::default(),
            tls: None,
            cookie_jar: false,
            seed: 1,
            watch: Watch::Off,
        }
    }

    /// Returns the most requests that can be in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.connections * self.streams
    }

    /// Returns whether requests follow a schedule.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }
}
