//! Hooks of flock, of the calls that close a descriptor (close, dup2, fclose, pclose), and of dlopen.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{FILE, c_char, c_int, c_void};

use crate::blocking_waiter::BlockingWaiter;
use crate::lock_wait::{Lock, changed, until_free};
use crate::{
    early_end, held, inherit, installed, owners, program_input, record_locks, severed, syscall,
    waiter,
};

fn real_flock(fd: c_int, operation: c_int) -> c_int {
    // SAFETY: flock(2) touches no memory.
    unsafe { libc::syscall(libc::SYS_flock, fd, operation) as c_int }
}

/// Wakes the tasks that wait for the lock on this file, which may have become free.
pub fn unlocked_file(fd: c_int) {
    changed(|| lock_of(fd));
}

fn lock_of(fd: c_int) -> Option<Lock> {
    syscall::identity(fd).map(|(device, inode)| Lock::File(device, inode))
}

/// Unlocks the file.
pub(crate) fn unlock(fd: c_int) {
    real_flock(fd, libc::LOCK_UN);
    unlocked_file(fd);
}

/// Notes a lock that was taken.
fn locked(fd: c_int, result: c_int) -> c_int {
    if result == 0 {
        held::locked(fd);
    }
    result
}

#[unsafe(no_mangle)]
extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    if operation & libc::LOCK_UN != 0 {
        let result = real_flock(fd, operation);
        held::unlocked(fd);
        unlocked_file(fd);
        return result;
    }
    let Some(waiter) = waiter().filter(|_| operation & libc::LOCK_NB == 0) else {
        return locked(fd, real_flock(fd, operation));
    };
    let attempt = || real_flock(fd, operation | libc::LOCK_NB) as isize;
    let result = until_free(waiter, || lock_of(fd), libc::EWOULDBLOCK, attempt);
    locked(fd, result as c_int)
}

fn closing(fd: c_int) {
    owners::closing(fd);
    early_end::closing(fd);
    severed::forget(fd);
    inherit::closing(fd);
    record_locks::closing(fd);
    held::closing(fd);
    if let Some(waiter) = installed() {
        waiter.closing(fd);
    }
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    let is_waited_on = severed::is_waited_on(fd);
    closing(fd);
    if is_waited_on && severed::sever(fd) {
        return 0;
    }
    // SAFETY: close(2) touches no memory; that no other code uses the descriptor is the caller's promise.
    unsafe { libc::syscall(libc::SYS_close, fd) as c_int }
}

#[unsafe(no_mangle)]
extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    if from == to {
        inherit::handed_on(from);
        // SAFETY: fcntl with F_GETFD touches no memory.
        return if unsafe { libc::fcntl(from, libc::F_GETFD) } < 0 {
            -1
        } else {
            to
        };
    }
    closing(to);
    // SAFETY: dup3(2) touches no memory; that no other code uses `to` is the caller's promise.
    unsafe { libc::syscall(libc::SYS_dup3, from, to, 0) as c_int }
}

type CloseFile = unsafe extern "C" fn(*mut FILE) -> c_int;

/// stdio closes the descriptor inside libc, where `close` above does not see it.
#[unsafe(no_mangle)]
unsafe extern "C" fn fclose(file: *mut FILE) -> c_int {
    // SAFETY: the type of fclose(3).
    let real: CloseFile = unsafe { syscall::next(c"fclose") };
    // SAFETY: a valid FILE is the caller's promise.
    let fd = unsafe { libc::fileno(file) };
    let is_waited_on = severed::is_waited_on(fd);
    closing(fd);
    // SAFETY: a valid FILE is the caller's promise, and it is closed once.
    let ended = unsafe { real(file) };
    if is_waited_on {
        // The number has just become free, and no PHP code has run since.
        severed::sever(fd);
    }
    ended
}

/// The FILE of a popen'ed process and the pipe of what was collected for it, passed to the thread that waits for the process.
struct Process(*mut FILE, Option<File>);
// SAFETY: PHP gives it up with pclose; one thread has it from then on.
unsafe impl Send for Process {}

impl Process {
    fn close(self) -> c_int {
        // SAFETY: the type of pclose(3).
        let real: CloseFile = unsafe { syscall::next(c"pclose") };
        if let Some(pipe) = self.1 {
            // SAFETY: the FILE was popen'ed, and this thread alone has it.
            unsafe { program_input::deliver(self.0, pipe) };
        }
        // SAFETY: the FILE was popen'ed and is closed once.
        unsafe { real(self.0) }
    }
}

/// pclose(3) waits for the process inside libc, so another thread calls it. While an exception propagates, the end of the
/// process is not awaited. Where the engine frees a value, the wait blocks: the opcode in whose middle that is may write on
/// to a variable that another request could change meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn pclose(file: *mut FILE) -> c_int {
    // SAFETY: a FILE of popen(3) is the caller's promise.
    closing(unsafe { libc::fileno(file) });
    let process = Process(file, program_input::take_pipe(file));
    let Some(waiter) = waiter() else {
        return process.close();
    };
    if waiter.is_unwinding() {
        std::thread::spawn(move || process.close());
        return -1;
    }
    let waiter = if waiter.is_closing_call() {
        waiter
    } else {
        &BlockingWaiter
    };
    let status = Arc::new(AtomicI32::new(-1));
    let theirs = Arc::clone(&status);
    waiter.blocking(Box::new(move || {
        theirs.store(process.close(), Ordering::Release)
    }));
    status.load(Ordering::Acquire)
}

/// Removes RTLD_DEEPBIND, with which PHP loads extensions: it binds libcurl and libpq to libc's own `poll`, past the hooks.
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    static LOADER: u8 = 0;
    // The initialisers of a library run under the loader's lock.
    // SAFETY: the type of dlopen(3).
    let real: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
        unsafe { syscall::next(c"dlopen") };
    crate::pthread_locks::holding((&raw const LOADER).cast(), || {
        // SAFETY: the name is the caller's promise.
        unsafe { real(name, flags & !libc::RTLD_DEEPBIND) }
    })
}
