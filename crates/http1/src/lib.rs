//! HTTP/1.1: what a connection needs between bytes and requests.
//!
//! Its own because a server of small answers spends more on general types than on the protocol: here a head is one piece
//! of memory with an index, and nothing is allocated that the request does not need.
#![forbid(unsafe_code)]

mod body;
mod fields;
mod head;
mod parse;
mod target;

pub use body::Body;
pub use fields::{Fields, Malformed};
pub use head::{RequestHead, Response, ResponseHead, Version};
pub use parse::{Limits, Refusal};
