//! How a run and its requests ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Its class.
    pub class: ErrorClass,
    /// The system's words, or the beginning of the response's body.
    pub text: String,
}
