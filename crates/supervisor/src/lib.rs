//! The supervisor: starts and replaces the processes of a server.
//!
//! [`run`] opens the sockets, starts a zygote that boots the app, has it fork the workers, and from then on reacts to
//! events: a death, a signal, a question on the control socket. One task owns all state ([`server`]) and handles one
//! [`event`] at a time; all other tasks only wait for something and send it as an event.
//!
//! The listening sockets belong to this process and are lent to every generation of workers, so no connection is lost
//! to a crash or a reload. This process links no PHP and never forks without exec.
#![forbid(unsafe_code)]

mod admin;
mod backoff;
mod balancing;
mod boot;
mod boot_output;
mod cache;
mod control;
mod error;
mod event;
mod front;
mod generation;
mod inherited;
mod latency;
mod link;
mod memory;
mod metrics;
mod pool;
mod port_owner;
mod preload;
mod process_exit;
mod program;
mod saturation;
mod server;
mod signal;
mod sockets;
mod status;
mod systemd;
mod users;
mod watch;
mod worker;

pub use self::cache::{CacheKey, CacheQuestion, Namespace};
pub use self::preload::PreloadStatus;
pub use self::server::main_loop::{ReloadSettings, run};
pub use boot::{check, check_app};
pub use boot_output::BootOutput;
pub use control::{Found, Question, Reply, Trust, Verb, query, status_at};
pub use error::Error;
pub use ipc::BootFailure;
pub use ipc::Booted;
pub use latency::Latency;
pub use program::{Program, programs};
pub use signal::{Signal, Signals};
pub use status::{FrontStatus, Status, WorkerStatus, duration};
pub use worker::State as WorkerState;
