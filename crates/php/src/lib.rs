//! The PHP engine, safely: boot, requests, and tasks that can wait.
//!
//! A [`Task`] is PHP code on a stack of its own and, seen from outside, an ordinary [`Future`](std::future::Future):
//! polling it resumes the PHP code, which runs until it waits or ends. Seen from inside, [`wait`] turns any future into
//! a blocking call. That is the whole scheduler; who polls is the host's business ([`Host`]), so this crate knows no
//! runtime.
#![allow(unsafe_code)]

mod budget;
mod callbacks;
mod cli;
mod engine;
mod request;
mod task;

pub use budget::set_budgets;
pub use cli::{Cli, Run, info};
pub use engine::{
    Boot, BootError, Level, Mode, after_fork, boot, can_wait, handler_kind, post_max_size,
    refuse_persistent, run_entry, seal, series, version,
};
pub use request::{Body, BodySource, Client, Pipe, Request, Response, Script};
pub use task::{
    Cancel, Cancelled, Host, Task, call_task, current_request_id, current_task_id, forked, install,
    interrupt, is_unwinding, loop_stop_task, on_engine_thread, throw_error, time_out, timer_forget,
    timer_task, wait,
};
