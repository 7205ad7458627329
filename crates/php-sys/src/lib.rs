//! Declarations of `csrc/hearth.h`, by hand: thirty functions and our own structs, no Zend type among them.
//!
//! The structs and the version of the contract are compared at start ([`hearth_abi`]). Only the crate `php` uses this.
#![allow(unsafe_code, non_camel_case_types)]

use std::ffi::{c_char, c_double, c_int, c_void};

/// Raised with every change of `hearth.h`.
pub const HEARTH_ABI: u32 = 8;
/// The PHP release series that this build is for, such as `8.2`.
pub const PHP_SERIES: &str = env!("HEARTH_PHP_VERSION");

/// Bytes that somebody else owns; null means absent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct hearth_str {
    pub ptr: *const c_char,
    pub len: usize,
}

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
#[derive(Clone, Copy)]
pub struct hearth_header {
    pub name: hearth_str,
    pub value: hearth_str,
}

#[repr(C)]
pub struct hearth_task {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct hearth_abi_info {
    pub abi: u32,
    pub php_version_id: u32,
    pub php_version: hearth_str,
}

#[repr(C)]
pub struct hearth_boot_args {
    pub ini_entries: *const c_char,
    pub ini_path: *const c_char,
    pub no_ini: bool,
    pub mode: c_int,
    pub argc: c_int,
    pub argv: *mut *mut c_char,
}

#[repr(C)]
pub struct hearth_source {
    pub name: hearth_str,
    pub source: hearth_str,
    pub classes: *const hearth_str,
    pub class_count: usize,
}

pub const HEARTH_RESIDENT: c_int = 0;
pub const HEARTH_CLASSIC: c_int = 1;
pub const HEARTH_CLI: c_int = 2;

pub const HEARTH_OK: c_int = 0;
pub const HEARTH_EXIT: c_int = 1;
pub const HEARTH_BAILOUT: c_int = 2;
pub const HEARTH_EXCEPTION: c_int = 3;
pub const HEARTH_REFUSED: c_int = 4;

pub const HEARTH_STEP_WAITING: c_int = 0;
pub const HEARTH_STEP_DONE: c_int = 1;
pub const HEARTH_STEP_BROKEN: c_int = 2;

pub const HEARTH_THROW_TIMEOUT: c_int = 0;
pub const HEARTH_THROW_CANCELLED: c_int = 1;
pub const HEARTH_THROW_ERROR: c_int = 2;

pub const HEARTH_BODY_FULL: c_int = 0;
pub const HEARTH_BODY_STREAM: c_int = 1;
pub const HEARTH_BODY_FILE: c_int = 2;

#[repr(C)]
pub struct hearth_request_head {
    pub method: hearth_str,
    pub target: hearth_str,
    pub path: hearth_str,
    pub query: hearth_str,
    pub protocol: hearth_str,
    pub protocol_number: c_int,
}

#[repr(C)]
pub struct hearth_response {
    pub status: c_int,
    pub kind: c_int,
    pub body: hearth_str,
    pub retained: *mut c_void,
    pub headers: *const hearth_header,
    pub header_count: usize,
    pub more: bool,
    pub reason: hearth_str,
}

#[repr(C)]
pub struct hearth_script {
    pub filename: *const c_char,
    pub name: hearth_str,
    pub path_info: hearth_str,
    pub document_root: hearth_str,
}

unsafe extern "C" {
    pub fn hearth_abi() -> hearth_abi_info;
    pub fn hearth_boot(args: *const hearth_boot_args) -> bool;
    pub fn hearth_library_register(files: *const hearth_source, count: usize);
    pub fn hearth_run_entry(path: *const c_char) -> c_int;
    pub fn hearth_boot_error() -> hearth_str;
    pub fn hearth_seal();
    pub fn hearth_after_fork();
    pub fn hearth_post_max_size() -> u64;
    pub fn hearth_handler_kind() -> hearth_str;
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
    pub fn hearth_calls(function: hearth_str) -> bool;
    pub fn hearth_handed_on(index: u32) -> i64;
    pub fn hearth_can_wait() -> bool;
    pub fn hearth_must_stay() -> bool;
    pub fn hearth_may_leave() -> bool;
    pub fn hearth_refuse_wait();
    pub fn hearth_busy(busy: bool) -> bool;
    pub fn hearth_interrupt();
    pub fn hearth_time_out(limit: i64);
    pub fn hearth_is_unwinding() -> bool;
    pub fn hearth_heap_is_full() -> bool;
    pub fn hearth_note_interrupted();
    pub fn hearth_throw(kind: c_int, message: hearth_str);
    pub fn hearth_release(retained: *mut c_void);
    pub fn hearth_remove_temporary_files();
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
