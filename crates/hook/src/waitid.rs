//! The hook of waitid, which pcntl_waitid() of PHP 8.4 calls. See process.rs for the other calls that wait for children.

use std::time::Duration;

use libc::{c_int, c_long, id_t, idtype_t, pid_t, siginfo_t};

use crate::blocking_waiter::BlockingWaiter;
use crate::{inherit, installed, process, syscall, waiter};

/// The interval of checks: no descriptor tells of a child that is stopped or goes on.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Calls waitid(2), also where `waitid` is the hook. Returns 0, or -1 with `errno`; 0 with a pid of 0 if no child has changed state.
///
/// # Safety
/// `info` has room for a siginfo.
pub(crate) unsafe fn real(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int {
    // SAFETY: the caller's own promise; no usage is to be written.
    unsafe {
        libc::syscall(
            libc::SYS_waitid,
            c_long::from(kind),
            c_long::from(id),
            info,
            c_long::from(options),
            std::ptr::null_mut::<libc::rusage>(),
        ) as c_int
    }
}

/// Returns the child that `info` reports; 0 if it reports none.
///
/// # Safety
/// waitid(2) has filled in `info`.
unsafe fn child_of(info: *const siginfo_t) -> pid_t {
    // SAFETY: the caller's own promise.
    let info = unsafe { &*info };
    // SAFETY: waitid(2) sets the field of that name.
    unsafe { info.si_pid() }
}

/// Whether the child has ended: it may have stopped, or gone on.
///
/// # Safety
/// waitid(2) has filled in `info`.
unsafe fn has_ended(info: *const siginfo_t) -> bool {
    // SAFETY: the caller's own promise.
    let code = unsafe { (*info).si_code };
    [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&code)
}

/// The `pid` of wait4(2) that means the same children. None: a pidfd, which names one child.
fn pid_of(kind: idtype_t, id: id_t) -> Option<pid_t> {
    match kind {
        libc::P_ALL => Some(-1),
        libc::P_PGID => Some(id.cast_signed().saturating_neg()),
        libc::P_PID => Some(id.cast_signed()),
        _ => None,
    }
}

/// Checks once, among the children that the running code may wait for.
///
/// # Safety
/// As waitid(2).
unsafe fn check(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int {
    let options = options | libc::WNOHANG;
    let Some(own) = pid_of(kind, id).and_then(inherit::own_children) else {
        // SAFETY: the caller's own promise.
        return unsafe { real(kind, id, info, options) };
    };
    let mut result = -1;
    for child in own {
        // SAFETY: the caller's own promise.
        let done = unsafe { real(libc::P_PID, child.cast_unsigned(), info, options) };
        // SAFETY: the call has filled it in.
        if done == 0 && unsafe { child_of(info) } != 0 {
            return 0;
        }
        result = result.max(done);
    }
    if result == -1 {
        syscall::set_errno(libc::ECHILD);
    }
    result
}

/// # Safety
/// As waitid(2).
unsafe fn wait(kind: idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int {
    let waiter = waiter().unwrap_or(&BlockingWaiter);
    loop {
        // SAFETY: the caller's own promise.
        let done = unsafe { check(kind, id, info, options) };
        let child = match done {
            // SAFETY: the call has filled it in.
            0 => unsafe { child_of(info) },
            _ => 0,
        };
        // SAFETY: as before.
        if child != 0 && options & libc::WNOWAIT == 0 && unsafe { has_ended(info) } {
            inherit::child_ended(child);
        }
        if done != 0 || child != 0 || options & libc::WNOHANG != 0 {
            return done;
        }
        if !waiter.sleep(CHECK_INTERVAL) {
            syscall::set_errno(process::ended_early(waiter));
            return -1;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(
    kind: idtype_t,
    id: id_t,
    info: *mut siginfo_t,
    options: c_int,
) -> c_int {
    if installed().is_none() {
        // SAFETY: the caller's own promise.
        return unsafe { real(kind, id, info, options) };
    }
    let mut own = std::mem::MaybeUninit::zeroed();
    let info = if info.is_null() {
        own.as_mut_ptr()
    } else {
        info
    };
    // SAFETY: it has room for a siginfo.
    unsafe { wait(kind, id, info, options) }
}
