//! The measurements of requests, connections and bytes.

use crate::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Durations of requests and their phases.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Service time of good requests, the time that the server took: from the actual start to the last byte, connecting
    /// included where it was needed.
    pub service: Distribution,
    /// Response time in an open loop, the time that a user waited: from the planned start to the last byte. Good requests,
    /// and the lower bounds that `response_lower_bounds` counts.
    pub response: Option<Distribution>,
    /// How many samples of `response` are lower bounds: requests that timed out, had no response at the end, or were never
    /// sent.
    pub response_lower_bounds: u64,
    /// Accuracy of the client in an open loop: how late requests were written after their planned time although a
    /// connection was free.
    pub send_delay: Option<Distribution>,
    /// Share of `send_delay` within one millisecond, 0 to 1.
    pub sends_within_1ms: Option<f64>,
    /// Time of TCP connects.
    pub connect: Distribution,
    /// Time of TLS handshakes.
    pub tls: Distribution,
    /// From the last byte of the request written to the first byte of the response.
    pub first_byte: Distribution,
    /// From the last byte of the request written to the last byte of the response.
    pub processing: Distribution,
    /// Failed requests, from the start to the failure. No other distribution here contains them.
    pub failed: Distribution,
}

/// How connections were opened, used and closed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections opened during the measurement, reconnects included.
    pub opened: u64,
    /// Connections that the server closed in good order.
    pub closed_by_server: u64,
    /// Connections that the client closed on purpose (`--no-keepalive`, `--requests-per-connection`).
    pub closed_by_client: u64,
    /// Connections that an error ended.
    pub closed_by_error: u64,
    /// How many closed connections had served how many requests: the number of requests is the key. The ten most frequent
    /// numbers only.
    pub requests_per_connection: BTreeMap<u64, u64>,
    /// Jain's fairness index over the requests answered on each slot (a connection and its reconnects); 1 is fair.
    pub fairness: f64,
    /// Fewest requests answered on one slot.
    pub fewest: u64,
    /// Most requests answered on one slot.
    pub most: u64,
    /// Slots that waited for one answer over a second and over a hundred times the median.
    pub starved: u64,
    /// Slots that waited and never got an answer.
    pub never_answered: u64,
    /// Longest time that a slot waited for one answer, microseconds.
    pub longest_wait_us: f64,
}

/// Requests in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Concurrency {
    /// Requests in flight at most: connections × streams.
    pub configured: f64,
    /// Requests in flight on average: the sum of all requests' durations divided by the elapsed time.
    pub achieved: f64,
}

/// Bytes as the application sees them (inside TLS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes of requests.
    pub sent: u64,
    /// Bytes of response heads.
    pub head: u64,
    /// Bytes of response bodies, without the framing of chunks.
    pub body: u64,
    /// Length of the smallest body of a good response.
    pub smallest_body: u64,
    /// Length of the largest body of a good response.
    pub largest_body: u64,
    /// Bytes of the bodies of good responses.
    pub good_body: u64,
}

/// An interval of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Start of the interval, seconds since the start of the measurement.
    pub at_s: f64,
    /// Length of the interval, seconds.
    pub length_s: f64,
    /// Responses per second.
    pub rate: f64,
    /// Good responses per second.
    pub goodput: f64,
    /// Failed requests.
    pub failed: u64,
    /// Requests in flight on average.
    pub in_flight: f64,
    /// Bytes received per second.
    pub bytes_per_s: f64,
    /// Latency in the interval: response time in an open loop, else service time.
    pub latency: Distribution,
}

/// The warm-up, which the measurement excludes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Warmup {
    /// Length of the warm-up.
    pub seconds: f64,
    /// Whether the rates of the last three seconds were within ±5 % of their mean.
    pub steady: bool,
    /// Requests of the warm-up.
    pub requests: u64,
    /// Failed requests of the warm-up.
    pub failed: u64,
    /// Duration of the longest request of the warm-up.
    pub longest_us: f64,
    /// Responses per second, for each second of the warm-up.
    pub rates: Vec<f64>,
}
