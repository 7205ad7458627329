//! What programs that PHP code starts inherit: the standard streams, what `proc_open()` passes on, and nothing else.
//!
//! PHP and its libraries open sockets and files without the close-on-exec flag. Just before a program is started, all
//! descriptors get the flag; the copies that are made for the program do not have it.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr};

use libc::{c_char, c_int, c_uint, c_void, pid_t};

use crate::{program_input, syscall};

/// The most descriptors of the shell that are passed on.
const MOST: usize = 64;
const NONE: i32 = -1;

/// Descriptors that this process was started with and passes on, as the php command does.
static KEPT: [AtomicI32; MOST] = [const { AtomicI32::new(NONE) }; MOST];

static ANY_KEPT: AtomicBool = AtomicBool::new(false);

/// Whether this process is a copy of another, between fork and exec.
static BEFORE_EXEC: AtomicBool = AtomicBool::new(false);

fn is_close_on_exec(fd: c_int) -> bool {
    // SAFETY: F_GETFD touches no memory.
    unsafe { libc::fcntl(fd, libc::F_GETFD) & libc::FD_CLOEXEC != 0 }
}

fn set_close_on_exec(fd: c_int, on: bool) {
    let flags = if on { libc::FD_CLOEXEC } else { 0 };
    // SAFETY: F_SETFD touches no memory.
    unsafe { libc::fcntl(fd, libc::F_SETFD, flags) };
}

fn open_descriptors() -> Vec<c_int> {
    let list = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    list.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Notes the open descriptors, which the shell opened: programs inherit them. Called first in `main`.
pub fn keep_inherited() {
    let inherited = open_descriptors()
        .into_iter()
        .filter(|fd| *fd > 2 && !is_close_on_exec(*fd));
    for (place, fd) in KEPT.iter().zip(inherited) {
        place.store(fd, Relaxed);
        ANY_KEPT.store(true, Relaxed);
    }
}

/// Forgets `fd`, which is about to be closed: a later descriptor with that number is not the shell's.
pub(crate) fn closing(fd: c_int) {
    if ANY_KEPT.load(Relaxed) {
        let place = KEPT.iter().find(|place| place.load(Relaxed) == fd);
        place.inspect(|place| place.store(NONE, Relaxed));
    }
}

/// Sets the close-on-exec flag on the numbers from `first` to `last`. False if the kernel cannot.
fn mark(first: c_int, last: c_uint) -> bool {
    let first = first.cast_unsigned();
    // SAFETY: close_range(2) with this flag closes nothing and touches no memory.
    first > last
        || unsafe {
            libc::syscall(
                libc::SYS_close_range,
                first,
                last,
                libc::CLOSE_RANGE_CLOEXEC,
            )
        } == 0
}

/// Sets the close-on-exec flag on all descriptors but the kept ones: a program is about to be started.
fn hand_on_nothing() {
    let error = syscall::errno();
    let mut kept = [NONE; MOST];
    for (copy, place) in kept.iter_mut().zip(&KEPT) {
        *copy = place.load(Relaxed);
    }
    kept.sort_unstable();
    let mut first = 3;
    let mut marked = true;
    for fd in kept.into_iter().filter(|fd| *fd >= 3) {
        marked &= mark(first, fd.cast_unsigned() - 1);
        first = fd + 1;
    }
    marked &= mark(first, c_uint::MAX);
    if !marked {
        // Before Linux 5.11.
        let others = open_descriptors().into_iter().filter(|fd| *fd > 2);
        others
            .filter(|fd| !kept.contains(fd))
            .for_each(|fd| set_close_on_exec(fd, true));
    }
    syscall::set_errno(error);
}

/// The functions by which a new copy of this process asks the engine.
#[derive(Debug)]
pub struct Forking {
    /// Whether PHP code goes on in the copy. Else the copy is about to become a program.
    pub goes_on: fn() -> bool,
    /// The descriptor with that index among those that the program is to have.
    pub handed_on: fn(u32) -> Option<i32>,
    /// The children that a wait of the running PHP code for this number, as of waitpid(2), means; `None`: all of the process.
    pub own_children: fn(i32) -> Option<Vec<i32>>,
    /// Called when that child has ended, and its number may become another's.
    pub child_ended: fn(i32),
}

static FORKING: AtomicPtr<Forking> = AtomicPtr::new(std::ptr::null_mut());

/// Sets the functions that a new copy of this process calls. The first call in `main`.
pub fn when_forked(forking: &'static Forking) {
    FORKING.store(std::ptr::from_ref(forking).cast_mut(), Release);
}

fn forking() -> Option<&'static Forking> {
    // SAFETY: null, or what `when_forked` was given.
    unsafe { FORKING.load(Acquire).as_ref() }
}

/// As [`Forking::own_children`].
pub(crate) fn own_children(pid: pid_t) -> Option<Vec<pid_t>> {
    (forking()?.own_children)(pid)
}

/// As [`Forking::child_ended`].
pub(crate) fn child_ended(pid: pid_t) {
    if let Some(forking) = forking() {
        (forking.child_ended)(pid);
    }
}

/// Prepares a new copy of this process for exec, unless PHP code goes on in it.
pub(crate) fn forked() {
    let Some(forking) = forking().filter(|forking| !(forking.goes_on)()) else {
        return;
    };
    BEFORE_EXEC.store(true, Relaxed);
    hand_on_nothing();
    hand_on(forking, true);
}

/// Closes descriptors in a copy of this process in which PHP code goes on: they are the parent's. That shuts nothing down and
/// says nothing to the other end, because the parent's descriptor refers to the same opening.
///
/// `/dev/null` takes the place of each: what still knows the number must not write to a file that PHP code opens next.
pub fn leave_to_parent(descriptors: &[c_int]) {
    // SAFETY: the path is a C string.
    let null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    for fd in descriptors.iter().filter(|fd| **fd > 2) {
        // SAFETY: the descriptor is the server's, whose code does not run in this process.
        let replaced = unsafe { libc::syscall(libc::SYS_dup3, null, *fd, libc::O_CLOEXEC) } >= 0;
        if !replaced {
            // SAFETY: the same.
            unsafe { libc::syscall(libc::SYS_close, *fd) };
        }
    }
    if null >= 0 {
        // SAFETY: opened above.
        unsafe { libc::syscall(libc::SYS_close, null) };
    }
}

/// Passes on the descriptors of `proc_open()`, which replaces each by a copy, unless its number is the right one already.
fn hand_on(forking: &Forking, on: bool) {
    let numbers = (0..).map_while(|index| (forking.handed_on)(index));
    numbers.for_each(|fd| set_close_on_exec(fd, !on));
}

/// Calls `spawn`, which starts a program by posix_spawn(3). That makes the copy of this process itself.
fn spawning(spawn: impl FnOnce() -> c_int) -> c_int {
    hand_on_nothing();
    let forking = forking();
    forking.inspect(|forking| hand_on(forking, true));
    let result = spawn();
    let error = syscall::errno();
    forking.inspect(|forking| hand_on(forking, false));
    syscall::set_errno(error);
    result
}

/// Handles dup2(2) of a descriptor to itself in the copy: the program is to have it.
pub(crate) fn handed_on(fd: c_int) {
    if BEFORE_EXEC.load(Relaxed) {
        set_close_on_exec(fd, false);
    }
}

/// Called by `exec()`, `shell_exec()`, `system()`, `passthru()`, `popen()` and `mail()`.
#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    hand_on_nothing();
    // SAFETY: the type of popen(3).
    let real: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut libc::FILE =
        unsafe { syscall::next(c"popen") };
    // SAFETY: the strings are the caller's promise.
    let file = unsafe { real(command, mode) };
    // SAFETY: a C string, says popen(3).
    if !file.is_null() && unsafe { mode.read() }.cast_unsigned() == b'w' {
        // SAFETY: popen(3) has just made it.
        unsafe { program_input::collect(file) };
    }
    file
}

/// Called by libraries only.
#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    hand_on_nothing();
    // SAFETY: the type of system(3).
    let real: unsafe extern "C" fn(*const c_char) -> c_int = unsafe { syscall::next(c"system") };
    // SAFETY: the string is the caller's promise.
    unsafe { real(command) }
}

type Spawn = unsafe extern "C" fn(
    *mut pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *mut c_char,
    *const *mut c_char,
) -> c_int;

/// Called by `proc_open()` since PHP 8.3.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the type of posix_spawn(3).
    let real: Spawn = unsafe { syscall::next(c"posix_spawn") };
    // SAFETY: all arguments are the caller's promise.
    spawning(|| unsafe { real(pid, path, actions, attributes, arguments, environment) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    pid: *mut pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    // SAFETY: the type of posix_spawnp(3).
    let real: Spawn = unsafe { syscall::next(c"posix_spawnp") };
    // SAFETY: all arguments are the caller's promise.
    spawning(|| unsafe { real(pid, file, actions, attributes, arguments, environment) })
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::ptr::{null, null_mut};

    use super::*;

    static HANDED_ON: AtomicI32 = AtomicI32::new(NONE);
    static TEST: Forking = Forking {
        goes_on: || false,
        handed_on: |index| Some(HANDED_ON.load(Relaxed)).filter(|fd| index == 0 && *fd >= 0),
        own_children: |_| None,
        child_ended: |_| {},
    };

    /// Whether a program that posix_spawn(3) starts has this descriptor.
    fn has(fd: c_int) -> bool {
        let words = ["sh", "-c", &format!(": <&{fd}")].map(|word| CString::new(word).unwrap());
        let mut arguments: Vec<_> = words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        arguments.push(null_mut());
        let (mut pid, mut status) = (0, -1);
        let (program, none, arguments) = (c"/bin/sh".as_ptr(), null(), arguments.as_ptr());
        let environment = [null_mut()];
        // SAFETY: strings and arrays live during the call; the lists end with a null pointer.
        let started = unsafe {
            posix_spawn(
                &mut pid,
                program,
                none,
                none,
                arguments,
                environment.as_ptr(),
            )
        };
        assert_eq!(started, 0);
        // SAFETY: room for the status.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        status == 0
    }

    #[test]
    fn what_is_left_to_the_parent_stays_open_there() {
        use std::io::{Read as _, Write as _};

        let (mut one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut parents = other.try_clone().unwrap();
        leave_to_parent(&[other.as_raw_fd()]);
        assert_eq!((&other).read(&mut [0]).unwrap_or(0), 0);
        parents.write_all(b"x").unwrap();
        assert_eq!(one.read(&mut [0]).unwrap(), 1);
        drop(parents);
        assert_eq!(one.read(&mut [0]).unwrap(), 0);
    }

    /// PHP makes no copy of a descriptor that has the right number already, so the flag has to be cleared.
    #[test]
    fn what_is_handed_on_may_have_its_number_already() {
        when_forked(&TEST);
        let (one, other) = (File::open("/").unwrap(), File::open("/").unwrap());
        HANDED_ON.store(one.as_raw_fd(), Relaxed);
        assert!(has(one.as_raw_fd()));
        assert!(!has(other.as_raw_fd()));
        HANDED_ON.store(NONE, Relaxed);
        assert!(!has(one.as_raw_fd()));
    }
}
