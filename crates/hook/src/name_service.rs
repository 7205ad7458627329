//! Hooks of the functions of glibc that hold a lock of libc while foreign code runs: a module of the name service (NSS), a function
//! of a library that is loaded or unloaded, or one that the caller passes.
//!
//! A module waits for its server in poll(2), which is a hook. Another task that called the same function would wait for the lock of
//! its own thread. The functions that end in `_r` are not here, except those that go through a list: they hold no lock.

use libc::{FILE, c_char, c_int, c_long, c_void};

use crate::pthread_locks::{Next, holding};

type Text = *const c_char;
type Entry = *mut c_void;
type Entries = *mut *mut c_void;
type Texts = *mut *mut c_char;

macro_rules! holds {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            static NEXT: Next = Next::new(
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                }
            );
            // SAFETY: the function's type.
            let real: unsafe extern "C" fn($($type),*) $(-> $result)? = unsafe { NEXT.get() };
            holding((&raw const NEXT).cast(), || {
                // SAFETY: the arguments are the caller's promise.
                unsafe { real($($argument),*) }
            })
        }
    )*};
}

// One entry, in memory of libc.
holds! {
    getpwnam(name: Text) -> Entry;
    getpwuid(id: libc::uid_t) -> Entry;
    getgrnam(name: Text) -> Entry;
    getgrgid(id: libc::gid_t) -> Entry;
    getspnam(name: Text) -> Entry;
    getsgnam(name: Text) -> Entry;
    getservbyname(name: Text, protocol: Text) -> Entry;
    getservbyport(port: c_int, protocol: Text) -> Entry;
    getprotobyname(name: Text) -> Entry;
    getprotobynumber(number: c_int) -> Entry;
    getnetbyname(name: Text) -> Entry;
    getnetbyaddr(network: u32, family: c_int) -> Entry;
    getrpcbyname(name: Text) -> Entry;
    getrpcbynumber(number: c_int) -> Entry;
    getaliasbyname(name: Text) -> Entry;
    gethostbyname2(name: Text, family: c_int) -> Entry;
}

// The next entry of a list, in memory of libc.
holds! {
    getpwent() -> Entry;
    getgrent() -> Entry;
    getspent() -> Entry;
    getsgent() -> Entry;
    getservent() -> Entry;
    getprotoent() -> Entry;
    getnetent() -> Entry;
    getrpcent() -> Entry;
    getaliasent() -> Entry;
    gethostent() -> Entry;
    getnetgrent(host: Texts, user: Texts, domain: Texts) -> c_int;
}

// The next entry of a list, in memory of the caller. The place in the list is libc's.
holds! {
    getpwent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getgrent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getspent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getsgent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getservent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getprotoent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getrpcent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getaliasent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries) -> c_int;
    getnetent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries, error: *mut c_int) -> c_int;
    gethostent_r(entry: Entry, buffer: *mut c_char, room: usize, result: Entries, error: *mut c_int) -> c_int;
    getnetgrent_r(host: Texts, user: Texts, domain: Texts, buffer: *mut c_char, room: usize) -> c_int;
}

// The beginning and the end of a list.
holds! {
    setpwent();
    endpwent();
    setgrent();
    endgrent();
    setspent();
    endspent();
    setsgent();
    endsgent();
    setaliasent();
    endaliasent();
    setservent(stays_open: c_int);
    endservent();
    setprotoent(stays_open: c_int);
    endprotoent();
    setnetent(stays_open: c_int);
    endnetent();
    setrpcent(stays_open: c_int);
    endrpcent();
    sethostent(stays_open: c_int);
    endhostent();
    setnetgrent(name: Text) -> c_int;
    endnetgrent();
}

// Entries of a file, which may be one of fopencookie(3).
holds! {
    fgetpwent(file: *mut FILE) -> Entry;
    fgetgrent(file: *mut FILE) -> Entry;
    fgetspent(file: *mut FILE) -> Entry;
    fgetsgent(file: *mut FILE) -> Entry;
}

// Functions of a library run while it is loaded and unloaded. See files.rs for dlopen.
holds! {
    dlmopen(namespace: c_long, name: Text, flags: c_int) -> *mut c_void;
    dlclose(library: *mut c_void) -> c_int;
    call_once(flag: *mut c_void, once: extern "C" fn());
}
