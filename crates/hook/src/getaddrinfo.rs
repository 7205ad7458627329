//! Hooks of getaddrinfo and gethostbyname: the look-up runs on another thread.
//!
//! A look-up works on copies of the arguments and writes to memory of its own, which is freed when no thread refers to it
//! any more: the task may have ended long before the answer arrives. As many look-ups run at once as tokio has threads for
//! blocking calls (512); further ones wait for a thread.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use libc::{addrinfo, c_char, c_int, hostent};

use crate::host_entry::{Addressed, HOST_NOT_FOUND, Host, TRY_AGAIN, keep, lay_out};
use crate::{Waiter, syscall, waiter};

type Getaddrinfo = unsafe extern "C" fn(
    *const c_char,
    *const c_char,
    *const addrinfo,
    *mut *mut addrinfo,
) -> c_int;
type GethostbynameR = unsafe extern "C" fn(
    *const c_char,
    *mut hostent,
    *mut c_char,
    usize,
    *mut *mut hostent,
    *mut c_int,
) -> c_int;

/// The result of getaddrinfo, freed unless it is passed on.
struct Addresses(*mut addrinfo);
// SAFETY: one thread uses it at a time: the one that looks up, then the one that waited for it.
unsafe impl Send for Addresses {}

impl Addresses {
    /// Passes the list to the caller, which frees it.
    fn into_raw(self) -> *mut addrinfo {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: a list that getaddrinfo made, to which there is no other pointer.
            unsafe { libc::freeaddrinfo(self.0) };
        }
    }
}

/// Runs `call` on another thread with copies of its own. `None` if the task's wait was ended early.
pub(crate) fn elsewhere<T: Send + 'static>(
    waiter: &dyn Waiter,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let answer = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&answer);
    let finished = waiter.blocking(Box::new(move || {
        let found = call();
        *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }));
    let found = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    found.filter(|_| finished)
}

/// # Safety
/// Null or a C string.
pub(crate) unsafe fn copied(text: *const c_char) -> Option<CString> {
    // SAFETY: the caller's own promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_owned())
}

pub(crate) fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The hints of getaddrinfo without the pointers of an `addrinfo`, which cannot go to another thread.
#[derive(Clone, Copy)]
struct Hints {
    flags: c_int,
    family: c_int,
    socktype: c_int,
    protocol: c_int,
}

impl Hints {
    fn of(hints: addrinfo) -> Hints {
        Hints {
            flags: hints.ai_flags,
            family: hints.ai_family,
            socktype: hints.ai_socktype,
            protocol: hints.ai_protocol,
        }
    }

    fn into_addrinfo(self) -> addrinfo {
        // SAFETY: all zero is a valid addrinfo.
        let mut hints: addrinfo = unsafe { std::mem::zeroed() };
        hints.ai_flags = self.flags;
        hints.ai_family = self.family;
        hints.ai_socktype = self.socktype;
        hints.ai_protocol = self.protocol;
        hints
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    result: *mut *mut addrinfo,
) -> c_int {
    // SAFETY: the type of getaddrinfo(3).
    let real: Getaddrinfo = unsafe { syscall::next(c"getaddrinfo") };
    let Some(waiter) = waiter() else {
        // SAFETY: the caller's own promise.
        return unsafe { real(node, service, hints, result) };
    };
    // SAFETY: a string or null, says getaddrinfo(3).
    let node = unsafe { copied(node) };
    // SAFETY: a string or null, says getaddrinfo(3).
    let service = unsafe { copied(service) };
    // SAFETY: null or valid, and only its first four numbers count.
    let hints = unsafe { hints.as_ref() }.copied();
    let hints = hints.map(Hints::of);
    let outcome = elsewhere(waiter, move || {
        let hints = hints.map(Hints::into_addrinfo);
        let hints = hints.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let mut found = std::ptr::null_mut();
        // SAFETY: our own copies, alive during the call.
        let code = unsafe {
            real(
                pointer(node.as_ref()),
                pointer(service.as_ref()),
                hints,
                &raw mut found,
            )
        };
        // A failed call leaves the list undefined.
        let found = (code == 0).then_some(found);
        let found = Addresses(found.unwrap_or(std::ptr::null_mut()));
        (code, syscall::errno(), found)
    });
    let Some((code, error, found)) = outcome else {
        return libc::EAI_AGAIN;
    };
    if code == 0 {
        // SAFETY: the caller gave room for one pointer.
        unsafe { *result = found.into_raw() };
    } else if code == libc::EAI_SYSTEM {
        syscall::set_errno(error);
    }
    code
}

thread_local! {
    static LAST: std::cell::RefCell<Option<Box<Host>>> = const { std::cell::RefCell::new(None) };
}

fn lookup(name: &CStr) -> Result<Box<Host>, c_int> {
    // SAFETY: the type of gethostbyname_r(3) in glibc.
    let real: GethostbynameR = unsafe { syscall::next(c"gethostbyname_r") };
    // SAFETY: a C string, and room that lives during the call.
    Host::resolve(|to| unsafe {
        real(
            name.as_ptr(),
            to.entry,
            to.buffer,
            to.room,
            to.result,
            to.error,
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostbyname(name: *const c_char) -> *mut hostent {
    let Some(waiter) = waiter() else {
        // SAFETY: the type of gethostbyname(3).
        let real: unsafe extern "C" fn(*const c_char) -> *mut hostent =
            unsafe { syscall::next(c"gethostbyname") };
        // SAFETY: the name is the caller's promise.
        return unsafe { real(name) };
    };
    // SAFETY: a C string, says gethostbyname(3).
    let Some(name) = (unsafe { copied(name) }) else {
        return std::ptr::null_mut();
    };
    let found = elsewhere(waiter, move || lookup(&name)).unwrap_or(Err(TRY_AGAIN));
    LAST.with_borrow_mut(|last| keep(last, found))
}

/// Looks up the IPv4 addresses of `name` for gethostbyname_r(3).
fn addresses(name: &CStr) -> Result<Vec<[u8; 4]>, c_int> {
    // SAFETY: the type of getaddrinfo(3).
    let real: Getaddrinfo = unsafe { syscall::next(c"getaddrinfo") };
    // SAFETY: all zero is a valid addrinfo.
    let mut hints: addrinfo = unsafe { std::mem::zeroed() };
    (hints.ai_family, hints.ai_socktype) = (libc::AF_INET, libc::SOCK_STREAM);
    let mut found: *mut addrinfo = std::ptr::null_mut();
    // SAFETY: our own strings and structs, alive during the call.
    let code = unsafe {
        real(
            name.as_ptr(),
            std::ptr::null(),
            &raw const hints,
            &raw mut found,
        )
    };
    if code != 0 {
        return Err(if code == libc::EAI_AGAIN {
            TRY_AGAIN
        } else {
            HOST_NOT_FOUND
        });
    }
    let mut all = Vec::new();
    let mut next = found;
    // SAFETY: the list that getaddrinfo made, which ends with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: each entry has an IPv4 address, as asked for.
        let address = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
        all.push(address.sin_addr.s_addr.to_ne_bytes());
        next = entry.ai_next;
    }
    // SAFETY: freed once, after the last use.
    unsafe { libc::freeaddrinfo(found) };
    Ok(all)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostbyname_r(
    name: *const c_char,
    entry: *mut hostent,
    buffer: *mut c_char,
    room: usize,
    result: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: a C string, says gethostbyname_r(3).
    let (Some(waiter), Some(name)) = (waiter(), unsafe { copied(name) }) else {
        // SAFETY: the type of gethostbyname_r(3).
        let real: GethostbynameR = unsafe { syscall::next(c"gethostbyname_r") };
        // SAFETY: all arguments are the caller's promise.
        return unsafe { real(name, entry, buffer, room, result, error) };
    };
    let own = name.clone();
    let found = elsewhere(waiter, move || addresses(&own)).unwrap_or(Err(TRY_AGAIN));
    // SAFETY: the caller gave room for a pointer.
    unsafe { result.write(std::ptr::null_mut()) };
    let addresses = match found {
        Ok(addresses) => addresses,
        Err(code) => {
            // SAFETY: the caller gave room for a number.
            unsafe { error.write(code) };
            return 0;
        }
    };
    let addresses = Addressed {
        family: libc::AF_INET,
        length: 4,
        bytes: addresses.as_flattened(),
    };
    // SAFETY: the caller gave an entry, and that room.
    if !unsafe { lay_out(&name, &addresses, entry, buffer, room) } {
        return libc::ERANGE;
    }
    // SAFETY: the caller gave room for a pointer.
    unsafe { result.write(entry) };
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolver::res_nsearch;
    use crate::reverse_lookup::{gethostbyaddr, gethostbyaddr_r, getnameinfo};
    use crate::testing::{Early, early};

    /// The answer arrives after the caller has returned, when its memory has another use.
    #[test]
    fn what_comes_too_late_is_written_nowhere() {
        let mut answer = [0xaa_u8; 512];
        let mut state = [0_u64; 128];
        let mut found = std::ptr::null_mut();
        let (mut entry, mut buffer, mut error) = ([0xaa_u8; size_of::<hostent>()], [0x55; 512], 0);
        let mut host = std::ptr::null_mut();
        let name = c"localhost".as_ptr();
        let none = std::ptr::null();
        let (state_at, answer_at) = (state.as_mut_ptr().cast(), answer.as_mut_ptr());
        let (entry_at, buffer_at) = (entry.as_mut_ptr().cast(), buffer.as_mut_ptr());
        let address = [127_u8, 0, 0, 1];
        // SAFETY: all zero is a valid address.
        let mut peer: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        peer.sin_family = libc::AF_INET as libc::sa_family_t;
        peer.sin_addr.s_addr = u32::from_ne_bytes(address);
        let (address, peer) = (address.as_ptr().cast(), (&raw const peer).cast());
        early(|| {
            // SAFETY: room for all results, as the function asks for.
            let code = unsafe { res_nsearch(state_at, name, 1, 1, answer_at, 512) };
            assert_eq!(code, -1);
            // SAFETY: a C string, and room for the pointer to the list.
            let code = unsafe { getaddrinfo(name, none, std::ptr::null(), &raw mut found) };
            assert_eq!(code, libc::EAI_AGAIN);
            let (host, error) = (&raw mut host, &raw mut error);
            // SAFETY: a C string, and room of the size that is passed.
            let code = unsafe { gethostbyname_r(name, entry_at, buffer_at, 512, host, error) };
            assert_eq!(code, 0);
            // SAFETY: a C string.
            assert!(unsafe { gethostbyname(name) }.is_null());
            // SAFETY: an address of that size.
            assert!(unsafe { gethostbyaddr(address, 4, libc::AF_INET) }.is_null());
            // SAFETY: an address of that size, and room of the size that is passed.
            let code = unsafe {
                gethostbyaddr_r(
                    address,
                    4,
                    libc::AF_INET,
                    entry_at,
                    buffer_at,
                    512,
                    host,
                    error,
                )
            };
            assert_eq!(code, 0);
            // SAFETY: an address of that size, and room of the size that is passed.
            let code = unsafe { getnameinfo(peer, 16, buffer_at, 512, std::ptr::null_mut(), 0, 0) };
            assert_eq!(code, libc::EAI_AGAIN);
        });
        assert_eq!(Early::finish(), 7, "all seven were looked up elsewhere");
        assert!(answer.iter().all(|byte| *byte == 0xaa));
        assert!(entry.iter().all(|byte| *byte == 0xaa));
        assert!(buffer.iter().all(|byte| *byte == 0x55));
        assert!(found.is_null() && host.is_null() && error == TRY_AGAIN);
        assert!(state.iter().all(|word| *word == 0));
    }
}
