//! One load run: what was asked, what happened, and what it cost.
//!
//! This is the published JSON. A field is only ever added; a changed meaning gets a new
//! [`SCHEMA`]. Durations are microseconds (`_us`) or seconds (`_s`).

use crate::Distribution;
use crate::diagnose::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "hearth-load/1";

/// A result file: one or more runs, in the order they were taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResultFile {
    /// Always `hearth-load/1`.
    pub schema: String,
    /// Version of the program that measured.
    pub version: String,
    /// Several if the run was a sweep or was repeated.
    pub runs: Vec<Run>,
}

/// Everything about one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What was asked for.
    pub setup: Setup,
    /// The machine that generated the load.
    pub host: Host,
    /// Start of the measurement, seconds since 1970.
    pub started_unix_s: f64,
    /// From the first start to the last completion.
    pub elapsed_s: f64,
    /// Why the run ended.
    pub stopped_by: StoppedBy,
    /// Requests, by how they ended.
    pub counts: Counts,
    /// Requests per second.
    pub rates: Rates,
    /// Failures by class.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Responses by status code.
    pub statuses: BTreeMap<u16, u64>,
    /// The first few distinct failures, in words.
    pub error_samples: Vec<ErrorSample>,
    /// Durations.
    pub latency: Latency,
    /// What became of the connections.
    pub connections: Connections,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Bytes on the wire, as the application sees them.
    pub bytes: Bytes,
    /// Processor time.
    pub cpu: Cpu,
    /// The kernel's own counters over the run (local targets see both sides).
    pub kernel: Kernel,
    /// How the run developed; neighbours are merged when it is long.
    pub series: Vec<Point>,
    /// Responses per second of single client threads, tenth of a second by tenth (wrk's
    /// "Req/Sec"); not kept in the file.
    #[serde(skip)]
    pub thread_rates: crate::Distribution,
    /// What the excluded warm-up looked like.
    pub warmup: Option<Warmup>,
    /// What the first response said in `Server:`.
    pub server_header: Option<String>,
    /// Remarks on how the run was made.
    pub notes: Vec<String>,
    /// What to believe of all this.
    pub verdicts: Vec<Verdict>,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The target as given.
    pub target: String,
    /// The address connected to.
    pub address: String,
    /// Where that is.
    pub place: Place,
    /// `1.1`, `1.0` or `2`.
    pub http: String,
    /// True for https.
    pub tls: bool,
    /// TLS version and cipher suite of the first connection.
    pub tls_session: Option<String>,
    /// Each distinct request: method and path, with its share of the mix.
    pub requests: Vec<MixEntry>,
    /// Closed (a connection waits for its answer) or open (requests follow a plan).
    #[serde(rename = "loop")]
    pub model: LoopModel,
    /// Connections, or the most that may be opened in an open loop.
    pub connections: usize,
    /// Requests at once on one connection: streams of HTTP/2, or what is pipelined.
    pub streams: usize,
    /// Client threads.
    pub threads: usize,
    /// Whether connections are reused.
    pub keep_alive: KeepAlive,
    /// Planned requests per second in an open loop (the highest, if it ramps).
    pub rate: Option<f64>,
    /// The plan of an open loop, in words.
    pub arrivals: Option<String>,
    /// Request limit.
    pub request_limit: Option<u64>,
    /// Time limit.
    pub duration_s: Option<f64>,
    /// Pause after each response, in words.
    pub think: Option<String>,
    /// A request without an answer for so long has failed.
    pub timeout_s: f64,
    /// What a good answer must be.
    pub expect: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
}

/// One kind of request in a mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixEntry {
    /// Method and path.
    pub request: String,
    /// Share of all requests, 0 to 1.
    pub share: f64,
}

/// Where the target is, seen from the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// 127.0.0.0/8 or ::1.
    #[default]
    Loopback,
    /// Another address of this machine.
    ThisMachine,
    /// A Unix socket.
    UnixSocket,
    /// Some other machine.
    Remote,
}

/// Who decides when the next request starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopModel {
    /// The server: the next starts when one is answered.
    #[default]
    Closed,
    /// The plan: the next starts when its time has come.
    Open,
}

/// Whether connections are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepAlive {
    /// As long as the server lets us.
    #[default]
    On,
    /// One request each.
    Off,
    /// Closed by the client after its number of requests.
    Requests(u64),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// All requests were done.
    #[default]
    Requests,
    /// The time was over.
    Duration,
    /// Ctrl-C or SIGTERM.
    Interrupt,
}

/// Requests, by how they ended: started = good + failed + unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Requests begun (their time had come and a connection took them).
    pub started: u64,
    /// Whole responses, whatever their status.
    pub responses: u64,
    /// Status below 400 and everything as expected.
    pub good: u64,
    /// All others that ended.
    pub failed: u64,
    /// Still without an answer when the run was over.
    pub unfinished: u64,
    /// Age of the oldest of those.
    pub oldest_unfinished_us: f64,
    /// Open loop: planned but never started, because every connection was busy to the end.
    pub unsent: u64,
    /// Good or failed requests on a connection that had served another before.
    pub on_reused_connection: u64,
}

/// Requests per second of elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Good responses: the figure to quote.
    pub goodput: f64,
    /// Every whole response, errors included (what ab and wrk print).
    pub responses: f64,
}

/// How a request failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// No process listens there.
    ConnectRefused,
    /// No connection within the timeout.
    ConnectTimeout,
    /// Any other failure to connect.
    ConnectFailed,
    /// This machine has no local port left for the connection.
    NoLocalPort,
    /// This process may not open more files.
    NoFileDescriptor,
    /// The handshake or a record failed.
    Tls,
    /// Writing the request failed.
    Write,
    /// Connection reset before the first byte of the response.
    ResetBeforeFirstByte,
    /// Connection reset after the first byte.
    ResetMidBody,
    /// Connection closed without a single byte of response.
    EarlyEof,
    /// Connection closed in the middle of a response.
    Truncated,
    /// Not HTTP, or bytes that belong to no response.
    BadFraming,
    /// No whole response within the timeout.
    Timeout,
    /// Status 400 or higher, unless that was expected.
    Non2xx,
    /// An answer with another status than expected.
    StatusMismatch,
    /// An answer with another body than expected.
    BodyMismatch,
    /// HTTP/2: the peer reset the stream or closed the connection with an error.
    Http2,
}

impl ErrorClass {
    /// All classes, in the order of the wire.
    pub const ALL: [Self; 17] = [
        Self::ConnectRefused,
        Self::ConnectTimeout,
        Self::ConnectFailed,
        Self::NoLocalPort,
        Self::NoFileDescriptor,
        Self::Tls,
        Self::Write,
        Self::ResetBeforeFirstByte,
        Self::ResetMidBody,
        Self::EarlyEof,
        Self::Truncated,
        Self::BadFraming,
        Self::Timeout,
        Self::Non2xx,
        Self::StatusMismatch,
        Self::BodyMismatch,
        Self::Http2,
    ];

    /// The name used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect-refused",
            Self::ConnectTimeout => "connect-timeout",
            Self::ConnectFailed => "connect-failed",
            Self::NoLocalPort => "no-local-port",
            Self::NoFileDescriptor => "no-file-descriptor",
            Self::Tls => "tls",
            Self::Write => "write",
            Self::ResetBeforeFirstByte => "reset-before-first-byte",
            Self::ResetMidBody => "reset-mid-body",
            Self::EarlyEof => "early-eof",
            Self::Truncated => "truncated",
            Self::BadFraming => "bad-framing",
            Self::Timeout => "timeout",
            Self::Non2xx => "non2xx",
            Self::StatusMismatch => "status-mismatch",
            Self::BodyMismatch => "body-mismatch",
            Self::Http2 => "http2",
        }
    }

    /// True if the connection was never usable.
    #[must_use]
    pub fn is_connect(self) -> bool {
        self < Self::Tls
    }
}

/// One distinct failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSample {
    /// Its class.
    pub class: ErrorClass,
    /// The system's words, or the beginning of the response's body.
    pub text: String,
}

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

/// Processor time over the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Processors of this machine.
    pub processors: usize,
    /// This process, user and kernel, seconds.
    pub client_s: f64,
    /// This process per finished request.
    pub client_us_per_request: f64,
    /// Busiest client thread: share of the time it ran.
    pub client_thread_busy: f64,
    /// Busiest client thread: share of the time it was ready but waited for a processor.
    pub client_thread_waiting: f64,
    /// The server's processes, if they are here and known.
    pub server: Option<ServerCpu>,
    /// Share of all processors' time that was used by anyone.
    pub machine_busy: f64,
    /// Share of all processors' time used by others than client and server.
    pub others: f64,
    /// Share stolen by the hypervisor.
    pub stolen: f64,
}

/// The server's processor time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerCpu {
    /// How the processes were found.
    pub found_by: String,
    /// Name of the first one.
    pub name: String,
    /// Number of processes (children included).
    pub processes: usize,
    /// User and kernel, seconds.
    pub cpu_s: f64,
    /// Per finished request.
    pub us_per_request: f64,
    /// Processors used on average.
    pub cores: f64,
    /// Processors used by the busiest single thread (1 = that thread is the limit).
    pub busiest_thread: f64,
    /// Resident memory at the end, all processes, bytes.
    pub resident_bytes: u64,
}

/// Kernel counters: the difference over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Local ports that one address pair can use.
    pub local_ports: u64,
    /// Source addresses the connections were spread over.
    pub source_addresses: u64,
    /// Sockets in TIME_WAIT at the end.
    pub time_wait: u64,
    /// Largest number of open files allowed.
    pub open_files: u64,
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

/// The machine that generated the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Operating system and kernel.
    pub kernel: String,
    /// Processor model.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
}

impl Run {
    /// The distribution to judge users' waiting by: response time if there was a plan.
    #[must_use]
    pub fn headline_latency(&self) -> &Distribution {
        self.latency
            .response
            .as_ref()
            .unwrap_or(&self.latency.service)
    }

    /// Failures of one class.
    #[must_use]
    pub fn errors_of(&self, class: ErrorClass) -> u64 {
        self.errors.get(&class).copied().unwrap_or(0)
    }

    /// Good plus failed.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.counts.good + self.counts.failed
    }
}

impl KeepAlive {
    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::On => "keep-alive".into(),
            Self::Off => "no keep-alive".into(),
            Self::Requests(n) => format!("{n} requests per connection"),
        }
    }
}
