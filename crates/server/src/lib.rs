//! What the front and the workers share as servers of clients' connections, and with the supervisor as ends of a channel.
#![forbid(unsafe_code)]

pub mod accept;
pub mod access;
pub mod channel;
mod request_id;
mod routes;

pub use request_id::RequestIds;
pub use routes::Routes;
