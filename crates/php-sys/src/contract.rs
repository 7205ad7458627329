//! The structs and constants that C and Rust share, each with its layout.
//!
//! `build.rs` includes this file too, and makes of it what the C compiler compares with `csrc/hearth.h`: a struct of another size, or a
//! field of another place or size, does not compile.

use std::ffi::{c_char, c_int, c_void};

/// A struct as Rust lays it out.
pub struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub align: usize,
    pub fields: &'static [Field],
}

/// One field: its name, where it stands, and its size.
pub struct Field {
    pub name: &'static str,
    pub offset: usize,
    pub size: usize,
}

/// The size of the field that a projection leads to.
const fn size_behind<S, F>(_: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! structs {
    ($($(#[$note:meta])* struct $name:ident { $($(#[$field_note:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$note])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name {
                $($(#[$field_note])* pub $field: $type,)*
            }
        )*

        pub const LAYOUTS: &[Layout] = &[$(Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            align: align_of::<$name>(),
            fields: &[$(Field {
                name: stringify!($field),
                offset: std::mem::offset_of!($name, $field),
                size: size_behind::<$name, $type>(|whole| &whole.$field),
            },)*],
        },)*];
    };
}

macro_rules! constants {
    ($($name:ident = $value:expr,)*) => {
        $(pub const $name: c_int = $value;)*

        pub const CONSTANTS: &[(&str, c_int)] = &[$((stringify!($name), $name),)*];
    };
}

structs! {
    /// Bytes of another owner; null means absent.
    struct hearth_str {
        ptr: *const c_char,
        len: usize,
    }

    struct hearth_header {
        name: hearth_str,
        value: hearth_str,
    }

    struct hearth_boot_args {
        ini_entries: *const c_char,
        ini_path: *const c_char,
        no_ini: bool,
        mode: c_int,
        argc: c_int,
        argv: *mut *mut c_char,
    }

    struct hearth_source {
        name: hearth_str,
        source: hearth_str,
        classes: *const hearth_str,
        class_count: usize,
    }

    struct hearth_request_head {
        method: hearth_str,
        target: hearth_str,
        path: hearth_str,
        query: hearth_str,
        protocol: hearth_str,
        protocol_number: c_int,
    }

    struct hearth_response {
        status: c_int,
        kind: c_int,
        body: hearth_str,
        retained: *mut c_void,
        headers: *const hearth_header,
        header_count: usize,
        more: bool,
        reason: hearth_str,
    }

    struct hearth_script {
        filename: *const c_char,
        name: hearth_str,
        path_info: hearth_str,
        document_root: hearth_str,
        query: hearth_str,
        has_query: bool,
    }

    struct hearth_cache_mark {
        stamp: u64,
        cell: u64,
    }

    struct hearth_cache_found {
        bytes: hearth_str,
        marks: *const hearth_cache_mark,
        mark_count: usize,
        form: c_int,
        number: i64,
        expires: u64,
        stale: u64,
    }

    struct hearth_cache_write {
        key: hearth_str,
        bytes: hearth_str,
        form: c_int,
        number: i64,
        ttl: u64,
        fresh: u64,
        tags: *const hearth_str,
        tag_count: usize,
        marks: *const hearth_cache_mark,
        mark_count: usize,
        condition: c_int,
        expected_form: c_int,
        expected: hearth_str,
        expected_number: i64,
        token: u64,
    }

    struct hearth_cache_entry {
        key: hearth_str,
        size: u64,
        reads: u64,
        left: u64,
    }

    struct hearth_cache_figure {
        name: hearth_str,
        value: u64,
    }
}

constants! {
    HEARTH_RESIDENT = 0,
    HEARTH_CLASSIC = 1,
    HEARTH_CLI = 2,
    HEARTH_OK = 0,
    HEARTH_EXIT = 1,
    HEARTH_BAILOUT = 2,
    HEARTH_EXCEPTION = 3,
    HEARTH_REFUSED = 4,
    HEARTH_STEP_WAITING = 0,
    HEARTH_STEP_DONE = 1,
    HEARTH_STEP_BROKEN = 2,
    HEARTH_THROW_TIMEOUT = 0,
    HEARTH_THROW_CANCELLED = 1,
    HEARTH_THROW_ERROR = 2,
    HEARTH_BODY_FULL = 0,
    HEARTH_BODY_STREAM = 1,
    HEARTH_BODY_FILE = 2,
    HEARTH_LOG_DEBUG = 0,
    HEARTH_LOG_NOTICE = 1,
    HEARTH_LOG_WARNING = 2,
    HEARTH_LOG_ERROR = 3,
    HEARTH_CACHE_INT = 0,
    HEARTH_CACHE_PLAIN = 1,
    HEARTH_CACHE_SERIALIZED = 2,
    HEARTH_CACHE_LOCK = 3,
    HEARTH_CACHE_COMPUTATION = 4,
    HEARTH_CACHE_ALWAYS = 0,
    HEARTH_CACHE_IF_ABSENT = 1,
    HEARTH_CACHE_IF_EQUAL = 2,
    HEARTH_CACHE_IF_CLAIMED = 3,
    HEARTH_CACHE_COMPUTED = 0,
    HEARTH_CACHE_SPARED = 1,
    HEARTH_CACHE_NO = 0,
    HEARTH_CACHE_YES = 1,
    HEARTH_CACHE_TOO_LARGE = 2,
    HEARTH_CACHE_FULL = 3,
    HEARTH_CACHE_STUCK = 4,
    HEARTH_CACHE_NOT_INT = 5,
    HEARTH_CACHE_OVERFLOW = 6,
    HEARTH_CACHE_BAD_KEY = 7,
    HEARTH_CACHE_NONE = 8,
    HEARTH_CACHE_NOT_HELD = 9,
    HEARTH_CACHE_AWAY = 10,
    HEARTH_CACHE_DENIED = 11,
}
