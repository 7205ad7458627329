//! Conversion between the cache's structs and those of C.

use cache::{Condition, Encoding, Found, Validator, Write};
use php_sys::{
    self as sys, hearth_cache_found, hearth_cache_validator, hearth_cache_write, hearth_str,
};

use crate::callbacks::arguments::FromC;

pub(super) fn validator(validator: &hearth_cache_validator) -> Validator {
    Validator {
        sequence: validator.sequence,
        cell: validator.cell,
    }
}

pub(super) fn validator_for_c(validator: &Validator) -> hearth_cache_validator {
    hearth_cache_validator {
        sequence: validator.sequence,
        cell: validator.cell,
    }
}

/// Makes the struct for C of a found value: its bytes are `bytes`, and its validators are `validators`.
pub(super) fn found_for_c(
    found: &Found,
    bytes: &[u8],
    validators: &[hearth_cache_validator],
) -> hearth_cache_found {
    hearth_cache_found {
        bytes: hearth_str::new(bytes),
        validators: validators.as_ptr(),
        validator_count: validators.len(),
        encoding: found.encoding as i32,
        number: found.int,
        expires: found.expires,
        stale: found.stale,
        own: validators
            .first()
            .copied()
            .unwrap_or(hearth_cache_validator {
                sequence: 0,
                cell: 0,
            }),
    }
}

fn encoding(number: i32) -> Encoding {
    match number {
        sys::HEARTH_CACHE_INT => Encoding::Int,
        sys::HEARTH_CACHE_PLAIN => Encoding::Plain,
        _ => Encoding::Serialized,
    }
}

/// A write that C code asks for. The memory belongs to C and lives until the callback returns.
pub(super) struct GivenWrite<'a> {
    write: Write<'a>,
    tags: Vec<&'a [u8]>,
    validators: Vec<Validator>,
}

impl GivenWrite<'_> {
    pub(super) fn write(&self) -> Write<'_> {
        Write {
            tags: &self.tags,
            validators: &self.validators,
            ..self.write
        }
    }
}

impl<'a> FromC for GivenWrite<'a> {
    type Raw = *const hearth_cache_write;

    unsafe fn from_c(raw: *const hearth_cache_write) -> Self {
        // SAFETY: C passes the address of a write that it has filled.
        let given = unsafe { &*raw };
        // SAFETY: key, value and what is expected are strings that C keeps until the callback returns.
        let bytes_of = |text: hearth_str| unsafe { text.bytes() };
        // SAFETY: C passes `tag_count` names; an absent list is null.
        let tags = unsafe { names(given.tags, given.tag_count) };
        // SAFETY: C passes `validator_count` validators; an absent list is null.
        let validators = unsafe { items(given.validators, given.validator_count) };
        Self {
            write: Write {
                key: bytes_of(given.key),
                encoding: encoding(given.encoding),
                int: given.number,
                bytes: bytes_of(given.bytes),
                ttl: given.ttl,
                fresh: given.fresh,
                tags: &[],
                validators: &[],
                condition: condition(given, bytes_of(given.expected)),
            },
            tags,
            validators: validators.iter().map(validator).collect(),
        }
    }
}

fn condition<'a>(given: &hearth_cache_write, expected: &'a [u8]) -> Condition<'a> {
    match given.condition {
        sys::HEARTH_CACHE_IF_ABSENT => Condition::Absent,
        sys::HEARTH_CACHE_IF_EQUAL => Condition::Equals(
            encoding(given.expected_encoding),
            given.expected_number,
            expected,
        ),
        sys::HEARTH_CACHE_IF_CLAIMED => Condition::Claimed(given.token),
        _ => Condition::Always,
    }
}

/// # Safety
/// `first` is null, for an empty list, or points to `count` initialised values that are valid for `'a`.
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: there are `count` of them, valid for `'a`, as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// # Safety
/// As [`items`]; the bytes of each name are valid for `'a`, too.
pub(super) unsafe fn names<'a>(first: *const hearth_str, count: usize) -> Vec<&'a [u8]> {
    // SAFETY: the caller's promise is that of `items`.
    let names = unsafe { items(first, count) };
    // SAFETY: the bytes of each are valid for `'a`, as the caller promises.
    names.iter().map(|name| unsafe { name.bytes() }).collect()
}
