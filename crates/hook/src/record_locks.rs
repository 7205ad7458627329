//! Record locks (fcntl with `F_SETLK`) that last when another request closes a descriptor of the same file.
//!
//! The kernel drops all locks that a process has on a file when the process closes any descriptor of that file. Under PHP one
//! request has the process for itself; here a request that reads an SQLite database would unlock it for the others. So the
//! locks of this process on one file are taken with a descriptor of our own, as locks of that open file description
//! (`F_OFD_SETLK`). Other processes' record locks conflict with these, and our own do not conflict with each other, as before.
//! Closing a descriptor unlocks what was locked by that descriptor, as SQLite (`-shm`) and LMDB need.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, c_long, flock};

use crate::lock_description::{Own, record, span};
use crate::lock_ranges::{Ranges, Span};
use crate::lock_wait::{Lock, until_free};
use crate::{installed, syscall, waiter};

/// The most descriptors that a process can have unless `fs.nr_open` was raised. Larger ones are locked directly.
const MOST: usize = 1 << 20;

/// Which file a descriptor refers to: one more than an index of the table.
static FILE_OF: [AtomicU32; MOST] = [const { AtomicU32::new(UNKNOWN) }; MOST];
const UNKNOWN: u32 = 0;
/// The kernel's own record locks are used: no other code can open this file, or it is no file.
const DIRECT: u32 = u32::MAX;

static TABLE: Mutex<Table> = Mutex::new(Table(Vec::new()));

struct Table(Vec<Option<File>>);

/// A file on which this process has made a call for a lock.
struct File {
    identity: (u64, u64),
    /// Our descriptor; `None` if there is none, and the kernel's own record locks are used for all of `users`.
    own: Option<Own>,
    /// The descriptors that `FILE_OF` has here. The last one that is closed ends this entry.
    users: Vec<c_int>,
    ranges: Ranges,
}

impl File {
    fn new(identity: (u64, u64), fd: c_int) -> File {
        File {
            identity,
            own: Own::open(fd),
            users: Vec::new(),
            ranges: Ranges::default(),
        }
    }

    /// Locks or unlocks without waiting; `None` if the kernel's own record locks are used.
    fn set(&mut self, fd: c_int, kind: c_int, span: Span) -> Option<c_int> {
        let own = self.own.as_ref()?;
        if kind == libc::F_WRLCK && !own.is_writable && !self.make_writable(fd) {
            syscall::set_errno(libc::EBADF);
            return Some(-1);
        }
        let result = self.own.as_ref()?.set(kind, span);
        if result == 0 {
            self.note(fd, kind, span);
            if kind != libc::F_UNLCK
                && let Some(waiter) = installed()
            {
                waiter.records_locked();
            }
        }
        Some(result)
    }

    #[inline]
    fn note(&mut self, fd: c_int, kind: c_int, span: Span) {
        match kind {
            libc::F_UNLCK => self.ranges.remove(span),
            _ => self.ranges.add(span, fd),
        }
    }

    /// Replaces our descriptor by one for writing. The new one has the locks, all of them for reading, before the old one is
    /// closed.
    fn make_writable(&mut self, fd: c_int) -> bool {
        let Some(own) = Own::open(fd).filter(|own| own.is_writable) else {
            return false;
        };
        let mut spans = self.ranges.spans();
        let has_all = spans.all(|span| own.set(libc::F_RDLCK, span) == 0);
        drop(spans);
        if has_all {
            self.own = Some(own);
        }
        has_all
    }
}

#[inline]
fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[inline]
fn place(fd: c_int) -> Option<&'static AtomicU32> {
    FILE_OF.get(usize::try_from(fd).ok()?)
}

impl Table {
    /// The file of `fd`, which is entered if it is new; `None` if the kernel's own record locks are used.
    #[inline]
    fn file(&mut self, fd: c_int) -> Option<&mut File> {
        let place = place(fd)?;
        let mut number = place.load(Relaxed);
        if number == UNKNOWN {
            number = self.enter(fd)?;
            place.store(number, Relaxed);
        }
        self.0.get_mut(number as usize - 1)?.as_mut()
    }

    /// Finds or makes the entry of the file of `fd`. Returns what `FILE_OF` is to have.
    #[cold]
    fn enter(&mut self, fd: c_int) -> Option<u32> {
        let stat = syscall::stat(fd)?;
        let identity = (stat.st_dev, stat.st_ino);
        let is_it =
            |file: &Option<File>| file.as_ref().is_some_and(|file| file.identity == identity);
        let index = match self.0.iter().position(is_it) {
            Some(index) => index,
            // No other code can open a file without a name. The lock file of opcache is one, and opcache needs the process
            // number that only the kernel's own record locks have.
            None if stat.st_nlink == 0 || stat.st_mode & libc::S_IFMT != libc::S_IFREG => {
                return Some(DIRECT);
            }
            None => self.insert(File::new(identity, fd)),
        };
        self.0[index].as_mut()?.users.push(fd);
        u32::try_from(index + 1).ok()
    }

    fn insert(&mut self, file: File) -> usize {
        let free = self.0.iter().position(Option::is_none);
        let index = free.unwrap_or(self.0.len());
        if free.is_none() {
            self.0.push(None);
        }
        self.0[index] = Some(file);
        index
    }
}

/// Makes the call of fcntl(2) with `F_GETLK`, `F_SETLK` or `F_SETLKW`.
pub(crate) fn call(fd: c_int, command: c_int, lock: &mut flock) -> c_int {
    let done = span(fd, lock).and_then(|span| {
        let kind = c_int::from(lock.l_type);
        match command {
            libc::F_GETLK => get(fd, span, lock),
            libc::F_SETLK => table().file(fd)?.set(fd, kind, span),
            _ => set_waiting(fd, kind, span),
        }
    });
    // SAFETY: a valid `flock` that lives during the call.
    done.unwrap_or_else(|| unsafe {
        syscall::fcntl(fd, command, std::ptr::from_mut(lock) as c_long)
    })
}

/// Finds a lock of another process, as `F_GETLK` does.
fn get(fd: c_int, span: Span, lock: &mut flock) -> Option<c_int> {
    let mut found = record(lock.l_type.into(), span);
    let mut table = table();
    let result = table
        .file(fd)?
        .own
        .as_ref()?
        .call(libc::F_OFD_GETLK, &mut found);
    if result == 0 && c_int::from(found.l_type) == libc::F_UNLCK {
        lock.l_type = found.l_type;
    } else if result == 0 {
        *lock = found;
    }
    Some(result)
}

/// Locks, and waits while another process has a lock. A task yields meanwhile.
fn set_waiting(fd: c_int, kind: c_int, span: Span) -> Option<c_int> {
    let result = table().file(fd)?.set(fd, kind, span)?;
    if result == 0 || syscall::errno() != libc::EAGAIN {
        return Some(result);
    }
    let Some(waiter) = waiter() else {
        return block(fd, kind, span);
    };
    let what = || syscall::identity(fd).map(|(device, inode)| Lock::Records(device, inode));
    let attempt = || {
        let result = table().file(fd).and_then(|file| file.set(fd, kind, span));
        result.unwrap_or(-1) as isize
    };
    Some(until_free(waiter, what, libc::EAGAIN, attempt) as c_int)
}

/// Locks, and blocks this thread, in which no task runs.
fn block(fd: c_int, kind: c_int, span: Span) -> Option<c_int> {
    let own = table().file(fd)?.own.as_ref()?.fd;
    let mut lock = record(kind, span);
    let lock = std::ptr::from_mut(&mut lock) as c_long;
    // SAFETY: the lock lives during the call.
    let result = unsafe { syscall::fcntl(own, libc::F_OFD_SETLKW, lock) };
    if result == 0 {
        table().file(fd)?.note(fd, kind, span);
    }
    Some(result)
}

/// Unlocks what `fd`, which is about to be closed, has locked.
#[inline]
pub(crate) fn closing(fd: c_int) {
    if place(fd).is_some_and(|place| place.load(Relaxed) != UNKNOWN) {
        forget(fd);
    }
}

#[cold]
fn forget(fd: c_int) {
    let error = syscall::errno();
    let mut table = table();
    let number = place(fd).map_or(UNKNOWN, |place| place.swap(UNKNOWN, Relaxed));
    let index = (number as usize).wrapping_sub(1);
    if let Some(entry) = table.0.get_mut(index)
        && let Some(file) = entry
    {
        file.users.retain(|user| *user != fd);
        let spans = file.ranges.take(fd);
        if file.users.is_empty() {
            *entry = None;
        } else if let Some(own) = &file.own {
            spans.into_iter().for_each(|span| {
                own.set(libc::F_UNLCK, span);
            });
        }
    }
    drop(table);
    syscall::set_errno(error);
}

/// Whether `fd` is a descriptor of ours that has record locks. A copy of this process does not have it.
pub fn has_record_locks(fd: i32) -> bool {
    let table = table();
    let mut own = table
        .0
        .iter()
        .flatten()
        .filter_map(|file| file.own.as_ref());
    own.any(|own| own.fd == fd)
}

/// Calls `fork`, which makes a copy of this process and returns 0 in it. The copy has no locks.
pub(crate) fn forking(fork: impl FnOnce() -> c_int) -> c_int {
    let mut table = table();
    let pid = fork();
    if pid == 0 {
        let files = table.0.drain(..).flatten();
        let users = files.flat_map(|file| file.users.clone());
        users
            .filter_map(place)
            .for_each(|place| place.store(UNKNOWN, Relaxed));
    }
    pid
}

#[cfg(test)]
mod tests;
