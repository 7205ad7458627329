//! fcntl, for the one lock of opcache that every request takes and gives back.
//!
//! While a request uses the cache it holds a read lock, so that no other process clears it meanwhile. In a process that
//! serves one request after another, taking it and giving it back are two system calls of 0.9 µs each, for nothing: so the
//! lock is kept, and given back by [`release_opcache_lock`] once no request runs, or at the end of a request that did not
//! use the cache. The latter is what requests do from the moment a process wants to clear it.

use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use libc::{c_int, c_long};

use crate::syscall;

/// Descriptor of opcache's lock file; none yet, or none to be looked for.
static LOCK_FILE: AtomicI32 = AtomicI32::new(OFF);
const OFF: i32 = -1;
const WANTED: i32 = -2;

static STATE: AtomicU8 = AtomicU8::new(FREE);
const FREE: u8 = 0;
/// A request uses the cache.
const USED: u8 = 1;
/// The lock is held, and no request uses the cache.
const KEPT: u8 = 2;
/// Another thread is giving it back.
const RELEASING: u8 = 3;

/// What opcache locks while it uses the cache: the second byte.
const USAGE: (i64, i64) = (1, 1);
/// What it unlocks at the end of a request.
const ALL: (i64, i64) = (0, 0);

/// From now on keep that lock between requests: in a process that serves one after another, and says when it rests.
pub fn keep_opcache_lock() {
    LOCK_FILE.store(WANTED, Ordering::Relaxed);
}

/// No request runs, as far as the caller knows: give the lock back if it is only kept. From any thread.
pub fn release_opcache_lock() {
    let release = STATE.compare_exchange(KEPT, RELEASING, Ordering::Acquire, Ordering::Relaxed);
    if release.is_ok() {
        let (start, len) = USAGE;
        let lock = libc::flock {
            l_type: libc::F_UNLCK as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: start,
            l_len: len,
            l_pid: 0,
        };
        // SAFETY: the lock lives during the call.
        unsafe {
            real_fcntl(
                LOCK_FILE.load(Ordering::Relaxed),
                libc::F_SETLK,
                &raw const lock as c_long,
            )
        };
        STATE.store(FREE, Ordering::Release);
    }
}

/// # Safety
/// As fcntl(2).
unsafe fn real_fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller vouches for the argument.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) as c_int }
}

/// opcache deletes its lock file before it uses it, or has it in memory from the start; its name stays to be seen.
fn is_lock_file(fd: c_int) -> bool {
    let path = format!("/proc/self/fd/{fd}");
    std::fs::read_link(path).is_ok_and(|target| {
        let name = target.file_name().unwrap_or_default();
        [&b".ZendSem."[..], b"memfd:opcache_lock"]
            .iter()
            .any(|known| name.as_encoded_bytes().starts_with(known))
    })
}

/// Is `fd` the lock file? Found out by what only opcache locks.
fn is_known(fd: c_int, range: (i64, i64)) -> bool {
    let known = LOCK_FILE.load(Ordering::Relaxed);
    if known == WANTED && range == USAGE && is_lock_file(fd) {
        LOCK_FILE.store(fd, Ordering::Relaxed);
        return true;
    }
    known == fd
}

/// Take the lock that is kept; false if none is, and it must be taken.
fn take_kept() -> bool {
    loop {
        match STATE.compare_exchange(KEPT, USED, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => return true,
            Err(RELEASING) => std::thread::yield_now(),
            Err(_) => return false,
        }
    }
}

/// # Safety
/// As fcntl(2) with `F_SETLK`.
unsafe fn set_lock(fd: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller vouches for the argument: a valid `flock`.
    let lock = unsafe { &*(argument as *const libc::flock) };
    let range = (lock.l_start, lock.l_len);
    let kind = c_int::from(lock.l_type);
    // SAFETY: the caller vouches for descriptor and argument.
    let really = || unsafe { real_fcntl(fd, libc::F_SETLK, argument) };
    if !is_known(fd, range) {
        return really();
    }
    if kind == libc::F_RDLCK && range == USAGE {
        if take_kept() {
            return 0;
        }
        let result = really();
        STATE.store(if result == 0 { USED } else { FREE }, Ordering::Release);
        return result;
    }
    if kind == libc::F_UNLCK && (range == ALL || range == USAGE) {
        if range == ALL && STATE.load(Ordering::Acquire) == USED {
            STATE.store(KEPT, Ordering::Release);
            return 0;
        }
        take_kept();
        STATE.store(FREE, Ordering::Release);
    }
    really()
}

/// Replaces libc's. Without variable arguments, which Rust has not: the third is where they would begin.
///
/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    if command == libc::F_SETLK && LOCK_FILE.load(Ordering::Relaxed) != OFF && argument != 0 {
        // SAFETY: the caller vouches for the lock.
        return unsafe { set_lock(fd, argument) };
    }
    if command == libc::F_GETOWN {
        // libc makes of it another command, whose result is no error number.
        // SAFETY: this is the function's type as far as this command goes.
        let next: extern "C" fn(c_int, c_int) -> c_int = unsafe { syscall::next(c"fcntl") };
        return next(fd, command);
    }
    // SAFETY: the caller vouches for the argument.
    unsafe { real_fcntl(fd, command, argument) }
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller vouches for the argument; on 64-bit systems the two are one.
    unsafe { fcntl(fd, command, argument) }
}
