//! The second tier of the cache: a Redis that several machines share, and whose values each machine's memory has copies of.
//!
//! Redis is the cache, and defines the order of all operations. Each server has **one connection** to Redis, in the
//! supervisor. It sends the questions of the server's processes, and receives the changes that other servers make
//! (client-side caching: `CLIENT TRACKING` in broadcast mode, without the connection's own changes). So a value in the
//! memory is valid until the connection reports a change, and reading it asks no process.
//!
//! An answer is put into the memory only if nothing else about its key was under way or arrived meanwhile ([`order`]); else
//! the memory has nothing, and the next read asks Redis. This is correct in whatever order answers and invalidations are
//! handled.
//!
//! While Redis is away the memory is the cache, and what is written is noted ([`pending_deletes`]). When Redis is back, those
//! keys are deleted there, then the whole memory is forgotten; so no value from before or during the absence is read after it.
#![forbid(unsafe_code)]

mod answers;
mod batch;
mod call;
mod claims;
mod connection;
mod entry;
mod held_locks;
mod listener;
mod operations;
mod options;
mod order;
mod pending_deletes;
mod scripts;
mod state;
mod status;
mod writes;

pub use options::Options;
pub use state::Tier;
pub use status::Status;
