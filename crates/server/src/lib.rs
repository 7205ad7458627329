//! The HTTP server that the front and the workers share: accepts clients' connections and gives each request to the
//! process's [`Handler`]. Also registers the channels to the supervisor with the runtime ([`channel`]).
#![forbid(unsafe_code)]

pub mod accept;
pub mod access;
pub mod channel;
mod connection;
mod http_server;
pub mod log_file;
pub mod queue;
mod request_id;
mod routes;
mod wait_queue;

pub use connection::{Handler, Request, serve};
pub use http_server::HttpServer;
pub use request_id::RequestIds;
pub use routes::Routes;
pub use wait_queue::{Acquire, WaitQueue};
