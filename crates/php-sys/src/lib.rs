//! Declarations of `csrc/hearth.h`, by hand: its functions, and in [`contract`] its structs and constants, no Zend type among them.
//!
//! Only the crate `php` uses this.
#![allow(unsafe_code, non_camel_case_types)]

mod contract;

pub use contract::*;

use std::ffi::{c_char, c_double, c_int, c_void};

/// The PHP release series that this build is for, such as `8.2`.
pub const PHP_SERIES: &str = env!("HEARTH_PHP_VERSION");

impl hearth_str {
    pub const NONE: hearth_str = hearth_str {
        ptr: std::ptr::null(),
        len: 0,
    };

    pub const fn new(bytes: &[u8]) -> hearth_str {
        hearth_str {
            ptr: bytes.as_ptr().cast(),
            len: bytes.len(),
        }
    }

    /// # Safety
    /// The bytes must be valid for `'a`; an absent string is empty.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() {
            return &[];
        }
        // SAFETY: the caller vouches for pointer, length and lifetime.
        unsafe { std::slice::from_raw_parts(self.ptr.cast(), self.len) }
    }
}

#[repr(C)]
pub struct hearth_task {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub fn hearth_php_version() -> hearth_str;
    pub fn hearth_boot(args: *const hearth_boot_args) -> bool;
    pub fn hearth_prelude_register(files: *const hearth_source, count: usize);
    pub fn hearth_run_entry(path: *const c_char) -> c_int;
    pub fn hearth_boot_error() -> hearth_str;
    pub fn hearth_last_thrown() -> hearth_str;
    pub fn hearth_seal();
    pub fn hearth_pass_over_signals();
    pub fn hearth_after_fork();
    pub fn hearth_post_max_size() -> u64;
    pub fn hearth_handler_kind() -> hearth_str;
    pub fn hearth_has_extension(name: hearth_str) -> bool;
    pub fn hearth_has_setting(name: hearth_str) -> bool;
    pub fn hearth_refuse_persistent(refuse: bool);

    pub fn hearth_cli_info(what: c_char) -> c_int;
    pub fn hearth_cli_request_startup(
        script: *const c_char,
        argc: c_int,
        argv: *mut *mut c_char,
    ) -> bool;
    pub fn hearth_cli_task(
        script: *const c_char,
        code: *const c_char,
        mode: c_char,
        owner: *mut c_void,
    ) -> *mut hearth_task;
    pub fn hearth_cli_finish() -> c_int;

    pub fn hearth_task_request(owner: *mut c_void, request: *mut c_void) -> *mut hearth_task;
    pub fn hearth_task_classic(
        owner: *mut c_void,
        request: *mut c_void,
        script: *const hearth_script,
    ) -> *mut hearth_task;
    pub fn hearth_loop_stop(owner: *mut c_void) -> *mut hearth_task;
    pub fn hearth_task_resume(task: *mut hearth_task) -> c_int;
    pub fn hearth_task_suspend();
    pub fn hearth_task_free(task: *mut hearth_task);
    pub fn hearth_task_id_for_others(task: *const hearth_task) -> u64;
    pub fn hearth_current_task_id() -> u64;
    pub fn hearth_current_owner() -> *mut c_void;
    pub fn hearth_owners_below(owners: *mut *mut c_void, room: usize) -> usize;
    pub fn hearth_calls(function: hearth_str) -> bool;
    pub fn hearth_handed_on(index: u32) -> i64;
    pub fn hearth_hooks_may_wait() -> bool;
    pub fn hearth_must_stay() -> bool;
    pub fn hearth_may_suspend() -> bool;
    pub fn hearth_refuse_wait();
    pub fn hearth_busy(busy: bool) -> bool;
    pub fn hearth_interrupt();
    pub fn hearth_time_out(limit: i64);
    pub fn hearth_is_unwinding() -> bool;
    pub fn hearth_task_ignores_client(task: *const hearth_task) -> bool;
    pub fn hearth_task_trace(task: *const hearth_task, at: *mut c_char, room: usize) -> usize;
    pub fn hearth_outside_trace(at: *mut c_char, room: usize) -> usize;
    pub fn hearth_heap_is_full() -> bool;
    pub fn hearth_note_interrupted(fd: c_int);
    pub fn hearth_descriptor_closed(fd: c_int);
    pub fn hearth_throw(kind: c_int, message: hearth_str);
    pub fn hearth_release(retained: *mut c_void);
    pub fn hearth_remove_temporary_files();
    pub fn hearth_cache_copies_limit(bytes: usize);
    pub fn hearth_timer_task(callback: u64, owner: *mut c_void) -> *mut hearth_task;
    pub fn hearth_timer_forget(callback: u64);
    pub fn hearth_call_pools(
        function: *const c_char,
        argument: c_double,
        owner: *mut c_void,
    ) -> *mut hearth_task;
}

/// Seconds, as PHP counts them.
pub type seconds = c_double;
