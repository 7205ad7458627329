//! What to do, decided before the first connection: the one input of the engines.

use crate::expect::Expect;
use crate::request::Request;
use crate::schedule::{Spacing, Stage};
use crate::target::Target;
use measure::KeepAlive;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;

/// Protocol spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// As ab speaks.
    V1_0,
    /// The default.
    V1_1,
    /// Streams over one connection.
    V2,
}

/// What starts the next request.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// The answer to the last one.
    Closed,
    /// A plan.
    Open {
        /// The rate over time.
        stages: Vec<Stage>,
        /// How arrivals are spaced.
        spacing: Spacing,
    },
}

/// Pause between an answer and the next request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// Always the same.
    Fixed(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

/// What happens before the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Nothing.
    None,
    /// Load for this long.
    For(Duration),
    /// Load until three seconds in a row agree within 5 %; 3 to 30 s.
    UntilSteady,
}

/// In which order a mix is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By weight, at random, seeded.
    Weighted,
    /// As listed, over and over, shared by all connections of a thread.
    Listed,
}

/// How the processor time of the server is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The process that listens on the target's port, if that is this machine.
    Listener,
    /// These processes and their children.
    Pids(Vec<u32>),
    /// Not at all.
    Off,
}

/// TLS as the client wants it.
#[derive(Clone, Debug)]
pub struct Tls {
    /// rustls' settings.
    pub config: Arc<ClientConfig>,
    /// The name to ask for.
    pub name: ServerName<'static>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server that is asked.
    pub target: Target,
    /// What to ask, with weights.
    pub requests: Arc<Vec<Request>>,
    /// In which order.
    pub order: Order,
    /// What starts requests.
    pub pace: Pace,
    /// Connections (open loop: at most).
    pub connections: usize,
    /// Requests at once on one connection: streams of HTTP/2, or what is pipelined.
    pub streams: usize,
    /// Client threads.
    pub threads: usize,
    /// Stop after this number of requests.
    pub request_limit: Option<u64>,
    /// Stop starting after this long.
    pub duration: Option<Duration>,
    /// Before the measurement.
    pub warmup: Warmup,
    /// Reuse of connections.
    pub keep_alive: KeepAlive,
    /// Protocol.
    pub http: Http,
    /// Pause after each answer.
    pub think: Option<Think>,
    /// Connections are opened over this long.
    pub ramp: Duration,
    /// An answer that takes longer is a failure.
    pub timeout: Duration,
    /// How long unanswered requests are waited for after the end.
    pub drain: Duration,
    /// What a good answer is.
    pub expect: Expect,
    /// TLS, for https.
    pub tls: Option<Tls>,
    /// Keep the cookies that the server sets, per connection.
    pub cookie_jar: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// How to find the server's processes.
    pub watch: Watch,
}

impl Plan {
    /// A closed loop of these requests, on one connection of one thread, until something limits it.
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

    /// Most requests that can be in flight.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.connections * self.streams
    }

    /// True if requests follow a plan.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.pace, Pace::Open { .. })
    }
}
