//! The PHP engine as safe Rust: boot, requests, and tasks that can wait.
//!
//! A [`Task`] is PHP code on a stack of its own and, seen from outside, an ordinary [`Future`](std::future::Future):
//! polling it resumes the PHP code, which runs until it waits or ends. Seen from inside, [`wait()`] turns any future into a
//! blocking call. That is the whole scheduler; the host ([`Host`]) polls the tasks, so this crate needs no runtime.
#![allow(unsafe_code)]

#[macro_use]
mod callbacks;

mod background;
mod budget;
mod cache;
mod cgi;
mod children;
mod cli;
mod client;
mod engine;
mod engine_thread;
mod hint;
mod host;
mod incoming;
mod ini;
mod pipe;
mod programs;
mod request;
mod runner;
mod session;
mod task;
mod task_group;
mod task_ref;
mod timeout;
mod timings;
mod trace;
mod wait;

pub use background::{background_work, cancel_background_work};
pub use budget::set_budgets;
pub use cache::{FindCache, find_cache_with, limit_cache_copies, set_cache};
pub use cli::{Cli, Run, info};
pub use client::Client;
pub use engine::{
    Boot, BootError, Level, Mode, after_fork, boot, handler_kind, has_setting, heap_is_full,
    is_temporary_file, keep_stacks, pass_over_signals, post_max_size, refuse_persistent,
    remove_temporary_files, run_entry, seal, series, validates_timestamps, version,
};
pub use host::{Alarm, Host, forked, install, on_engine_thread};
pub use incoming::BodySource;
pub use ini::{ini_mistake, ini_setting};
pub use pipe::Pipe;
pub use programs::{
    child_ended, forks_for_itself, handed_on, is_closing_process, own_children, runs_popen,
};
pub use request::{Body, Request, Response, Script};
pub use task::{
    Task, call_pools, collector_task, current_request_id, current_task_id, loop_stop_task,
    records_locked, timer_forget, timer_task, times_resumed,
};
pub use task_ref::{TaskRef, throw_two_tasks};
pub use timings::Timings;
pub use trace::{TaskHandle, outside_trace, running_trace};
pub use wait::{
    Cancel, Cancelled, WaitMode, blocked_too_long, descriptor_closed, interrupt, is_unwinding,
    note_interrupted, refuse_wait, throw_error, time_to_block, wait, wait_mode,
};
