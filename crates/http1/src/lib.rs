//! HTTP/1.1: heads, header fields and bodies; with the feature `server`, also the server's side of a connection.
//!
//! A server of small responses spends more time on general types than on the protocol. So this crate has its own: a head is
//! one piece of memory with an index, an idle connection has no buffer, and nothing is allocated that the request does not
//! need.
#![forbid(unsafe_code)]

mod body;
mod endpoints;
mod fields;
mod forwarded;
mod head;
mod packed;
mod parse;
mod peer;
mod settings;
mod target;
mod trusted_proxies;

#[cfg(feature = "server")]
mod admission;
#[cfg(feature = "server")]
mod cached_time;
#[cfg(feature = "server")]
mod chunked;
#[cfg(feature = "server")]
mod connection;
#[cfg(feature = "server")]
mod connection_io;
#[cfg(feature = "server")]
mod connection_state;
#[cfg(feature = "server")]
mod connections;
#[cfg(feature = "server")]
mod date;
#[cfg(feature = "server")]
mod encode;
#[cfg(feature = "server")]
mod exchange;
#[cfg(feature = "server")]
mod framing;
#[cfg(feature = "server")]
mod incoming;
#[cfg(feature = "server")]
mod input;
#[cfg(feature = "server")]
mod output;
#[cfg(feature = "server")]
mod pace;
#[cfg(feature = "server")]
mod proxy_protocol;
#[cfg(feature = "server")]
mod rejection;
#[cfg(feature = "server")]
mod spool;
#[cfg(feature = "server")]
mod stream;

pub use body::{Body, BodyError};
pub use endpoints::Endpoints;
pub use fields::{Fields, Malformed, StaticHeader};
pub use forwarded::ForwardedError;
pub use head::{RequestHead, RequestParts, Response, ResponseHead, Version};
pub use parse::{Limits, ParseError};
pub use peer::Peer;
pub use settings::Settings;
pub use trusted_proxies::TrustedProxies;

#[cfg(feature = "server")]
pub use {
    admission::{
        Admission, NotAdmitted, OpenConnections, RESERVED_DESCRIPTORS, is_out_of_descriptors,
        turn_away,
    },
    cached_time::{cached_time, expire_cached_time},
    connection::{Options, Service, serve},
    connection_state::{ConnectionState, Phase, now_ms},
    connections::{Connections, Timeouts},
    exchange::Exchange,
    incoming::Incoming,
    pace::MinPace,
    rejection::{LineLimit, Rejection, RejectionLog},
    spool::{Spool, set_spool_limit},
    stream::Stream,
};
