//! How a run and its requests ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoppedBy {
    /// All requests of the limit were done.
    #[default]
    Requests,
    /// The time limit was reached.
    Duration,
    /// Ctrl-C or SIGTERM.
    Interrupt,
}

/// Numbers of requests, by how they ended: started = good + failed + unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Requests that were started: they were due, and a connection took them.
    pub started: u64,
    /// Complete responses, with any status.
    pub responses: u64,
    /// Requests answered with a status below 400 and as expected.
    pub good: u64,
    /// Requests that ended in any other way.
    pub failed: u64,
    /// Requests without an answer when the run ended.
    pub unfinished: u64,
    /// Age of the oldest unfinished request.
    pub oldest_unfinished_us: f64,
    /// Requests of an open loop that were planned but never started, because every connection was busy to the end.
    pub unsent: u64,
    /// Good or failed requests on a connection that had served a request before.
    pub on_reused_connection: u64,
}

/// Requests per second of elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// Good responses per second: the figure to quote.
    pub goodput: f64,
    /// Complete responses per second, errors included: what ab and wrk print.
    pub responses: f64,
}

/// How a request failed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// No process listens at the address.
    ConnectRefused,
    /// The connection was not established within the timeout.
    ConnectTimeout,
    /// Any other failure to connect.
    ConnectFailed,
    /// This machine has no local port left for the connection.
    NoLocalPort,
    /// The load generator may not open more files.
    NoFileDescriptor,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// Writing the request failed.
    Write,
    /// The connection was reset before the first byte of the response.
    ResetBeforeFirstByte,
    /// The connection was reset after the first byte of the response.
    ResetMidBody,
    /// The connection was closed before the first byte of the response.
    EarlyEof,
    /// The connection was closed in the middle of a response.
    Truncated,
    /// The response is not HTTP, or bytes arrived that belong to no response.
    BadFraming,
    /// The response was not complete within the timeout.
    Timeout,
    /// The status is 400 or higher, and that was not expected.
    Non2xx,
    /// The response has another status than expected.
    StatusMismatch,
    /// The response has another body than expected.
    BodyMismatch,
    /// HTTP/2: the peer reset the stream or closed the connection with an error.
    Http2,
}

impl ErrorClass {
    /// All classes, in the order of a request's phases.
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

    /// Returns the name used in every output.
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

    /// Returns whether the connection could not be established.
    #[must_use]
    pub fn is_connect(self) -> bool {
        self < Self::Tls
    }
}

/// One distinct failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorSample {
    /// Class of the failure.
    pub class: ErrorClass,
    /// The system's error message, or the beginning of the response's body.
    pub text: String,
}
