//! Hooks of semop, semtimedop, msgsnd and msgrcv. A task that waits in the kernel for a semaphore would stop the task that has it, if both
//! are of one worker.

use std::time::Instant;

use libc::{c_int, c_long, c_short, c_void, sembuf, timespec};

use crate::lock_wait::{Lock, changed, until_free, until_free_or};
use crate::syscall::duration_of;
use crate::{held, waiter};

/// Wakes the tasks that wait for `what`, which a successful call may have changed. Returns the result of the call.
fn notify_waiters(result: isize, what: Lock) -> isize {
    if result != -1 {
        changed(|| Some(what));
    }
    result
}

/// # Safety
/// As semtimedop(2).
unsafe fn real_semtimedop(
    semaphores: c_int,
    operations: *const sembuf,
    count: usize,
    time: *const timespec,
) -> isize {
    // SAFETY: the caller's own promise. Without a time it is semop(2).
    let done = unsafe {
        libc::syscall(libc::SYS_semtimedop, semaphores, operations, count, time) as isize
    };
    if done == 0 {
        // SAFETY: the kernel has just read them.
        held::operated(semaphores, unsafe {
            std::slice::from_raw_parts(operations, count)
        });
    }
    notify_waiters(done, Lock::Semaphores(semaphores))
}

/// Takes back what the tasks of this process have added to a semaphore, as the kernel does at the end of the process.
pub(crate) fn undo(set: c_int, number: u16, added: i32) {
    let operation = sembuf {
        sem_num: number,
        sem_op: c_short::try_from(-added).unwrap_or(0),
        sem_flg: (libc::IPC_NOWAIT | libc::SEM_UNDO) as c_short,
    };
    // SAFETY: the operation lives during the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_semtimedop,
            set,
            &raw const operation,
            1,
            std::ptr::null::<timespec>(),
        ) as isize
    };
    notify_waiters(done, Lock::Semaphores(set));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn semop(semaphores: c_int, operations: *mut sembuf, count: usize) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { semtimedop(semaphores, operations, count, std::ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn semtimedop(
    semaphores: c_int,
    operations: *mut sembuf,
    count: usize,
    time: *const timespec,
) -> c_int {
    let Some(waiter) = waiter().filter(|_| !operations.is_null()) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_semtimedop(semaphores, operations, count, time) as c_int };
    };
    // SAFETY: not null, and `count` long, says semop(2).
    let wanted = unsafe { std::slice::from_raw_parts(operations, count) };
    let no_wait = libc::IPC_NOWAIT as c_short;
    if wanted.iter().any(|one| one.sem_flg & no_wait != 0) {
        // SAFETY: the caller's own promise.
        return unsafe { real_semtimedop(semaphores, operations, count, time) as c_int };
    }
    // SAFETY: null or valid, says semtimedop(2).
    let time = unsafe { time.as_ref() }.map(|time| duration_of(time.tv_sec, time.tv_nsec));
    let end = time.and_then(|time| Instant::now().checked_add(time));
    let mut tried = wanted.to_vec();
    tried.iter_mut().for_each(|one| one.sem_flg |= no_wait);
    let semaphores_of_call = || Some(Lock::Semaphores(semaphores));
    until_free_or(waiter, end, semaphores_of_call, libc::EAGAIN, || {
        // SAFETY: the vector lives during the call.
        unsafe { real_semtimedop(semaphores, tried.as_ptr(), count, std::ptr::null()) }
    }) as c_int
}

/// # Safety
/// As msgsnd(2).
unsafe fn real_msgsnd(queue: c_int, message: *const c_void, size: usize, flags: c_int) -> isize {
    // SAFETY: the caller's own promise.
    let done =
        unsafe { libc::syscall(libc::SYS_msgsnd, queue, message, size, flags as c_long) as isize };
    notify_waiters(done, Lock::Queue(queue))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn msgsnd(
    queue: c_int,
    message: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let Some(waiter) = waiter().filter(|_| flags & libc::IPC_NOWAIT == 0) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_msgsnd(queue, message, size, flags) as c_int };
    };
    until_free(
        waiter,
        || Some(Lock::Queue(queue)),
        libc::EAGAIN,
        || {
            // SAFETY: the caller's own promise.
            unsafe { real_msgsnd(queue, message, size, flags | libc::IPC_NOWAIT) }
        },
    ) as c_int
}

/// # Safety
/// As msgrcv(2).
unsafe fn real_msgrcv(
    queue: c_int,
    message: *mut c_void,
    size: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    // SAFETY: the caller's own promise.
    let length = unsafe {
        libc::syscall(
            libc::SYS_msgrcv,
            queue,
            message,
            size,
            kind,
            flags as c_long,
        ) as isize
    };
    notify_waiters(length, Lock::Queue(queue))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn msgrcv(
    queue: c_int,
    message: *mut c_void,
    size: usize,
    kind: c_long,
    flags: c_int,
) -> isize {
    let Some(waiter) = waiter().filter(|_| flags & libc::IPC_NOWAIT == 0) else {
        // SAFETY: the caller's own promise.
        return unsafe { real_msgrcv(queue, message, size, kind, flags) };
    };
    until_free(
        waiter,
        || Some(Lock::Queue(queue)),
        libc::ENOMSG,
        || {
            // SAFETY: the caller's own promise.
            unsafe { real_msgrcv(queue, message, size, kind, flags | libc::IPC_NOWAIT) }
        },
    )
}
