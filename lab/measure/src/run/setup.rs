//! The setup of a load run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// What decides when the next request starts.
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

impl KeepAlive {
    /// Returns the setting as text.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::On => "keep-alive".into(),
            Self::Off => "no keep-alive".into(),
            Self::Requests(n) => format!("{n} requests per connection"),
        }
    }
}
