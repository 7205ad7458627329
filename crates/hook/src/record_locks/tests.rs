//! Locks as another owner of locks finds them: one more open file description.

use std::fs::{File as StdFile, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use libc::c_short;

use super::*;

/// A file of one test alone, removed at its end.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl std::ops::Deref for Temporary {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

fn file(name: &str) -> Temporary {
    let path = std::env::temp_dir().join(format!("hearth-{name}-{}", std::process::id()));
    std::fs::write(&path, [0; 100]).unwrap();
    Temporary(path)
}

fn open(path: &Path) -> StdFile {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

fn lock(file: &StdFile, command: c_int, kind: c_int, from: i64, to: i64) -> (c_int, flock) {
    let span = Span {
        start: from,
        end: to,
    };
    let mut lock = record(kind, span);
    // SAFETY: the lock lives during the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
    (result, lock)
}

fn set(file: &StdFile, kind: c_int, from: i64, to: i64) -> c_int {
    lock(file, libc::F_SETLK, kind, from, to).0
}

/// Whether each of the first ten bytes is locked for another owner of locks, such as another process.
fn locked_elsewhere(path: &Path) -> String {
    let other = open(path);
    let kind = |at| {
        let mut lock = record(libc::F_WRLCK, Span { start: at, end: at });
        let lock_at = std::ptr::from_mut(&mut lock) as c_long;
        // SAFETY: the lock lives during the call.
        let result = unsafe { syscall::fcntl(other.as_raw_fd(), libc::F_OFD_GETLK, lock_at) };
        assert_eq!(result, 0);
        match c_int::from(lock.l_type) {
            libc::F_RDLCK => 'r',
            libc::F_WRLCK => 'w',
            _ => '-',
        }
    };
    (0..10).map(kind).collect()
}

#[test]
fn closing_another_descriptor_keeps_the_locks_and_closing_the_last_one_ends_them() {
    let path = file("closing");
    let (one, two) = (open(&path), open(&path));
    assert_eq!(set(&one, libc::F_WRLCK, 0, 1), 0);
    assert_eq!(set(&two, libc::F_RDLCK, 4, 6), 0);
    std::fs::read(&*path).unwrap();
    std::fs::copy(&*path, &*file("copy")).unwrap();
    assert_eq!(locked_elsewhere(&path), "ww--rrr---");
    assert_eq!(set(&one, libc::F_UNLCK, 5, 5), 0);
    assert_eq!(locked_elsewhere(&path), "ww--r-r---");
    assert_eq!(set(&one, libc::F_RDLCK, 6, 6), 0);
    drop(one);
    assert_eq!(locked_elsewhere(&path), "----r-----", "what it had locked");
    drop(two);
    assert_eq!(locked_elsewhere(&path), "----------");
    assert!(!table().0.iter().flatten().any(|file| file.users.is_empty()));
}

#[test]
fn a_descriptor_for_writing_joins_one_for_reading() {
    let path = file("writing");
    let reader = StdFile::open(&*path).unwrap();
    assert_eq!(set(&reader, libc::F_RDLCK, 0, 2), 0);
    assert_eq!(set(&reader, libc::F_WRLCK, 5, 5), -1);
    assert_eq!(syscall::errno(), libc::EBADF);
    let writer = open(&path);
    assert_eq!(set(&writer, libc::F_WRLCK, 2, 3), 0);
    assert_eq!(locked_elsewhere(&path), "rrww------");
    let (result, found) = lock(&writer, libc::F_GETLK, libc::F_WRLCK, 0, 9);
    let kind = c_int::from(found.l_type);
    assert_eq!(
        (result, kind),
        (0, libc::F_UNLCK),
        "its own are no conflict"
    );
}

#[test]
fn ranges_are_relative_to_the_position_and_the_end() {
    let path = file("whence");
    let mut one = open(&path);
    one.write_all(&[0; 7]).unwrap();
    let mut lock = record(libc::F_WRLCK, Span { start: 0, end: 0 });
    // SAFETY: the lock lives during the call.
    let call = |lock: &flock| unsafe { libc::fcntl(one.as_raw_fd(), libc::F_SETLK, lock) };
    lock.l_whence = libc::SEEK_CUR as c_short;
    (lock.l_start, lock.l_len) = (1, -2);
    assert_eq!(call(&lock), 0);
    lock.l_whence = libc::SEEK_END as c_short;
    (lock.l_start, lock.l_len) = (-99, 1);
    assert_eq!(call(&lock), 0);
    assert_eq!(locked_elsewhere(&path), "-w----ww--");
    lock.l_start = -101;
    assert_eq!(call(&lock), -1);
    assert_eq!(syscall::errno(), libc::EINVAL);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the fork of the hook")]
fn a_copy_of_the_process_has_no_locks_and_its_end_ends_none() {
    let path = file("forked");
    let one = open(&path);
    assert_eq!(set(&one, libc::F_WRLCK, 0, 3), 0);
    // SAFETY: the child makes system calls only, and allocates; it ends by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = set(&one, libc::F_WRLCK, 3, 5) == -1;
        let locked = set(&one, libc::F_WRLCK, 5, 5) == 0;
        let unlocked = set(&one, libc::F_UNLCK, 0, 9) == 0;
        syscall::exit_now(c_int::from(!(refused && locked && unlocked)));
    }
    let mut status = -1;
    // SAFETY: room for the status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    assert_eq!(locked_elsewhere(&path), "wwww------");
}
