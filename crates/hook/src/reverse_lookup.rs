//! Hooks of getnameinfo, gethostbyaddr and gethostbyaddr_r: the name of an address is looked up on another thread.
//!
//! PHP's gethostbyaddr() calls getnameinfo, libraries call all three.

use std::ffi::{CStr, CString};

use libc::{c_char, c_int, c_void, hostent, sockaddr, socklen_t};

use crate::getaddrinfo::elsewhere;
use crate::host_entry::{Addressed, Host, TRY_AGAIN, keep, lay_out};
use crate::{syscall, waiter};

type Getnameinfo = unsafe extern "C" fn(
    *const sockaddr,
    socklen_t,
    *mut c_char,
    socklen_t,
    *mut c_char,
    socklen_t,
    c_int,
) -> c_int;
type Gethostbyaddr = unsafe extern "C" fn(*const c_void, socklen_t, c_int) -> *mut hostent;
type GethostbyaddrR = unsafe extern "C" fn(
    *const c_void,
    socklen_t,
    c_int,
    *mut hostent,
    *mut c_char,
    usize,
    *mut *mut hostent,
    *mut c_int,
) -> c_int;

/// A copy of an address, aligned as a `sockaddr` or a `sockaddr_in6` must be.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Address {
    bytes: [u8; size_of::<libc::sockaddr_storage>()],
    length: socklen_t,
}

impl Address {
    /// `None` if it is longer than any address.
    ///
    /// # Safety
    /// `length` bytes at `from` must be valid.
    unsafe fn copied(from: *const c_void, length: socklen_t) -> Option<Address> {
        let mut bytes = [0; size_of::<libc::sockaddr_storage>()];
        let room = bytes.get_mut(..length as usize)?;
        // SAFETY: as many bytes as the slice has; the caller vouches for them.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), room.as_mut_ptr(), room.len()) };
        Some(Address { bytes, length })
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }
}

/// The buffer for a name, as large as the caller's; without one, no name is wanted.
fn buffer(to: *mut c_char, room: socklen_t) -> Vec<c_char> {
    vec![0; if to.is_null() { 0 } else { room as usize }]
}

fn pointer(bytes: &mut Vec<c_char>) -> *mut c_char {
    match bytes.is_empty() {
        true => std::ptr::null_mut(),
        false => bytes.as_mut_ptr(),
    }
}

/// # Safety
/// `bytes.len()` bytes at `to` must be valid.
unsafe fn give(bytes: &[c_char], to: *mut c_char) {
    let used = bytes.iter().position(|byte| *byte == 0);
    let used = used.map_or(bytes.len(), |end| end + 1);
    // SAFETY: the caller vouches for the room; without any, nothing is copied.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, used) };
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getnameinfo(
    address: *const sockaddr,
    length: socklen_t,
    host: *mut c_char,
    host_room: socklen_t,
    service: *mut c_char,
    service_room: socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the type of getnameinfo(3).
    let real: Getnameinfo = unsafe { syscall::next(c"getnameinfo") };
    // Numbers are not looked up, and names of services are in a file.
    let wants_name = !host.is_null() && flags & libc::NI_NUMERICHOST == 0;
    let waiter = waiter().filter(|_| wants_name && !address.is_null());
    // SAFETY: the caller of getnameinfo(3) promises `length` bytes at `address`.
    let copy = || unsafe { Address::copied(address.cast(), length) };
    let Some((waiter, copy)) = waiter.and_then(|waiter| Some((waiter, copy()?))) else {
        // SAFETY: all arguments are the caller's promise.
        return unsafe {
            real(
                address,
                length,
                host,
                host_room,
                service,
                service_room,
                flags,
            )
        };
    };
    let (mut name, mut port) = (buffer(host, host_room), buffer(service, service_room));
    let outcome = elsewhere(waiter, move || {
        let (to, rooms) = (
            pointer(&mut name),
            [name.len(), port.len()].map(|room| room as socklen_t),
        );
        let at = copy.bytes.as_ptr().cast();
        // SAFETY: our own copy of the address, and our own buffers with their sizes.
        let code = unsafe {
            real(
                at,
                copy.length,
                to,
                rooms[0],
                pointer(&mut port),
                rooms[1],
                flags,
            )
        };
        (code, syscall::errno(), name, port)
    });
    let Some((code, error, name, port)) = outcome else {
        return libc::EAI_AGAIN;
    };
    match code {
        0 => {
            // SAFETY: the buffer is as large as the caller's.
            unsafe { give(&name, host) };
            // SAFETY: the buffer is as large as the caller's.
            unsafe { give(&port, service) };
        }
        libc::EAI_SYSTEM => syscall::set_errno(error),
        _ => {}
    }
    code
}

thread_local! {
    static LAST: std::cell::RefCell<Option<Box<Host>>> = const { std::cell::RefCell::new(None) };
}

fn lookup(address: &Address, family: c_int) -> Result<Box<Host>, c_int> {
    // SAFETY: the type of gethostbyaddr_r(3) in glibc.
    let real: GethostbyaddrR = unsafe { syscall::next(c"gethostbyaddr_r") };
    let (at, length) = (address.bytes.as_ptr().cast(), address.length);
    // SAFETY: an address of that length, and room that lives during the call.
    Host::resolve(|to| unsafe {
        real(
            at, length, family, to.entry, to.buffer, to.room, to.result, to.error,
        )
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gethostbyaddr(
    address: *const c_void,
    length: socklen_t,
    family: c_int,
) -> *mut hostent {
    // SAFETY: the caller of gethostbyaddr(3) promises `length` bytes at `address`.
    let copy = || unsafe { Address::copied(address, length) };
    let Some((waiter, copy)) = waiter().and_then(|waiter| Some((waiter, copy()?))) else {
        // SAFETY: the type of gethostbyaddr(3).
        let real: Gethostbyaddr = unsafe { syscall::next(c"gethostbyaddr") };
        // SAFETY: the address is the caller's promise.
        return unsafe { real(address, length, family) };
    };
    let found = elsewhere(waiter, move || lookup(&copy, family)).unwrap_or(Err(TRY_AGAIN));
    LAST.with_borrow_mut(|last| keep(last, found))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gethostbyaddr_r(
    address: *const c_void,
    length: socklen_t,
    family: c_int,
    entry: *mut hostent,
    buffer: *mut c_char,
    room: usize,
    result: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: the caller of gethostbyaddr_r(3) promises `length` bytes at `address`.
    let copy = || unsafe { Address::copied(address, length) };
    let Some((waiter, copy)) = waiter().and_then(|waiter| Some((waiter, copy()?))) else {
        // SAFETY: the type of gethostbyaddr_r(3).
        let real: GethostbyaddrR = unsafe { syscall::next(c"gethostbyaddr_r") };
        // SAFETY: all arguments are the caller's promise.
        return unsafe { real(address, length, family, entry, buffer, room, result, error) };
    };
    let name = move || Ok::<CString, c_int>(lookup(&copy, family)?.name().to_owned());
    let found: Result<CString, c_int> = elsewhere(waiter, name).unwrap_or(Err(TRY_AGAIN));
    // SAFETY: the caller gave room for a pointer.
    unsafe { result.write(std::ptr::null_mut()) };
    match found {
        // SAFETY: the caller gave an entry and that room, and places for a pointer and a number.
        Ok(name) => unsafe { pass_on(&name, &copy, family, (entry, buffer, room), result) },
        Err(code) => {
            // SAFETY: the caller gave room for a number.
            unsafe { error.write(code) };
            0
        }
    }
}

/// Writes the result of gethostbyaddr_r; returns its code.
///
/// # Safety
/// As `lay_out`; `result` must be valid.
unsafe fn pass_on(
    name: &CStr,
    address: &Address,
    family: c_int,
    (entry, buffer, room): (*mut hostent, *mut c_char, usize),
    result: *mut *mut hostent,
) -> c_int {
    let addresses = Addressed {
        family,
        length: address.length as usize,
        bytes: address.as_bytes(),
    };
    // SAFETY: the caller vouches for entry and room.
    if !unsafe { lay_out(name, &addresses, entry, buffer, room) } {
        return libc::ERANGE;
    }
    // SAFETY: the caller vouches for the place.
    unsafe { result.write(entry) };
    0
}
