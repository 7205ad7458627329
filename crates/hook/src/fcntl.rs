//! Hook of fcntl: record locks are taken by `record_locks.rs`, opcache's by `opcache.rs`, all else by the kernel.

use libc::{c_int, c_long};

use crate::{opcache, record_locks, syscall};

/// Replaces libc's fcntl, without variable arguments, which Rust cannot define: the third one is where they would begin. On
/// x86-64 and aarch64 Linux the caller of a function with variable arguments passes this one in the same register as if it
/// had been declared. A caller that passes none leaves any value there, and the command does not use it.
///
/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    match command {
        libc::F_SETLK | libc::F_SETLKW | libc::F_GETLK if argument != 0 => {
            // SAFETY: these commands take a pointer to a `flock`, which is valid by the caller's promise.
            unsafe { lock(fd, command, argument as *mut libc::flock) }
        }
        libc::F_GETOWN => {
            // libc implements F_GETOWN by another command, whose result is no error number.
            // SAFETY: this is the function's type as far as this command goes.
            let next: extern "C" fn(c_int, c_int) -> c_int = unsafe { syscall::next(c"fcntl") };
            next(fd, command)
        }
        // SAFETY: the caller vouches for the argument.
        _ => unsafe { syscall::fcntl(fd, command, argument) },
    }
}

/// # Safety
/// `lock` must be valid.
unsafe fn lock(fd: c_int, command: c_int, lock: *mut libc::flock) -> c_int {
    if command == libc::F_SETLK {
        // SAFETY: the caller vouches for the lock.
        if let Some(result) = unsafe { opcache::set_lock(fd, lock) } {
            return result;
        }
    }
    // SAFETY: the caller vouches for the lock.
    unsafe { record_locks::call(fd, command, &mut *lock) }
}

/// # Safety
/// As fcntl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller vouches for the argument; on 64-bit systems the two are one.
    unsafe { fcntl(fd, command, argument) }
}
