//! Hook of res_nsearch: the query runs on another thread, with a resolver state and a buffer of its own.

use std::ffi::CString;

use libc::{c_char, c_int, c_void};

use crate::getaddrinfo::{copied, elsewhere, pointer};
use crate::host_entry::TRY_AGAIN;
use crate::{syscall, waiter};

unsafe extern "C" {
    fn __h_errno_location() -> *mut c_int;
    /// Both functions take a `struct __res_state` of <resolv.h>.
    fn __res_ninit(state: *mut c_void) -> c_int;
    fn __res_nclose(state: *mut c_void);
}

/// This thread's `h_errno`.
pub(crate) fn h_errno() -> c_int {
    // SAFETY: it only returns where this thread's own is.
    let place = unsafe { __h_errno_location() };
    // SAFETY: the place is there as long as the thread.
    unsafe { place.read() }
}

pub(crate) fn set_h_errno(value: c_int) {
    // SAFETY: it only returns where this thread's own is.
    let place = unsafe { __h_errno_location() };
    // SAFETY: the place is there as long as the thread.
    unsafe { place.write(value) };
}

/// `struct __res_state` of <resolv.h>. Its size differs between systems but is much smaller than this.
#[repr(C, align(16))]
struct Resolver {
    /// The fields retrans, retry and options, which a caller may have set.
    settings: [u64; 2],
    rest: [u64; 126],
}

/// An answer to a DNS query, with the error numbers for the caller.
struct Answer {
    length: c_int,
    error: c_int,
    h_error: c_int,
    bytes: Vec<u8>,
}

type ResNsearch =
    unsafe extern "C" fn(*mut c_void, *const c_char, c_int, c_int, *mut u8, c_int) -> c_int;

/// Sends the query with a resolver state of our own, and receives into `room` bytes of our own.
fn search(
    name: Option<&CString>,
    settings: [u64; 2],
    question: (c_int, c_int),
    room: usize,
) -> Answer {
    // SAFETY: the type of res_nsearch(3).
    let real: ResNsearch = unsafe { syscall::next(c"res_nsearch") };
    let mut state = Box::new(Resolver {
        settings: [0; 2],
        rest: [0; 126],
    });
    let mut bytes = vec![0; room];
    let pointer_to_state = (&raw mut *state).cast::<c_void>();
    let mut length = -1;
    // SAFETY: a zeroed state with room to spare.
    if unsafe { __res_ninit(pointer_to_state) } == 0 {
        state.settings = settings;
        let (name, (class, kind)) = (pointer(name), question);
        let (to, room) = (
            bytes.as_mut_ptr(),
            c_int::try_from(room).unwrap_or(c_int::MAX),
        );
        // SAFETY: that state, our own copy of the name, and our own bytes.
        length = unsafe { real(pointer_to_state, name, class, kind, to, room) };
        let (error, h_error) = (syscall::errno(), h_errno());
        // SAFETY: it was opened above.
        unsafe { __res_nclose(pointer_to_state) };
        syscall::set_errno(error);
        set_h_errno(h_error);
    }
    Answer {
        length,
        error: syscall::errno(),
        h_error: h_errno(),
        bytes,
    }
}

/// Called by dns_get_record() and checkdnsrr(). libresolv talks to the servers inside libc, where no hook sees it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn res_nsearch(
    state: *mut c_void,
    name: *const c_char,
    class: c_int,
    kind: c_int,
    answer: *mut u8,
    length: c_int,
) -> c_int {
    let room = usize::try_from(length).unwrap_or(0);
    let Some(waiter) = waiter() else {
        // SAFETY: the type of res_nsearch(3).
        let real: ResNsearch = unsafe { syscall::next(c"res_nsearch") };
        // SAFETY: all arguments are the caller's promise.
        return unsafe { real(state, name, class, kind, answer, length) };
    };
    // SAFETY: a state that the caller has initialised, says res_nsearch(3).
    let settings = unsafe { state.cast::<[u64; 2]>().read() };
    // SAFETY: a C string, says res_nsearch(3).
    let name = unsafe { copied(name) };
    let found = elsewhere(waiter, move || {
        search(name.as_ref(), settings, (class, kind), room)
    });
    let Some(found) = found else {
        set_h_errno(TRY_AGAIN);
        syscall::set_errno(libc::EINTR);
        return -1;
    };
    let given = usize::try_from(found.length).unwrap_or(0).min(room);
    // SAFETY: the caller's room is `room` bytes, and as many are ours.
    unsafe { std::ptr::copy_nonoverlapping(found.bytes.as_ptr(), answer, given) };
    syscall::set_errno(found.error);
    set_h_errno(found.h_error);
    found.length
}
