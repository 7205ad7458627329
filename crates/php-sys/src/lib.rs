//! Declarations of `csrc/hearth.h`, made by bindgen: no Zend type is among them.
//!
//! Only the crate `php` uses this.
#![allow(unsafe_code, non_camel_case_types)]

mod bindings;

pub use bindings::*;

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
