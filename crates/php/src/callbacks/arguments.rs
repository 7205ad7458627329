//! Conversion of callback arguments from C to Rust.

use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

use php_sys::{
    self as sys, hearth_cache_figure, hearth_cache_found, hearth_cache_validator,
    hearth_cache_write, hearth_header, hearth_response, hearth_str,
};

use crate::request::Request;
use crate::task::TaskCell;

/// The type of a callback's argument, converted from what C passes.
pub(crate) trait FromC {
    type Raw;

    /// # Safety
    /// A pointer must be valid, and nothing else may write through it, for as long as the result is used. `hearth.h`
    /// promises that for the time of the call.
    unsafe fn from_c(raw: Self::Raw) -> Self;
}

macro_rules! as_they_are {
    ($($type:ty),* $(,)?) => {$(
        impl FromC for $type {
            type Raw = $type;

            unsafe fn from_c(raw: $type) -> $type {
                raw
            }
        }
    )*};
}

as_they_are! {
    bool, c_int, i64, u64, usize, f64, *mut c_char, *mut c_void, *const hearth_str, *const hearth_cache_validator, *const hearth_cache_write, *mut bool, *mut c_int, *mut hearth_cache_found,
    *mut hearth_cache_figure, *mut hearth_cache_validator, *mut hearth_header, *mut sys::hearth_task,
}

macro_rules! references {
    ($($type:ty),* $(,)?) => {$(
        impl FromC for &$type {
            type Raw = *const $type;

            unsafe fn from_c(raw: *const $type) -> Self {
                // SAFETY: C passes the address of a value that it has filled and leaves alone until the callback returns.
                unsafe { &*raw }
            }
        }
    )*};
}

references! { hearth_response }

macro_rules! places {
    ($($type:ty),* $(,)?) => {$(
        impl FromC for &mut $type {
            type Raw = *mut $type;

            unsafe fn from_c(raw: *mut $type) -> Self {
                // SAFETY: C passes the address of a variable of its own that has a value and that nothing else uses until the callback
                // returns.
                unsafe { &mut *raw }
            }
        }
    )*};
}

places! { i64, u64, usize, hearth_str }

impl<T> FromC for &mut MaybeUninit<T> {
    type Raw = *mut T;

    unsafe fn from_c(raw: *mut T) -> Self {
        // SAFETY: C passes the address of a variable of its own that nothing else uses until the callback returns. It may have no
        // value: so it is MaybeUninit.
        unsafe { &mut *raw.cast() }
    }
}

/// A request that `Task::request` or `Task::classic` gave to C and C has not released yet.
impl FromC for &Request {
    type Raw = *mut c_void;

    unsafe fn from_c(raw: *mut c_void) -> Self {
        // SAFETY: the pointer is that of an Rc<Request> of which C holds a reference until it calls the release callback.
        unsafe { &*raw.cast::<Request>() }
    }
}

/// The owner of a task that has not ended, or whose PHP object holds a reference.
impl FromC for &TaskCell {
    type Raw = *mut c_void;

    unsafe fn from_c(raw: *mut c_void) -> Self {
        // SAFETY: the pointer is that of an Rc<TaskCell>; the poller of a task that has not ended, or its object in PHP, holds a
        // reference.
        unsafe { &*raw.cast::<TaskCell>() }
    }
}

/// An owner as above, or null.
impl FromC for Option<&TaskCell> {
    type Raw = *mut c_void;

    unsafe fn from_c(raw: *mut c_void) -> Self {
        // SAFETY: null, or as for `&TaskCell`: the poller of the task or its object holds a reference.
        unsafe { raw.cast::<TaskCell>().as_ref() }
    }
}

impl FromC for &[u8] {
    type Raw = hearth_str;

    unsafe fn from_c(raw: hearth_str) -> Self {
        // SAFETY: C passes the bytes of a string that it keeps until the callback returns.
        unsafe { raw.bytes() }
    }
}

impl FromC for Cow<'_, str> {
    type Raw = hearth_str;

    unsafe fn from_c(raw: hearth_str) -> Self {
        // SAFETY: C passes the bytes of a string that it keeps until the callback returns.
        String::from_utf8_lossy(unsafe { raw.bytes() })
    }
}
