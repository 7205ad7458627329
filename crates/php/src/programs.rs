//! Processes that PHP code starts: what the hooks of libc ask the engine about them.

use php_sys as sys;

use crate::engine_thread;
use crate::host::is_forked;

/// Whether PHP code is in `pcntl_fork()`, so that PHP code goes on in the copy.
pub fn forks_for_itself() -> bool {
    // SAFETY: reads what the engine runs, on its thread, as was just seen; the name is valid during the call.
    engine_thread::is_this() && unsafe { sys::hearth_calls(sys::hearth_str::new(b"pcntl_fork")) }
}

/// Whether PHP code calls a function that closes a process of `popen()`; else the engine frees it with its last variable.
/// On the engine's thread.
pub fn is_closing_process() -> bool {
    [b"pclose".as_slice(), b"fclose"].into_iter().any(|name| {
        // SAFETY: the engine runs on this thread, and the name outlives the call.
        unsafe { sys::hearth_calls(sys::hearth_str::new(name)) }
    })
}

/// Whether PHP's `popen()` runs: the only function that writes to a program of popen(3) itself, through a PHP stream.
pub fn runs_popen() -> bool {
    // SAFETY: reads what the engine runs, on its thread, as was just seen; the name is valid during the call.
    engine_thread::is_this() && unsafe { sys::hearth_calls(sys::hearth_str::new(b"popen")) }
}

/// The descriptor with that index among those that a running `proc_open()` passes to its program.
pub fn handed_on(index: u32) -> Option<i32> {
    if !engine_thread::is_this() {
        return None;
    }
    // SAFETY: reads the arguments of the function that the engine runs, on its thread, as was just seen.
    let number = unsafe { sys::hearth_handed_on(index) };
    (number >= 0).then(|| i32::try_from(number).unwrap_or(i32::MAX))
}

/// The children that the running `pcntl_wait()`, `pcntl_waitpid()` or `pcntl_waitid()` of a request may wait for, if its argument is `pid`: those
/// that the request has made itself. `None` in other code, and where a process has one request, whose children all are.
pub fn own_children(pid: i32) -> Option<Vec<i32>> {
    if !engine_thread::is_this() || is_forked() {
        return None;
    }
    // SAFETY: reads the function that the engine runs and a list of its thread, which is this one.
    let child = |index| unsafe { sys::hearth_child(pid, index) };
    (child(0) >= 0).then(|| (0..).map(child).take_while(|child| *child > 0).collect())
}

/// Forgets a child that has ended and that this process has waited for.
pub fn child_ended(pid: i32) {
    if engine_thread::is_this() {
        // SAFETY: changes a list of the engine's thread, which is this one.
        unsafe { sys::hearth_child_ended(pid) }
    }
}
