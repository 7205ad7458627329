//! Ends requests that compute for too long: a thread, because the engine's own is busy with them.
//!
//! The engine's thread notes when the task it resumes must be done. Past that moment the watchdog interrupts the VM,
//! which makes the task throw; past the grace period it kills the process, which takes its other requests with it, as
//! nothing gentler stops native code.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use crate::waiter::now_ms;

/// How often it looks while requests come in, and how many quiet looks send it to sleep.
const LOOK: Duration = Duration::from_millis(100);
const QUIET_LOOKS: u32 = 20;

/// When the task that runs now must be done; 0 while none runs.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
static ASLEEP: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Thread> = OnceLock::new();

/// A task runs from here until [`stopped`] and must be done at `deadline`.
#[inline]
pub(crate) fn running_until(deadline: u64) {
    DEADLINE.store(deadline, Ordering::Relaxed);
    if ASLEEP.load(Ordering::Relaxed) {
        wake();
    }
}

#[inline]
pub(crate) fn stopped() {
    DEADLINE.store(0, Ordering::Relaxed);
}

#[cold]
fn wake() {
    ASLEEP.store(false, Ordering::Relaxed);
    if let Some(thread) = THREAD.get() {
        thread.unpark();
    }
}

/// Start it. `grace` is the time between the error and the end of the process.
pub(crate) fn start(grace: Duration) -> std::io::Result<()> {
    let watch = move || watch(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
    let thread = std::thread::Builder::new()
        .name("watchdog".to_owned())
        .stack_size(64 * 1024)
        .spawn(watch)?;
    THREAD.get_or_init(|| thread.thread().clone());
    Ok(())
}

fn watch(grace: u64) {
    let (mut quiet, mut interrupted) = (0, None);
    loop {
        std::thread::sleep(LOOK);
        let deadline = DEADLINE.load(Ordering::Relaxed);
        quiet = if deadline == 0 { quiet + 1 } else { 0 };
        if quiet > QUIET_LOOKS {
            sleep_until_woken();
            quiet = 0;
        }
        interrupted = judge(deadline, interrupted, grace);
    }
}

/// `interrupted`: since when the task that runs is being told to stop. After the interrupt was taken, the deadline of a
/// task moves to "never"; it is the same run as long as no other deadline was seen.
fn judge(deadline: u64, interrupted: Option<u64>, grace: u64) -> Option<u64> {
    let now = now_ms();
    if deadline == 0 || deadline == u64::MAX || now < deadline {
        return None;
    }
    php::interrupt();
    let since = interrupted.unwrap_or(now);
    if now.saturating_sub(since) > grace {
        crate::log::error(format_args!(
            "a request computes on {grace} ms after it was told to stop (request.grace): ending this worker with everything in it"
        ));
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
    Some(since)
}

fn sleep_until_woken() {
    ASLEEP.store(true, Ordering::Relaxed);
    while ASLEEP.load(Ordering::Relaxed) {
        std::thread::park();
    }
}
