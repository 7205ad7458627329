//! The lock of opcache that every request takes and gives back.
//!
//! A request holds a read lock while it uses opcache's memory, so that no other process clears it. In a process that serves
//! one request after another, taking and giving back the lock are two useless system calls of 0.9 µs each. So the lock is
//! kept, and given back by [`release_opcache_lock`] once no request runs, or at the end of a request that did not use
//! opcache's memory. The latter is what requests do from the moment a process wants to clear it.

use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

use libc::{c_int, c_long};

use crate::syscall;

/// The descriptor of opcache's lock file; `OFF` if the hook is not used, `WANTED` while it is not known.
static LOCK_FILE: AtomicI32 = AtomicI32::new(OFF);
const OFF: i32 = -1;
const WANTED: i32 = -2;

static STATE: AtomicU8 = AtomicU8::new(FREE);
const FREE: u8 = 0;
/// A request uses opcache's memory.
const USED: u8 = 1;
/// The lock is held, and no request uses opcache's memory.
const KEPT: u8 = 2;
/// Another thread is giving the lock back.
const RELEASING: u8 = 3;

/// The range (start and length) that opcache locks while it uses its memory: the second byte.
const USAGE: (i64, i64) = (1, 1);
/// The range that opcache unlocks at the end of a request: the whole file.
const ALL: (i64, i64) = (0, 0);

/// Keeps that lock between requests from now on. For a process that serves one after another and reports when it is idle.
pub fn keep_opcache_lock() {
    LOCK_FILE.store(WANTED, Ordering::Relaxed);
}

/// Gives the lock back if it is only kept. Called from any thread while no request runs, as far as the caller knows.
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
            syscall::fcntl(
                LOCK_FILE.load(Ordering::Relaxed),
                libc::F_SETLK,
                &raw const lock as c_long,
            )
        };
        STATE.store(FREE, Ordering::Release);
    }
}

/// opcache unlinks its lock file before it uses it, or creates it as a memfd; /proc still shows its name.
fn is_lock_file(fd: c_int) -> bool {
    let path = format!("/proc/self/fd/{fd}");
    std::fs::read_link(path).is_ok_and(|target| {
        let name = target.file_name().unwrap_or_default();
        [&b".ZendSem."[..], b"memfd:opcache_lock"]
            .iter()
            .any(|known| name.as_encoded_bytes().starts_with(known))
    })
}

/// Whether `fd` is the lock file, which is recognised by a lock that only opcache takes.
fn is_known(fd: c_int, range: (i64, i64)) -> bool {
    let known = LOCK_FILE.load(Ordering::Relaxed);
    if known == WANTED && range == USAGE && is_lock_file(fd) {
        LOCK_FILE.store(fd, Ordering::Relaxed);
        return true;
    }
    known == fd
}

/// Takes the lock that is kept; false if none is kept and the lock has to be taken.
fn take_kept() -> bool {
    loop {
        match STATE.compare_exchange(KEPT, USED, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => return true,
            Err(RELEASING) => std::thread::yield_now(),
            Err(_) => return false,
        }
    }
}

/// Makes the call of fcntl(2) with `F_SETLK`; `None` if `fd` is not the lock file.
///
/// # Safety
/// `lock` must be valid.
pub(crate) unsafe fn set_lock(fd: c_int, lock: *const libc::flock) -> Option<c_int> {
    if LOCK_FILE.load(Ordering::Relaxed) == OFF {
        return None;
    }
    // SAFETY: the caller vouches for the lock.
    let wanted = unsafe { &*lock };
    let range = (wanted.l_start, wanted.l_len);
    let kind = c_int::from(wanted.l_type);
    // SAFETY: the caller vouches for the lock.
    let really = || unsafe { syscall::fcntl(fd, libc::F_SETLK, lock as c_long) };
    if !is_known(fd, range) {
        return None;
    }
    if kind == libc::F_RDLCK && range == USAGE {
        if take_kept() {
            return Some(0);
        }
        let result = really();
        STATE.store(if result == 0 { USED } else { FREE }, Ordering::Release);
        return Some(result);
    }
    if kind == libc::F_UNLCK && (range == ALL || range == USAGE) {
        if range == ALL && STATE.load(Ordering::Acquire) == USED {
            STATE.store(KEPT, Ordering::Release);
            return Some(0);
        }
        take_kept();
        STATE.store(FREE, Ordering::Release);
    }
    Some(really())
}
