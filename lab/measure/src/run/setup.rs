//! The setup of a load run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The target as given on the command line.
    pub target: String,
    /// The address that connections are made to.
    pub address: String,
    /// Where the address is, seen from the client.
    pub place: Place,
    /// `1.1`, `1.0` or `2`.
    pub http: String,
    /// Whether the target is https.
    pub tls: bool,
    /// TLS version and cipher suite of the first connection.
    pub tls_session: Option<String>,
    /// The distinct requests, with their shares of the mix.
    pub requests: Vec<MixEntry>,
    /// What decides when the next request starts.
    #[serde(rename = "loop")]
    pub model: LoopModel,
    /// Connections of a closed loop; in an open loop the most that may be opened.
    pub connections: usize,
    /// Requests in flight at once on one connection: HTTP/2 streams or pipelined requests.
    pub streams: usize,
    /// Client threads.
    pub threads: usize,
    /// Whether connections are reused.
    pub keep_alive: KeepAlive,
    /// Planned requests per second in an open loop; the highest rate if the plan ramps.
    pub rate: Option<f64>,
    /// The plan of an open loop, as text.
    pub arrivals: Option<String>,
    /// Number of requests after which the run ends.
    pub request_limit: Option<u64>,
    /// Time after which the run ends, seconds.
    pub duration_s: Option<f64>,
    /// Pause after each response, as text.
    pub think: Option<String>,
    /// Time after which a request without an answer has failed, seconds.
    pub timeout_s: f64,
    /// Conditions that a good response meets.
    pub expect: Vec<String>,
    /// Seed of all random choices.
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
    /// Another machine.
    Remote,
}

/// What decides when the next request starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopModel {
    /// The server decides: a connection's next request starts when the last one is answered.
    #[default]
    Closed,
    /// A plan decides: each request starts at its planned time.
    Open,
}

/// Whether connections are reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepAlive {
    /// Connections are reused as long as the server allows it.
    #[default]
    On,
    /// Each connection carries one request.
    Off,
    /// The client closes each connection after this number of requests.
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
