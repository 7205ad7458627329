//! The second tier of the cache: a Redis that several machines share, and of which each machine's memory has copies.
//!
//! Redis is the cache, and decides the order of all operations. Each server has **one connection** to it, in the supervisor, which
//! sends what the processes of the server ask, and through which Redis says what other servers have changed (client-side caching:
//! `CLIENT TRACKING` in broadcast mode, without the connection's own changes). So a value in the memory is good until the connection
//! says otherwise, and reading it asks no process.
//!
//! What comes back is put into the memory only if nothing else about its key was under way or arrived meanwhile ([`order`]); else the
//! memory has nothing, and the next read asks Redis. That is right in whatever order answers and invalidations are handled.
//!
//! While Redis is away the memory is the cache, and what is written is marked ([`marks`]). When it is back, what was marked is deleted
//! there, then all that the memory has is forgotten; so nothing that was right before or during the absence is read after it.
#![forbid(unsafe_code)]

mod answers;
mod batch;
mod call;
mod claims;
mod connection;
mod entry;
mod intake;
mod marks;
mod operations;
mod options;
mod order;
mod scripts;
mod state;
mod status;
mod writes;

pub use options::Options;
pub use state::Tier;
pub use status::Status;
