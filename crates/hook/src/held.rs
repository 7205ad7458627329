//! What tasks hold outside of the engine's memory: locks on files, System V semaphores with `SEM_UNDO`, and connections.
//!
//! The kernel releases all that when a process ends, as each request does under php-fpm after a fatal error. Here the process goes
//! on with its other requests, and nothing frees the objects of the request that broke. So what it holds is released by this table.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, c_short, sembuf};

use crate::{files, installed, owners, syscall, system_v};

/// A task, and the request that it belongs to: 0 if it is none's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Holder {
    task: u64,
    request: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// A lock of flock(2).
    File(c_int),
    /// A connection that a task has opened.
    Connection(c_int),
    /// A semaphore of a set, and the sum of what was added to it.
    Semaphore(c_int, u16, i32),
}

impl What {
    fn descriptor(self) -> Option<c_int> {
        match self {
            What::File(fd) | What::Connection(fd) => Some(fd),
            What::Semaphore(..) => None,
        }
    }

    fn release(self) {
        match self {
            What::File(fd) => files::unlock(fd),
            // Closing it would free its number, which the objects of the request still contain.
            // SAFETY: shutdown(2) touches no memory.
            What::Connection(fd) => drop(unsafe { libc::shutdown(fd, libc::SHUT_RDWR) }),
            What::Semaphore(set, number, added) => system_v::undo(set, number, added),
        }
    }
}

static TABLE: Mutex<Vec<(Holder, What)>> = Mutex::new(Vec::new());

/// Whether the table has entries: every close and every end of a request asks.
static ANY: AtomicBool = AtomicBool::new(false);

type Table = MutexGuard<'static, Vec<(Holder, What)>>;

fn table() -> Table {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the table; `errno` stays.
fn change<T>(how: impl FnOnce(&mut Vec<(Holder, What)>) -> T) -> T {
    let error = syscall::errno();
    let mut table = table();
    let result = how(&mut table);
    ANY.store(!table.is_empty(), Relaxed);
    drop(table);
    syscall::set_errno(error);
    result
}

/// The running task; `None` if none runs, or the code of a process is its only task's.
fn holder() -> Option<Holder> {
    let waiter = installed()?;
    let holder = Holder {
        task: waiter.task(),
        request: waiter.request(),
    };
    (holder.task != 0).then_some(holder)
}

/// Notes that the running task has this, which another may have had.
fn note(what: What) {
    if let Some(holder) = holder() {
        change(|table| {
            table.retain(|(_, other)| *other != what);
            table.push((holder, what));
        });
    }
}

/// Notes that the running task has locked the file of `fd` by flock(2).
pub(crate) fn locked(fd: c_int) {
    note(What::File(fd));
}

/// Notes that the lock on the file of `fd` was released.
pub(crate) fn unlocked(fd: c_int) {
    if ANY.load(Relaxed) {
        change(|table| table.retain(|(_, what)| *what != What::File(fd)));
    }
}

/// Notes that the running task has connected `fd`, or has begun to.
pub(crate) fn connected(fd: c_int) {
    note(What::Connection(fd));
}

/// Forgets `fd`, which is about to be closed.
pub(crate) fn closing(fd: c_int) {
    if ANY.load(Relaxed) {
        change(|table| table.retain(|(_, what)| what.descriptor() != Some(fd)));
    }
}

/// Notes what an operation of the running task with `SEM_UNDO` has added to a semaphore. Whichever task does the opposite, the sum
/// of all tasks of the process is what counts to the kernel.
fn added(table: &mut Vec<(Holder, What)>, holder: Holder, set: c_int, operation: &sembuf) {
    let mut rest = i32::from(operation.sem_op);
    for (_, what) in table.iter_mut() {
        if let What::Semaphore(of, number, sum) = what
            && (*of, *number) == (set, operation.sem_num)
            && sum.signum() == -rest.signum()
        {
            let both = rest.abs().min(sum.abs()) * rest.signum();
            *sum += both;
            rest -= both;
        }
    }
    table.retain(|(_, what)| !matches!(what, What::Semaphore(_, _, 0)));
    if rest != 0 {
        table.push((holder, What::Semaphore(set, operation.sem_num, rest)));
    }
}

/// Notes the operations of a successful semop(2).
pub(crate) fn operated(set: c_int, operations: &[sembuf]) {
    let undone = |one: &&sembuf| one.sem_flg & libc::SEM_UNDO as c_short != 0 && one.sem_op != 0;
    if operations.iter().any(|one| undone(&one))
        && let Some(holder) = holder()
    {
        change(|table| {
            for operation in operations.iter().filter(undone) {
                added(table, holder, set, operation);
            }
        });
    }
}

/// Forgets what a request holds that has ended: an app may keep it for later requests.
pub fn forget(request: u64) {
    if request != 0 && ANY.load(Relaxed) {
        change(|table| table.retain(|(holder, _)| holder.request != request));
    }
}

/// Calls `fork`, which makes a copy of this process and returns 0 in it. The copy holds nothing of its own.
pub(crate) fn forking(fork: impl FnOnce() -> c_int) -> c_int {
    let mut table = table();
    let pid = fork();
    if pid == 0 {
        table.clear();
        ANY.store(false, Relaxed);
    }
    pid
}

/// Releases what the task holds that a fatal error has ended. If that is its request's own (`request` is not 0), what ended tasks of that
/// request hold is released too. A connection that another task used last is not the request's alone, and stays.
pub fn release(task: u64, request: u64, has_ended: impl Fn(u64) -> bool) {
    let is_of = |holder: &Holder| {
        holder.task == task || (request != 0 && holder.request == request && has_ended(holder.task))
    };
    let is_used_elsewhere = |what: &What| match what {
        What::Connection(fd) => owners::last_sender(*fd)
            .is_some_and(|last| last != task && (request == 0 || !has_ended(last))),
        _ => false,
    };
    let released = change(|table| {
        let (released, kept) = table
            .drain(..)
            .partition(|(holder, what)| is_of(holder) && !is_used_elsewhere(what));
        *table = kept;
        let released: Vec<(Holder, What)> = released;
        released
    });
    released.into_iter().for_each(|(_, what)| what.release());
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: c_int = 7;

    fn sums(operations: &[(u64, i16)]) -> Vec<(u64, i32)> {
        let mut table = Vec::new();
        for (task, number) in operations {
            let holder = Holder {
                task: *task,
                request: 0,
            };
            let operation = sembuf {
                sem_num: 0,
                sem_op: *number,
                sem_flg: libc::SEM_UNDO as c_short,
            };
            added(&mut table, holder, SET, &operation);
        }
        let sum = |(holder, what): &(Holder, What)| match what {
            What::Semaphore(SET, 0, sum) => (holder.task, *sum),
            other => panic!("{other:?}"),
        };
        table.iter().map(sum).collect()
    }

    #[test]
    fn a_semaphore_that_is_given_back_is_held_no_longer() {
        assert_eq!(sums(&[(1, -1), (1, 1)]), []);
        assert_eq!(sums(&[(1, -1), (2, -1), (1, 1)]), [(2, -1)]);
        assert_eq!(sums(&[(1, -1), (1, -1), (2, 1)]), [(1, -1)]);
        assert_eq!(sums(&[(1, -1), (2, 3)]), [(2, 2)]);
    }

    #[test]
    fn what_is_added_is_undone_as_a_whole() {
        assert_eq!(sums(&[(1, 2), (1, 3)]), [(1, 2), (1, 3)]);
    }

    #[test]
    fn a_descriptor_that_is_closed_holds_nothing() {
        let holder = Holder {
            task: 901,
            request: 901,
        };
        let fd = 59_001;
        change(|table| table.extend([(holder, What::File(fd)), (holder, What::Connection(fd))]));
        closing(fd);
        assert!(!table().iter().any(|(of, _)| *of == holder));
    }

    #[test]
    fn a_request_that_ends_takes_its_entries_along() {
        let of = |request| Holder { task: 0, request };
        change(|table| table.extend([902, 903].map(|request| (of(request), What::File(59_002)))));
        forget(902);
        forget(0);
        let left = change(|table| {
            let left = table.iter().filter(|(_, what)| *what == What::File(59_002));
            left.map(|(holder, _)| holder.request).collect::<Vec<_>>()
        });
        assert_eq!(left, [903]);
        closing(59_002);
    }
}
