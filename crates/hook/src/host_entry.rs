//! The `hostent` results of gethostbyname and gethostbyaddr, in memory of ours or of the caller.

use std::ffi::CStr;

use libc::{c_char, c_int, hostent};

use crate::resolver::set_h_errno;

/// Values of h_errno of <netdb.h>.
pub(crate) const HOST_NOT_FOUND: c_int = 1;
pub(crate) const TRY_AGAIN: c_int = 2;

/// The storage to which the result of gethostbyname or gethostbyaddr points; it lasts until the next call.
pub(crate) struct Host {
    pub(crate) entry: hostent,
    _bytes: Vec<c_char>,
}
// SAFETY: its pointers lead into its own bytes.
unsafe impl Send for Host {}

/// Where gethostbyname_r(3) and gethostbyaddr_r(3) write. The pointers are valid during the call.
pub(crate) struct Room {
    pub(crate) entry: *mut hostent,
    pub(crate) buffer: *mut c_char,
    pub(crate) room: usize,
    pub(crate) result: *mut *mut hostent,
    pub(crate) error: *mut c_int,
}

impl Host {
    /// Calls one of these functions, with more room if it asks for it. The error is a value of h_errno.
    pub(crate) fn resolve(mut call: impl FnMut(Room) -> c_int) -> Result<Box<Host>, c_int> {
        let mut bytes: Vec<c_char> = vec![0; 1024];
        loop {
            let mut host = Box::new(Host {
                // SAFETY: all zero is a valid hostent.
                entry: unsafe { std::mem::zeroed() },
                _bytes: Vec::new(),
            });
            let (mut found, mut error) = (std::ptr::null_mut(), 0);
            let code = call(Room {
                entry: &raw mut host.entry,
                buffer: bytes.as_mut_ptr(),
                room: bytes.len(),
                result: &raw mut found,
                error: &raw mut error,
            });
            if code == libc::ERANGE && bytes.len() < 1 << 20 {
                let larger = bytes.len() * 4;
                bytes.resize(larger, 0);
                continue;
            }
            if code != 0 || found.is_null() {
                return Err(if error == 0 { TRY_AGAIN } else { error });
            }
            host._bytes = bytes;
            return Ok(host);
        }
    }

    pub(crate) fn name(&self) -> &CStr {
        // SAFETY: a function of `resolve` has made it a C string in the bytes.
        unsafe { CStr::from_ptr(self.entry.h_name) }
    }
}

/// Keeps a result in `last`, and returns what gethostbyname(3) and gethostbyaddr(3) do.
pub(crate) fn keep(last: &mut Option<Box<Host>>, found: Result<Box<Host>, c_int>) -> *mut hostent {
    match found {
        Ok(host) => &raw mut last.insert(host).entry,
        Err(error) => {
            set_h_errno(error);
            std::ptr::null_mut()
        }
    }
}

/// Addresses of one family, one behind the other.
pub(crate) struct Addressed<'a> {
    pub(crate) family: c_int,
    /// How many bytes one has.
    pub(crate) length: usize,
    pub(crate) bytes: &'a [u8],
}

/// Writes name, an empty list of aliases and the addresses to `buffer`, as gethostbyname_r(3) does. False if it is too
/// small.
///
/// # Safety
/// `room` bytes at `buffer` and the entry must be valid.
pub(crate) unsafe fn lay_out(
    name: &CStr,
    addresses: &Addressed<'_>,
    entry: *mut hostent,
    buffer: *mut c_char,
    room: usize,
) -> bool {
    let pad = buffer.align_offset(align_of::<*mut c_char>());
    let count = addresses.bytes.len() / addresses.length;
    let pointers = (count + 2) * size_of::<*mut c_char>();
    // The addresses, and the name behind them.
    let text = [addresses.bytes, name.to_bytes_with_nul()].concat();
    if pad + pointers + text.len() > room {
        return false;
    }
    let list = buffer.wrapping_add(pad).cast::<*mut c_char>();
    let bytes = buffer.wrapping_add(pad + pointers);
    // SAFETY: all of it is below the sum just checked.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), bytes, text.len()) };
    // The list of addresses with its null pointer, and another null pointer: the empty list of aliases.
    let places = (0..count).map(|i| bytes.wrapping_add(i * addresses.length));
    let ends = [std::ptr::null_mut(); 2];
    for (i, place) in places.chain(ends).enumerate() {
        // SAFETY: as many as `pointers` counts, aligned by `pad`.
        unsafe { list.wrapping_add(i).write(place) };
    }
    let result = hostent {
        h_name: bytes.wrapping_add(addresses.bytes.len()),
        h_aliases: list.wrapping_add(count + 1),
        h_addrtype: addresses.family,
        h_length: addresses.length as c_int,
        h_addr_list: list,
    };
    // SAFETY: the caller vouches for the entry.
    unsafe { entry.write(result) };
    true
}
