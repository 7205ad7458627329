//! The real calls as system calls: they need no symbol look-up, so they work before `main` and on every thread.

use std::time::Duration;

use libc::{c_int, c_long, c_void, pollfd, ssize_t, timespec};

/// This thread's `errno`.
pub fn errno() -> c_int {
    // SAFETY: it only returns where this thread's own is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is there as long as the thread.
    unsafe { place.read() }
}

/// Sets this thread's `errno`.
pub fn set_errno(value: c_int) {
    // SAFETY: it only returns where this thread's own is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is there as long as the thread.
    unsafe { place.write(value) };
}

pub(crate) fn timespec_of(time: Duration) -> timespec {
    timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// Converts to a duration. Negative fields count as zero.
pub(crate) fn duration_of(seconds: i64, nanoseconds: i64) -> Duration {
    Duration::new(
        seconds.try_into().unwrap_or(0),
        nanoseconds.clamp(0, 999_999_999).try_into().unwrap_or(0),
    )
}

/// # Safety
/// As poll(2).
pub(crate) unsafe fn poll(
    fds: *mut pollfd,
    count: libc::nfds_t,
    timeout: Option<Duration>,
) -> c_int {
    let time = timeout.map(timespec_of);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller vouches for the array; the time lives during the call; no signal mask is given.
    unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            fds,
            count,
            time,
            std::ptr::null::<c_void>(),
            8 as c_long,
        ) as c_int
    }
}

/// # Safety
/// As fcntl(2).
#[inline]
pub(crate) unsafe fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller vouches for the argument.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) as c_int }
}

/// Sleeps as nanosleep(2): false if a signal ended it.
pub(crate) fn sleep(time: Duration) -> bool {
    let time = timespec_of(time);
    // SAFETY: the time lives during the call; what is left of it is not asked for.
    unsafe {
        libc::syscall(
            libc::SYS_nanosleep,
            &raw const time,
            std::ptr::null_mut::<timespec>(),
        ) == 0
    }
}

/// poll(2) without waiting; fills in `revents`.
pub fn poll_now(fds: &mut [pollfd]) -> c_int {
    // SAFETY: the slice is valid for its length.
    unsafe {
        poll(
            fds.as_mut_ptr(),
            fds.len() as libc::nfds_t,
            Some(Duration::ZERO),
        )
    }
}

pub(crate) fn stat(fd: c_int) -> Option<libc::stat> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: room for one stat.
    let done = unsafe { libc::fstat(fd, stat.as_mut_ptr()) } == 0;
    // SAFETY: the call has filled it.
    done.then(|| unsafe { stat.assume_init() })
}

/// Returns device and inode of `fd`, which identify it while it is open.
pub fn identity(fd: c_int) -> Option<(u64, u64)> {
    stat(fd).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Returns the value of an option of SOL_SOCKET that is a number.
pub(crate) fn socket_option(fd: c_int, option: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: value and length describe room for one int.
    let done = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    (done == 0).then_some(value)
}

/// Whether `fd` is a TCP socket. There a receive gets as much as there is, up to an urgent mark. A Unix socket ends a receive behind a
/// descriptor that was passed and where the credentials change; SCTP at the end of a message.
pub fn is_tcp(fd: c_int) -> bool {
    socket_option(fd, libc::SO_TYPE) == Some(libc::SOCK_STREAM)
        && socket_option(fd, libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP)
}

/// Ends this process without its exit handlers, which in a forked process are the parent's.
pub fn exit_now(code: c_int) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(code) }
}

/// The kind of a descriptor, as far as blocking goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads and writes do not wait for another process: regular files, directories and disks.
    File,
    Socket,
    /// All else. Where poll(2) cannot wait for it, as for /dev/null, it always says that it is ready.
    Pipe,
}

pub(crate) fn kind(fd: c_int) -> Kind {
    let Some(mode) = stat(fd).map(|stat| stat.st_mode) else {
        return Kind::File;
    };
    match mode & libc::S_IFMT {
        libc::S_IFSOCK => Kind::Socket,
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => Kind::File,
        // Pipes, devices, and what has no type: timerfd, eventfd, signalfd, inotify.
        _ => Kind::Pipe,
    }
}

/// Whether `fd` is a socket. No two sockets have the same inode.
pub fn is_socket(fd: c_int) -> bool {
    kind(fd) == Kind::Socket
}

pub(crate) fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: fcntl with F_GETFL touches no memory of ours.
    unsafe { libc::fcntl(fd, libc::F_GETFL) & libc::O_NONBLOCK != 0 }
}

/// SO_RCVTIMEO or SO_SNDTIMEO; `None` is no limit.
pub(crate) fn socket_timeout(fd: c_int, option: c_int) -> Option<Duration> {
    let mut value = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let mut length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: value and length describe room for one timeval.
    let done = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    let time = duration_of(value.tv_sec, value.tv_usec * 1000);
    (done == 0 && !time.is_zero()).then_some(time)
}

/// Returns the libc function of that name behind the hook. Looked up at each call, so only for rare and slow calls.
///
/// # Safety
/// `F` must be the function's type.
pub(crate) unsafe fn next<F: Copy>(name: &std::ffi::CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is a C string; RTLD_NEXT finds what follows the executable.
    let symbol = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!symbol.is_null(), "libc has no {name:?}");
    // SAFETY: same size, and the caller vouches for the type.
    unsafe { std::mem::transmute_copy(&symbol) }
}

/// Converts the result of a raw system call to the signed size that read(2) and others return.
pub(crate) fn size(result: c_long) -> ssize_t {
    result as ssize_t
}
