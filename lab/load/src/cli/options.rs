//! The native options, as clap reads them.

use super::common::Common;
use super::units;
use crate::plan::{Think, Warmup};
use crate::schedule::Stage;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Generate HTTP load; report rates, latencies and what distorts them.
#[derive(Debug, Parser)]
#[command(name = "hearth load", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Args {
    /// http://…, https://… or unix:/path.sock:/uri
    #[arg(required_unless_present_any = ["self_test", "bare_server"])]
    pub(crate) url: Option<String>,

    /// Connections; a list is a sweep (open loop: at most this number) [default: 10, open loop 100]
    #[arg(short, long, value_name = "N[,N…]")]
    pub(crate) connections: Option<String>,
    /// Stop after this many requests
    #[arg(short = 'n', long, value_name = "N", value_parser = units::count)]
    pub(crate) requests: Option<u64>,
    /// Stop after this long [default: 10s, without -n]
    #[arg(short, long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) duration: Option<Duration>,
    /// Open loop: requests per second in all, whatever the server does; a list is a sweep
    #[arg(short, long, value_name = "RATE[,RATE…]")]
    pub(crate) rate: Option<String>,
    /// Open loop whose rate changes, such as 30s@50,1m@50..200
    #[arg(long, value_name = "LIST", value_parser = units::stages, conflicts_with = "rate")]
    pub(crate) stages: Option<StageList>,
    /// Open loop: independent arrivals instead of evenly spaced ones
    #[arg(long)]
    pub(crate) poisson: bool,
    /// Client threads [default: half of the processors for a local target, else all]
    #[arg(short, long, value_name = "N", value_parser = units::count)]
    pub(crate) threads: Option<u64>,
    /// Load before measuring: a time, or auto until three seconds agree within 5 %
    #[arg(long, value_name = "TIME|auto", value_parser = warmup)]
    pub(crate) warmup: Option<Warmup>,
    /// Open the connections over this long
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) ramp: Option<Duration>,
    /// Pause after each answer; exp:TIME for exponentially distributed pauses with that mean
    #[arg(long, value_name = "TIME", value_parser = units::think)]
    pub(crate) think: Option<Think>,
    /// Open a new connection for each request
    #[arg(long, conflicts_with = "requests_per_connection")]
    pub(crate) no_keepalive: bool,
    /// Close each connection after this number of requests
    #[arg(long, value_name = "N", value_parser = units::count)]
    pub(crate) requests_per_connection: Option<u64>,
    /// Send this number of requests at once on each connection, without waiting for answers (HTTP/1.1 pipelining, which no browser uses)
    #[arg(long, value_name = "N", value_parser = units::count, conflicts_with_all = ["requests", "rate", "stages", "cookie_jar"])]
    pub(crate) pipeline: Option<u64>,
    /// Raise -c until the rate no longer rises
    #[arg(long, conflicts_with_all = ["rate", "stages"])]
    pub(crate) find_max: bool,
    /// Repeat the whole run this number of times (6 or more for a comparison)
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count)]
    pub(crate) repeat: u64,

    /// Method [default: GET, or POST with a body]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// A header, "Name: value"
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Body: text, or @FILE
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// A multipart field, name=value or name=@FILE[;type=TYPE]
    #[arg(short = 'F', long, value_name = "FIELD", conflicts_with = "body")]
    pub(crate) form: Vec<String>,
    /// Basic authentication
    #[arg(short = 'u', long, value_name = "USER:PASSWORD")]
    pub(crate) auth: Option<String>,
    /// A cookie, name=value
    #[arg(long, value_name = "COOKIE")]
    pub(crate) cookie: Vec<String>,
    /// Keep the cookies that the server sets, separately for each connection
    #[arg(long)]
    pub(crate) cookie_jar: bool,
    /// Requests from a file: `[WEIGHT] [METHOD] PATH [BODY|@FILE|chunked:BODY]` on each line
    #[arg(long, value_name = "FILE", conflicts_with = "access_log")]
    pub(crate) mix: Option<PathBuf>,
    /// Send the requests of an access log, as frequently as they occur in it (GET and HEAD)
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    /// With --access-log: other methods too
    #[arg(long, requires = "access_log")]
    pub(crate) unsafe_methods: bool,
    /// Order of a mix
    #[arg(long, value_enum, default_value = "weighted")]
    pub(crate) order: OrderArg,

    /// Condition of a good answer: status=200, status=2xx, body=TEXT, contains=TEXT, sha256=HEX, length=BYTES; may be repeated
    #[arg(long, value_name = "KIND=VALUE")]
    pub(crate) expect: Vec<String>,
    /// Count a request that takes longer as failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub(crate) timeout: Duration,
    /// Time to wait at the end for requests in flight [default: 2s, open loop: the timeout]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    pub(crate) drain: Option<Duration>,
    /// Protocol
    #[arg(long, value_enum, default_value = "1.1")]
    pub(crate) http: HttpArg,
    /// Concurrent requests on each HTTP/2 connection
    #[arg(long, value_name = "N", default_value = "1", value_parser = units::count)]
    pub(crate) streams: u64,
    /// Accept any certificate (the default on this machine)
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Make full TLS handshakes only, without resumption of sessions
    #[arg(long)]
    pub(crate) no_tls_resumption: bool,

    /// Print fewer lines
    #[arg(long)]
    pub(crate) brief: bool,
    /// Print every step of the latency spectrum
    #[arg(long)]
    pub(crate) spectrum: bool,
    /// Measure the highest rate that this client can reach on this machine
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Serve a fixed answer until killed (the server of --self-test)
    #[arg(long, hide = true, value_name = "ADDRESS")]
    pub(crate) bare_server: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) common: Common,
}

type StageList = Vec<Stage>;

const EXAMPLES: &str = "\
Examples:
  hearth load -c 100 -d 30s http://127.0.0.1:8080/          closed loop, like wrk
  hearth load -r 2000 -d 30s http://127.0.0.1:8080/         open loop, like wrk2
  hearth load -c 1,10,100,1000 http://127.0.0.1:8080/       sweep
  hearth load --as ab -n 10000 -c 100 -k http://127.0.0.1:8080/
  hearth load --as wrk -t 2 -c 64 -d 10s --latency http://127.0.0.1:8080/
  hearth load compare before.json after.json";

/// Protocols by their number.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HttpArg {
    /// HTTP/1.0
    #[value(name = "1.0")]
    V1_0,
    /// HTTP/1.1
    #[value(name = "1.1")]
    V1_1,
    /// HTTP/2
    #[value(name = "2")]
    V2,
}

/// Orders by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OrderArg {
    /// By weight, at random
    Weighted,
    /// As listed
    Listed,
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::UntilSteady),
        "none" | "0" => Ok(Warmup::None),
        time => units::duration(time).map(Warmup::For),
    }
}
