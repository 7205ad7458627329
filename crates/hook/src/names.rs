//! getaddrinfo and gethostbyname: looked up on another thread.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, PoisonError};

use libc::{addrinfo, c_char, c_int, hostent};

use crate::{real, waiter};

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

/// A pointer that may cross to the thread that looks up and back.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
// SAFETY: one thread uses it at a time: the one that looks up, then the one that waited for it.
unsafe impl<T> Send for Shared<T> {}

/// # Safety
/// Null or a C string.
unsafe fn copied(text: *const c_char) -> Option<CString> {
    // SAFETY: the caller's own promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_owned())
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    result: *mut *mut addrinfo,
) -> c_int {
    // SAFETY: the type of getaddrinfo(3).
    let real: Getaddrinfo = unsafe { real::next(c"getaddrinfo") };
    let Some(waiter) = waiter() else {
        // SAFETY: the caller's own promise.
        return unsafe { real(node, service, hints, result) };
    };
    // SAFETY: strings or null, says getaddrinfo(3); hints is null or valid, and only its first four numbers count.
    let (node, service, hints) =
        unsafe { (copied(node), copied(service), hints.as_ref().copied()) };
    let numbers = hints.map(|hints| {
        (
            hints.ai_flags,
            hints.ai_family,
            hints.ai_socktype,
            hints.ai_protocol,
        )
    });
    let answer = Arc::new(Mutex::new((libc::EAI_AGAIN, Shared(std::ptr::null_mut()))));
    let theirs = Arc::clone(&answer);
    let finished = waiter.blocking(Box::new(move || {
        // SAFETY: all zero is a valid addrinfo.
        let mut hints: addrinfo = unsafe { std::mem::zeroed() };
        if let Some(numbers) = numbers {
            (
                hints.ai_flags,
                hints.ai_family,
                hints.ai_socktype,
                hints.ai_protocol,
            ) = numbers;
        }
        let hints = numbers.map_or(std::ptr::null(), |_| &raw const hints);
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
        *theirs.lock().unwrap_or_else(PoisonError::into_inner) = (code, Shared(found));
    }));
    if !finished {
        return libc::EAI_AGAIN;
    }
    let (code, found) = *answer.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the caller gave room for one pointer.
    unsafe { *result = found.0 };
    code
}

/// What gethostbyname returns points into storage that lasts until the next call; this is that storage.
struct Host {
    entry: hostent,
    _bytes: Vec<c_char>,
}

thread_local! {
    static LAST: std::cell::RefCell<Option<Box<Host>>> = const { std::cell::RefCell::new(None) };
}

fn look_up(name: &CStr) -> Option<Box<Host>> {
    // SAFETY: the type of gethostbyname_r(3) in glibc.
    let real: GethostbynameR = unsafe { real::next(c"gethostbyname_r") };
    let mut bytes: Vec<c_char> = vec![0; 1024];
    loop {
        // SAFETY: all zero is a valid hostent.
        let mut host = Box::new(Host {
            entry: unsafe { std::mem::zeroed() },
            _bytes: Vec::new(),
        });
        let (mut found, mut error) = (std::ptr::null_mut(), 0);
        // SAFETY: room for the entry and for `len` bytes, both kept together with the result.
        let code = unsafe {
            real(
                name.as_ptr(),
                &raw mut host.entry,
                bytes.as_mut_ptr(),
                bytes.len(),
                &raw mut found,
                &raw mut error,
            )
        };
        if code == libc::ERANGE && bytes.len() < 1 << 20 {
            let larger = bytes.len() * 4;
            bytes.resize(larger, 0);
            continue;
        }
        if code != 0 || found.is_null() {
            return None;
        }
        host._bytes = bytes;
        return Some(host);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostbyname(name: *const c_char) -> *mut hostent {
    let Some(waiter) = waiter() else {
        // SAFETY: the type of gethostbyname(3); the name is the caller's promise.
        return unsafe {
            real::next::<unsafe extern "C" fn(*const c_char) -> *mut hostent>(c"gethostbyname")(
                name,
            )
        };
    };
    // SAFETY: a C string, says gethostbyname(3).
    let Some(name) = (unsafe { copied(name) }) else {
        return std::ptr::null_mut();
    };
    let answer = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&answer);
    let finished = waiter.blocking(Box::new(move || {
        let host = look_up(&name).map(|host| Shared(Box::into_raw(host)));
        *theirs.lock().unwrap_or_else(PoisonError::into_inner) = host;
    }));
    let found = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(host) = found.filter(|_| finished) else {
        return std::ptr::null_mut();
    };
    // SAFETY: from Box::into_raw above, taken back once.
    let host = unsafe { Box::from_raw(host.0) };
    LAST.with_borrow_mut(|last| &raw mut last.insert(host).entry)
}
