//! HTTP/1.1: what a connection needs between bytes and requests.
//!
//! Its own because a server of small answers spends more on general types than on the protocol: here a head is one piece
//! of memory with an index, a connection that waits has no buffer, and nothing is allocated that the request does not
//! need.
#![forbid(unsafe_code)]

mod body;
mod fields;
mod head;
mod parse;
mod settings;
mod target;

#[cfg(feature = "server")]
mod admission;
#[cfg(feature = "server")]
mod chunked;
#[cfg(feature = "server")]
mod connection;
#[cfg(feature = "server")]
mod connections;
#[cfg(feature = "server")]
mod date;
#[cfg(feature = "server")]
mod encode;
#[cfg(feature = "server")]
mod framing;
#[cfg(feature = "server")]
mod incoming;
#[cfg(feature = "server")]
mod input;
#[cfg(feature = "server")]
mod life;
#[cfg(feature = "server")]
mod output;
#[cfg(feature = "server")]
mod pace;
#[cfg(feature = "server")]
mod refused;
#[cfg(feature = "server")]
mod spool;
#[cfg(feature = "server")]
mod stream;
#[cfg(feature = "server")]
mod wire;

pub use body::{Body, BodyError};
pub use fields::{Fields, Fixed, Malformed};
pub use head::{RequestHead, RequestParts, Response, ResponseHead, Version};
pub use parse::{Limits, Refusal};
pub use settings::Settings;

#[cfg(feature = "server")]
pub use {
    admission::{
        Admission, NotAdmitted, OpenConnections, RESERVED_DESCRIPTORS, is_out_of_descriptors,
        turn_away,
    },
    connection::{Options, Service, serve},
    connections::{Connections, Patience},
    incoming::Incoming,
    life::{Life, Phase, now_ms},
    pace::MinPace,
    refused::{Refusals, Refused},
    spool::{Spool, set_spool_limit},
    stream::Stream,
};
