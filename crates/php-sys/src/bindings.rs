//! Made from `csrc/hearth.h` by `cargo run -p xtask -- gen`, with bindgen.

#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_str {
    pub ptr: *const std::ffi::c_char,
    pub len: usize,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_header {
    pub name: hearth_str,
    pub value: hearth_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_task {
    _unused: [u8; 0],
}
pub const HEARTH_RESIDENT: hearth_mode = 0;
pub const HEARTH_CLASSIC: hearth_mode = 1;
pub const HEARTH_CLI: hearth_mode = 2;
pub type hearth_mode = std::ffi::c_int;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_boot_args {
    pub ini_entries: *const std::ffi::c_char,
    pub ini_path: *const std::ffi::c_char,
    pub no_ini: bool,
    pub mode: hearth_mode,
    pub argc: std::ffi::c_int,
    pub argv: *mut *mut std::ffi::c_char,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_source {
    pub name: hearth_str,
    pub source: hearth_str,
    pub classes: *const hearth_str,
    pub class_count: usize,
}
pub const HEARTH_OK: hearth_outcome = 0;
pub const HEARTH_EXIT: hearth_outcome = 1;
pub const HEARTH_BAILOUT: hearth_outcome = 2;
pub const HEARTH_EXCEPTION: hearth_outcome = 3;
pub const HEARTH_REFUSED: hearth_outcome = 4;
pub type hearth_outcome = std::ffi::c_int;

pub const HEARTH_STEP_WAITING: hearth_step = 0;
pub const HEARTH_STEP_DONE: hearth_step = 1;
pub const HEARTH_STEP_BROKEN: hearth_step = 2;
pub type hearth_step = std::ffi::c_int;

#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_script {
    pub filename: *const std::ffi::c_char,
    pub name: hearth_str,
    pub path_info: hearth_str,
    pub document_root: hearth_str,
    pub query: hearth_str,
    pub has_query: bool,
}

pub const HEARTH_WAIT_BLOCKS: hearth_wait_mode = 0;
pub const HEARTH_WAIT_SUSPENDS: hearth_wait_mode = 1;
pub const HEARTH_WAIT_BLOCKS_LIMITED: hearth_wait_mode = 2;
pub type hearth_wait_mode = std::ffi::c_int;

pub const HEARTH_THROW_TIMEOUT: hearth_throwable = 0;
pub const HEARTH_THROW_CANCELLED: hearth_throwable = 1;
pub const HEARTH_THROW_ERROR: hearth_throwable = 2;
pub const HEARTH_THROW_UNHEARD: hearth_throwable = 3;
pub type hearth_throwable = std::ffi::c_int;

#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_request_head {
    pub method: hearth_str,
    pub target: hearth_str,
    pub path: hearth_str,
    pub query: hearth_str,
    pub protocol: hearth_str,
    pub protocol_number: std::ffi::c_int,
}
pub const HEARTH_BODY_FULL: hearth_body_kind = 0;
pub const HEARTH_BODY_STREAM: hearth_body_kind = 1;
pub const HEARTH_BODY_FILE: hearth_body_kind = 2;
pub type hearth_body_kind = std::ffi::c_int;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_response {
    pub status: std::ffi::c_int,
    pub kind: hearth_body_kind,
    pub body: hearth_str,
    pub retained: *mut std::ffi::c_void,
    pub headers: *const hearth_header,
    pub header_count: usize,
    pub more: bool,
    pub cgi: bool,
    pub status_line: hearth_str,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_client {
    pub address: hearth_str,
    pub local: hearth_str,
    pub port: std::ffi::c_int,
    pub local_port: std::ffi::c_int,
    pub secure: bool,
}

pub const HEARTH_LOG_DEBUG: hearth_log_level = 0;
pub const HEARTH_LOG_NOTICE: hearth_log_level = 1;
pub const HEARTH_LOG_WARNING: hearth_log_level = 2;
pub const HEARTH_LOG_ERROR: hearth_log_level = 3;
pub type hearth_log_level = std::ffi::c_int;

#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_cache_validator {
    pub sequence: u64,
    pub cell: u64,
}
pub const HEARTH_CACHE_NOTHING: hearth_cache_encoding = -1;
pub const HEARTH_CACHE_INT: hearth_cache_encoding = 0;
pub const HEARTH_CACHE_PLAIN: hearth_cache_encoding = 1;
pub const HEARTH_CACHE_SERIALIZED: hearth_cache_encoding = 2;
pub type hearth_cache_encoding = std::ffi::c_int;
pub const HEARTH_CACHE_LOCK: hearth_cache_space = 3;
pub const HEARTH_CACHE_COMPUTATION: hearth_cache_space = 4;
pub type hearth_cache_space = std::ffi::c_int;
pub const HEARTH_CACHE_ALWAYS: hearth_cache_condition = 0;
pub const HEARTH_CACHE_IF_ABSENT: hearth_cache_condition = 1;
pub const HEARTH_CACHE_IF_EQUAL: hearth_cache_condition = 2;
pub const HEARTH_CACHE_IF_CLAIMED: hearth_cache_condition = 3;
pub type hearth_cache_condition = std::ffi::c_int;
pub const HEARTH_CACHE_COMPUTED: hearth_cache_event = 0;
pub const HEARTH_CACHE_COALESCED: hearth_cache_event = 1;
pub type hearth_cache_event = std::ffi::c_int;
pub const HEARTH_CACHE_NO: hearth_cache_outcome = 0;
pub const HEARTH_CACHE_YES: hearth_cache_outcome = 1;
pub const HEARTH_CACHE_TOO_LARGE: hearth_cache_outcome = 2;
pub const HEARTH_CACHE_FULL: hearth_cache_outcome = 3;
pub const HEARTH_CACHE_LOCK_TIMEOUT: hearth_cache_outcome = 4;
pub const HEARTH_CACHE_NOT_INT: hearth_cache_outcome = 5;
pub const HEARTH_CACHE_OVERFLOW: hearth_cache_outcome = 6;
pub const HEARTH_CACHE_BAD_KEY: hearth_cache_outcome = 7;
pub const HEARTH_CACHE_NONE: hearth_cache_outcome = 8;
pub const HEARTH_CACHE_NOT_HELD: hearth_cache_outcome = 9;
pub const HEARTH_CACHE_AWAY: hearth_cache_outcome = 10;
pub const HEARTH_CACHE_DENIED: hearth_cache_outcome = 11;
pub type hearth_cache_outcome = std::ffi::c_int;
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_cache_found {
    pub bytes: hearth_str,
    pub validators: *const hearth_cache_validator,
    pub validator_count: usize,
    pub encoding: std::ffi::c_int,
    pub number: i64,
    pub expires: u64,
    pub stale: u64,
    pub own: hearth_cache_validator,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_cache_write {
    pub key: hearth_str,
    pub bytes: hearth_str,
    pub encoding: std::ffi::c_int,
    pub number: i64,
    pub ttl: u64,
    pub fresh: u64,
    pub tags: *const hearth_str,
    pub tag_count: usize,
    pub validators: *const hearth_cache_validator,
    pub validator_count: usize,
    pub condition: std::ffi::c_int,
    pub expected_encoding: std::ffi::c_int,
    pub expected: hearth_str,
    pub expected_number: i64,
    pub token: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_cache_figure {
    pub name: hearth_str,
    pub value: u64,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct hearth_cache_entry {
    pub key: hearth_str,
    pub size: u64,
    pub reads: u64,
    pub left: u64,
}

unsafe extern "C" {
    pub fn hearth_php_version() -> hearth_str;
    pub fn hearth_boot(args: *const hearth_boot_args) -> bool;
    pub fn hearth_prelude_register(files: *const hearth_source, count: usize);
    pub fn hearth_run_entry(path: *const std::ffi::c_char) -> hearth_outcome;
    pub fn hearth_boot_error() -> hearth_str;
    pub fn hearth_last_thrown() -> hearth_str;
    pub fn hearth_seal();
    pub fn hearth_after_fork();
    pub fn hearth_pass_over_signals();
    pub fn hearth_post_max_size() -> u64;
    pub fn hearth_validates_timestamps() -> bool;
    pub fn hearth_handler_kind() -> hearth_str;
    pub fn hearth_has_extension(name: hearth_str) -> bool;
    pub fn hearth_has_setting(name: hearth_str) -> bool;
    pub fn hearth_refuse_persistent(refuse: bool);
    pub fn hearth_contexts_of_requests(concurrency: u32);
    pub fn hearth_cli_info(what: std::ffi::c_char) -> std::ffi::c_int;
    pub fn hearth_cli_request_startup(
        script: *const std::ffi::c_char,
        argc: std::ffi::c_int,
        argv: *mut *mut std::ffi::c_char,
    ) -> bool;
    pub fn hearth_cli_task(
        script: *const std::ffi::c_char,
        code: *const std::ffi::c_char,
        mode: std::ffi::c_char,
        owner: *mut std::ffi::c_void,
    ) -> *mut hearth_task;
    pub fn hearth_cli_finish() -> std::ffi::c_int;
    pub fn hearth_task_request(
        owner: *mut std::ffi::c_void,
        request: *mut std::ffi::c_void,
    ) -> *mut hearth_task;
    pub fn hearth_task_classic(
        owner: *mut std::ffi::c_void,
        request: *mut std::ffi::c_void,
        script: *const hearth_script,
    ) -> *mut hearth_task;
    pub fn hearth_loop_stop(owner: *mut std::ffi::c_void) -> *mut hearth_task;
    pub fn hearth_task_resume(task: *mut hearth_task) -> hearth_step;
    pub fn hearth_exit_status() -> std::ffi::c_int;
    pub fn hearth_task_suspend();
    pub fn hearth_task_free(task: *mut hearth_task);
    pub fn hearth_task_id_for_others(task: *const hearth_task) -> u64;
    pub fn hearth_current_owner() -> *mut std::ffi::c_void;
    pub fn hearth_owners_below(owners: *mut *mut std::ffi::c_void, room: usize) -> usize;
    pub fn hearth_owner_of_request() -> *mut std::ffi::c_void;
    pub fn hearth_current_task_id() -> u64;
    pub fn hearth_calls(function: hearth_str) -> bool;
    pub fn hearth_handed_on(index: u32) -> i64;
    pub fn hearth_child(pid: std::ffi::c_int, index: u32) -> std::ffi::c_int;
    pub fn hearth_child_ended(pid: std::ffi::c_int);
    pub fn hearth_mode_of_wait() -> hearth_wait_mode;
    pub fn hearth_hooks_may_wait() -> bool;
    pub fn hearth_may_suspend() -> bool;
    pub fn hearth_heap_is_changed() -> bool;
    pub fn hearth_refuse_wait();
    pub fn hearth_busy(busy: bool) -> bool;
    pub fn hearth_interrupt();
    pub fn hearth_time_out(limit: i64);
    pub fn hearth_is_unwinding() -> bool;
    pub fn hearth_task_ignores_client(task: *const hearth_task) -> bool;
    pub fn hearth_in_file_once() -> bool;
    pub fn hearth_task_trace(
        task: *const hearth_task,
        at: *mut std::ffi::c_char,
        room: usize,
    ) -> usize;
    pub fn hearth_outside_trace(at: *mut std::ffi::c_char, room: usize) -> usize;
    pub fn hearth_heap_is_full() -> bool;
    pub fn hearth_note_interrupted(fd: std::ffi::c_int);
    pub fn hearth_descriptor_closed(fd: std::ffi::c_int);
    pub fn hearth_throw(kind: hearth_throwable, message: hearth_str);
    pub fn hearth_release(retained: *mut std::ffi::c_void);
    pub fn hearth_remove_temporary_files();
    pub fn hearth_is_temporary_file(fd: std::ffi::c_int) -> bool;
    pub fn hearth_task_is_alive(id: u64) -> bool;
    pub fn hearth_records_locked();
    pub fn hearth_timer_task(callback: u64, owner: *mut std::ffi::c_void) -> *mut hearth_task;
    pub fn hearth_timer_forget(callback: u64);
    pub fn hearth_collector_task(owner: *mut std::ffi::c_void) -> *mut hearth_task;
    pub fn hearth_call_pools(
        method: *const std::ffi::c_char,
        argument: f64,
        owner: *mut std::ffi::c_void,
    ) -> *mut hearth_task;
    pub fn hearth_cache_copies_limit(bytes: usize);
}

/// The functions that C calls.
pub mod called_by_c {
    use super::*;

    pub type hearth_on_head =
        unsafe extern "C" fn(request: *mut std::ffi::c_void, out: *mut hearth_request_head);
    pub type hearth_on_content = unsafe extern "C" fn(
        request: *mut std::ffi::c_void,
        type_: *mut hearth_str,
        length: *mut i64,
    );
    pub type hearth_on_header = unsafe extern "C" fn(
        request: *mut std::ffi::c_void,
        name: hearth_str,
        out: *mut hearth_str,
    ) -> bool;
    pub type hearth_on_headers = unsafe extern "C" fn(
        request: *mut std::ffi::c_void,
        out: *mut hearth_header,
        capacity: usize,
    ) -> usize;
    pub type hearth_on_client =
        unsafe extern "C" fn(request: *mut std::ffi::c_void) -> hearth_client;
    pub type hearth_on_request_id =
        unsafe extern "C" fn(request: *mut std::ffi::c_void, buffer: *mut std::ffi::c_char);
    pub type hearth_on_body_read = unsafe extern "C" fn(
        request: *mut std::ffi::c_void,
        buffer: *mut std::ffi::c_char,
        length: usize,
    ) -> isize;
    pub type hearth_on_body_error =
        unsafe extern "C" fn(request: *mut std::ffi::c_void) -> hearth_str;
    pub type hearth_on_body_arrived = unsafe extern "C" fn(request: *mut std::ffi::c_void) -> bool;
    pub type hearth_on_respond =
        unsafe extern "C" fn(request: *mut std::ffi::c_void, response: *const hearth_response);
    pub type hearth_on_finish =
        unsafe extern "C" fn(request: *mut std::ffi::c_void, piece: hearth_str);
    pub type hearth_on_break_off = unsafe extern "C" fn(request: *mut std::ffi::c_void);
    pub type hearth_on_write =
        unsafe extern "C" fn(request: *mut std::ffi::c_void, piece: hearth_str) -> bool;
    pub type hearth_on_request_retain = unsafe extern "C" fn(request: *mut std::ffi::c_void);
    pub type hearth_on_request_release = unsafe extern "C" fn(request: *mut std::ffi::c_void);
    pub type hearth_on_time_limit =
        unsafe extern "C" fn(owner: *mut std::ffi::c_void, seconds: f64);
    pub type hearth_on_cpu_limit = unsafe extern "C" fn(seconds: i64);
    pub type hearth_on_broken = unsafe extern "C" fn(owner: *mut std::ffi::c_void);
    pub type hearth_on_release_held =
        unsafe extern "C" fn(owner: *mut std::ffi::c_void, of_request: bool);
    pub type hearth_on_leave = unsafe extern "C" fn(reason: hearth_str, at_once: bool);
    pub type hearth_on_log = unsafe extern "C" fn(level: hearth_log_level, message: hearth_str);
    pub type hearth_on_task_log = unsafe extern "C" fn(
        owner: *mut std::ffi::c_void,
        level: hearth_log_level,
        message: hearth_str,
    );
    pub type hearth_on_task_new = unsafe extern "C" fn(
        parent_owner: *mut std::ffi::c_void,
        task: *mut hearth_task,
        child: bool,
    ) -> *mut std::ffi::c_void;
    pub type hearth_on_task_start = unsafe extern "C" fn(owner: *mut std::ffi::c_void);
    pub type hearth_on_await =
        unsafe extern "C" fn(owner: *mut std::ffi::c_void, seconds: f64) -> std::ffi::c_int;
    pub type hearth_on_cancel = unsafe extern "C" fn(owner: *mut std::ffi::c_void);
    pub type hearth_on_owner_release = unsafe extern "C" fn(owner: *mut std::ffi::c_void);
    pub type hearth_on_join_children = unsafe extern "C" fn(cancel: bool) -> bool;
    pub type hearth_on_park = unsafe extern "C" fn(seconds: f64) -> std::ffi::c_int;
    pub type hearth_on_unpark = unsafe extern "C" fn(owner: *mut std::ffi::c_void) -> bool;
    pub type hearth_on_yield = unsafe extern "C" fn();
    pub type hearth_on_timer = unsafe extern "C" fn(seconds: f64, repeat: bool, callback: u64);
    pub type hearth_on_timer_stop = unsafe extern "C" fn(timer: u64) -> bool;
    pub type hearth_on_interrupt = unsafe extern "C" fn(has_frame: bool);
    pub type hearth_on_cancel_delivered = unsafe extern "C" fn(message: hearth_str) -> bool;
    pub type hearth_on_is_overdue = unsafe extern "C" fn() -> bool;
    pub type hearth_on_two_tasks =
        unsafe extern "C" fn(owner: *mut std::ffi::c_void, task: u64, function: hearth_str);
    pub type hearth_on_refuses = unsafe extern "C" fn(fd: std::ffi::c_int) -> bool;
    pub type hearth_on_holds_lock = unsafe extern "C" fn() -> bool;
    pub type hearth_on_budget = unsafe extern "C" fn(name: hearth_str, total: i64) -> i64;
    pub type hearth_on_budget_acquire = unsafe extern "C" fn(handle: i64, n: i64) -> bool;
    pub type hearth_on_budget_release = unsafe extern "C" fn(handle: i64, n: i64);
    pub type hearth_on_budget_used = unsafe extern "C" fn(handle: i64) -> i64;
    pub type hearth_on_report = unsafe extern "C" fn(text: hearth_str);
    pub type hearth_on_cache_is_current = unsafe extern "C" fn(
        validators: *const hearth_cache_validator,
        count: usize,
        expires: u64,
    ) -> bool;
    pub type hearth_on_cache_read =
        unsafe extern "C" fn(key: hearth_str, out: *mut hearth_cache_found) -> std::ffi::c_int;
    pub type hearth_on_cache_read_many = unsafe extern "C" fn(
        keys: *const hearth_str,
        count: usize,
        out: *mut hearth_cache_found,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_peek_many = unsafe extern "C" fn(
        keys: *const hearth_str,
        count: usize,
        out: *mut hearth_cache_found,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_write =
        unsafe extern "C" fn(write: *const hearth_cache_write) -> std::ffi::c_int;
    pub type hearth_on_cache_write_many = unsafe extern "C" fn(
        writes: *const hearth_cache_write,
        count: usize,
        whole: bool,
        outcomes: *mut std::ffi::c_int,
    );
    pub type hearth_on_cache_increment =
        unsafe extern "C" fn(write: *const hearth_cache_write, sum: *mut i64) -> std::ffi::c_int;
    pub type hearth_on_cache_delete = unsafe extern "C" fn(key: hearth_str) -> std::ffi::c_int;
    pub type hearth_on_cache_delete_many = unsafe extern "C" fn(
        keys: *const hearth_str,
        count: usize,
        deleted: *mut bool,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_delete_tag = unsafe extern "C" fn(tag: hearth_str) -> std::ffi::c_int;
    pub type hearth_on_cache_delete_tags = unsafe extern "C" fn(
        tags: *const hearth_str,
        count: usize,
        deleted: *mut usize,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_clear = unsafe extern "C" fn() -> std::ffi::c_int;
    pub type hearth_on_cache_tags = unsafe extern "C" fn(
        tags: *const hearth_str,
        count: usize,
        out: *mut hearth_cache_validator,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_claim = unsafe extern "C" fn(
        space: std::ffi::c_int,
        name: hearth_str,
        owner: hearth_str,
        time: u64,
        number: *mut u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_token = unsafe extern "C" fn(
        space: std::ffi::c_int,
        name: hearth_str,
        owner: hearth_str,
        number: *mut u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_give_back = unsafe extern "C" fn(
        space: std::ffi::c_int,
        name: hearth_str,
        token: u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_extend = unsafe extern "C" fn(
        space: std::ffi::c_int,
        name: hearth_str,
        token: u64,
        time: u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_holds = unsafe extern "C" fn(
        space: std::ffi::c_int,
        name: hearth_str,
        token: u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_cache_wait = unsafe extern "C" fn(key: hearth_str) -> std::ffi::c_int;
    pub type hearth_on_cache_count = unsafe extern "C" fn(event: std::ffi::c_int);
    pub type hearth_on_cache_now = unsafe extern "C" fn() -> u64;
    pub type hearth_on_cache_largest = unsafe extern "C" fn() -> usize;
    pub type hearth_on_cache_list = unsafe extern "C" fn(prefix: hearth_str) -> usize;
    pub type hearth_on_cache_listed = unsafe extern "C" fn(at: usize) -> hearth_cache_entry;
    pub type hearth_on_cache_stats =
        unsafe extern "C" fn(out: *mut hearth_cache_figure, capacity: usize) -> usize;
    pub type hearth_on_session_lock =
        unsafe extern "C" fn(key: hearth_str, number: *mut u64) -> std::ffi::c_int;
    pub type hearth_on_session_unlock =
        unsafe extern "C" fn(key: hearth_str, token: u64) -> std::ffi::c_int;
    pub type hearth_on_session_exists = unsafe extern "C" fn(key: hearth_str) -> std::ffi::c_int;
    pub type hearth_on_session_read = unsafe extern "C" fn(
        key: hearth_str,
        token: u64,
        seconds: i64,
        out: *mut hearth_str,
    ) -> std::ffi::c_int;
    pub type hearth_on_session_write = unsafe extern "C" fn(
        key: hearth_str,
        token: u64,
        data: hearth_str,
        seconds: i64,
        evicted: *mut u64,
    ) -> std::ffi::c_int;
    pub type hearth_on_session_touch =
        unsafe extern "C" fn(key: hearth_str, token: u64, seconds: i64) -> std::ffi::c_int;
    pub type hearth_on_session_destroy =
        unsafe extern "C" fn(key: hearth_str, token: u64) -> std::ffi::c_int;
    pub type hearth_on_session_collect = unsafe extern "C" fn(removed: *mut u64) -> std::ffi::c_int;
    pub type hearth_on_session_awaited = unsafe extern "C" fn();
}
