//! The measurements of requests, connections and bytes.

use crate::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Durations of requests and their phases.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Good requests: from the actual start (connecting included, where it was needed) to the
    /// last byte. What the server took.
    pub service: Distribution,
    /// Good requests, open loop: from the planned start to the last byte. What a user waited.
    pub response: Option<Distribution>,
    /// How many of `response` are lower bounds: requests that were never answered or sent.
    pub response_lower_bounds: u64,
    /// Open loop: how late requests were written after their planned time, if a connection was
    /// free (the client's own accuracy).
    pub send_delay: Option<Distribution>,
    /// Share of `send_delay` within one millisecond.
    pub sends_within_1ms: Option<f64>,
    /// TCP connects.
    pub connect: Distribution,
    /// TLS handshakes.
    pub tls: Distribution,
    /// From the request's last byte written to the response's first byte.
    pub first_byte: Distribution,
    /// From the request's last byte written to the response's last byte.
    pub processing: Distribution,
    /// Failed requests: from start to failure. Never mixed with the good ones.
    pub failed: Distribution,
}

/// What became of the connections.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Opened in the measurement, reconnects included.
    pub opened: u64,
    /// Closed by the server in good order.
    pub closed_by_server: u64,
    /// Closed by us on purpose (`--no-keepalive`, `--requests-per-connection`).
    pub closed_by_client: u64,
    /// Broken by an error.
    pub closed_by_error: u64,
    /// Requests served by a closed connection → how many connections served that number.
    pub requests_per_connection: BTreeMap<u64, u64>,
    /// Jain's index over the requests of each slot: 1 is fair.
    pub fairness: f64,
    /// Fewest requests answered on one slot.
    pub fewest: u64,
    /// Most requests answered on one slot.
    pub most: u64,
    /// Slots that waited over a second, and over a hundred times the median, for one answer.
    pub starved: u64,
    /// Slots that never got a single answer.
    pub never_answered: u64,
    /// Longest time one slot waited for one answer.
    pub longest_wait_us: f64,
}

/// Requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concurrency {
    /// Connections × streams.
    pub configured: f64,
    /// Mean number in flight: time spent in requests, summed, over elapsed time.
    pub achieved: f64,
}

/// Bytes as the application sees them (inside TLS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Requests.
    pub sent: u64,
    /// Response heads.
    pub head: u64,
    /// Response bodies, without chunk framing.
    pub body: u64,
    /// Smallest body of a good response.
    pub smallest_body: u64,
    /// Largest body of a good response.
    pub largest_body: u64,
    /// Body bytes of good responses.
    pub good_body: u64,
}

/// A stretch of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its beginning, seconds into the measurement.
    pub at_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Responses per second.
    pub rate: f64,
    /// Good responses per second.
    pub goodput: f64,
    /// Failures.
    pub failed: u64,
    /// Mean requests in flight.
    pub in_flight: f64,
    /// Bytes received per second.
    pub bytes_per_s: f64,
    /// Latency (response time in an open loop, else service time) in it.
    pub latency: Distribution,
}

/// The excluded beginning.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Warmup {
    /// How long it took.
    pub seconds: f64,
    /// True if three seconds in a row were within ±5 % at its end.
    pub steady: bool,
    /// Requests in it.
    pub requests: u64,
    /// Failures in it.
    pub failed: u64,
    /// Longest request in it.
    pub longest_us: f64,
    /// Responses per second, second by second.
    pub rates: Vec<f64>,
}
