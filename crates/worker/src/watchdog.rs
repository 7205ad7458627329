//! The watchdog: a thread that ends requests which compute for too long, because the engine's thread is busy with them.
//!
//! The engine's thread notes when the task that it resumes must be done. Past that moment the watchdog interrupts the VM,
//! which makes the task throw; past the grace period the watchdog kills the process, with all of its requests, because
//! nothing gentler stops native code.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use http1::now_ms;

/// The interval of checks while requests come in, and the number of checks without a running task after which the watchdog
/// sleeps.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
const QUIET_CHECKS: u32 = 20;
/// Milliseconds for which a slow request may not take an interrupt, before the watchdog itself logs its stack.
const NOT_TAKEN: u64 = 1_000;
/// The interval of interrupts of a task that is overdue: code of the PHP library does not take an interrupt.
const AGAIN: Duration = Duration::from_millis(2);

/// When the task that runs must be done, in milliseconds of [`now_ms`]; 0 while no task runs.
static DEADLINE: AtomicU64 = AtomicU64::new(0);
/// When the request whose task runs is slow and is to be logged, in milliseconds of [`now_ms`]; `u64::MAX`: never, or it was
/// logged.
static SLOW: AtomicU64 = AtomicU64::new(u64::MAX);
/// The id of that request, for the log.
static REQUEST: AtomicU64 = AtomicU64::new(0);
/// Seconds of CPU time that the running script may use in classic mode, 0 for no limit; and how often the limit was set,
/// because the time counts from each setting.
static CPU_LIMIT: AtomicU32 = AtomicU32::new(0);
static CPU_LIMITS_SET: AtomicU64 = AtomicU64::new(0);
/// The setting (see [`CPU_LIMITS_SET`]) whose time the script has used up; 0 for none.
static CPU_OVER: AtomicU64 = AtomicU64::new(0);
static ASLEEP: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Thread> = OnceLock::new();

/// Notes that a task runs from now until [`stopped`], and must be done at `deadline`.
#[inline]
pub(crate) fn running_until(deadline: u64) {
    DEADLINE.store(deadline, Ordering::Relaxed);
    if ASLEEP.load(Ordering::Relaxed) {
        wake();
    }
}

#[inline]
pub(crate) fn slow_at(time: u64, request: u64) {
    SLOW.store(time, Ordering::Relaxed);
    REQUEST.store(request, Ordering::Relaxed);
}

#[inline]
pub(crate) fn stopped() {
    DEADLINE.store(0, Ordering::Relaxed);
}

pub(crate) fn cpu_limit(seconds: u32) {
    CPU_LIMIT.store(seconds, Ordering::Relaxed);
    CPU_LIMITS_SET.fetch_add(1, Ordering::Relaxed);
}

/// Returns, once, the limit in seconds that the running script has used up. Called on the engine's thread at an interrupt:
/// only this thread, which sets the limits, knows whether the next script runs by then.
pub(crate) fn cpu_time_over() -> Option<u32> {
    if CPU_OVER.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let is_this = CPU_OVER.swap(0, Ordering::Relaxed) == CPU_LIMITS_SET.load(Ordering::Relaxed);
    is_this.then(|| CPU_LIMIT.load(Ordering::Relaxed))
}

#[cold]
fn wake() {
    ASLEEP.store(false, Ordering::Relaxed);
    if let Some(thread) = THREAD.get() {
        thread.unpark();
    }
}

/// Starts the watchdog. `grace` is the time between the error and the end of the process.
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
    let mut meter = CpuMeter::default();
    let mut logged = 0;
    loop {
        std::thread::sleep(if interrupted.is_some() {
            AGAIN
        } else {
            CHECK_INTERVAL
        });
        let deadline = DEADLINE.load(Ordering::Relaxed);
        quiet = if deadline == 0 { quiet + 1 } else { 0 };
        if deadline == 0 {
            hook::release_opcache_lock();
        }
        if quiet > QUIET_CHECKS {
            sleep_until_woken();
            quiet = 0;
        }
        interrupted = judge(deadline, interrupted, grace);
        if deadline != 0 {
            let slow = SLOW.load(Ordering::Relaxed);
            if now_ms() >= slow {
                php::interrupt();
            }
            if logged != slow && now_ms() >= slow.saturating_add(NOT_TAKEN) {
                logged = slow;
                log_long_call(slow);
            }
            meter.check(grace);
        }
    }
}

/// Logs a slow request that does not take the interrupt: its code is in one long call of an extension. The line of the slow
/// log, with more about the request, follows when the call has returned.
fn log_long_call(slow: u64) {
    let (request, trace) = (REQUEST.load(Ordering::Relaxed), php::outside_trace());
    // If the engine's thread has gone on meanwhile, the trace may be of another request.
    let is_the_same = SLOW.load(Ordering::Relaxed) == slow && DEADLINE.load(Ordering::Relaxed) != 0;
    if let Some(trace) = trace.filter(|_| is_the_same) {
        let line = format!("request is slow, inside one call: {}", shown(&trace));
        logging::write(logging::Severity::Warn, request, line);
    }
}

fn shown(trace: &str) -> String {
    let (place, calls) = trace.split_once('\n').unwrap_or((trace, ""));
    format!("at {place}\nStack trace:\n{calls}")
}

/// Interrupts a task past its deadline, and ends the process past the grace. `interrupted` and the result: since when the
/// running task is being interrupted. It counts as the same run until a deadline is seen that is not over.
fn judge(deadline: u64, interrupted: Option<u64>, grace: u64) -> Option<u64> {
    let now = now_ms();
    if deadline == 0 || deadline == u64::MAX || now < deadline {
        return None;
    }
    php::interrupt();
    let since = interrupted.unwrap_or(now);
    if now.saturating_sub(since) > grace {
        end_process(grace);
    }
    Some(since)
}

fn end_process(grace: u64) {
    let code =
        php::outside_trace().map_or_else(String::new, |trace| format!(": {}", shown(&trace)));
    logging::error!(
        "a request still computes {grace} ms after it was told to stop (request.grace): ending this worker with all its requests{code}"
    );
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Measures how much of its CPU time the running script has used.
#[derive(Default)]
struct CpuMeter {
    /// The setting of the limit (see [`CPU_LIMITS_SET`]), and the process's CPU time when it was first seen, in
    /// milliseconds.
    setting: u64,
    from: u64,
    interrupted: bool,
}

impl CpuMeter {
    fn check(&mut self, grace: u64) {
        let (setting, now) = (CPU_LIMITS_SET.load(Ordering::Relaxed), cpu_ms());
        if setting != self.setting {
            *self = CpuMeter {
                setting,
                from: now,
                interrupted: false,
            };
        }
        let seconds = CPU_LIMIT.load(Ordering::Relaxed);
        let over = now.saturating_sub(self.from + u64::from(seconds) * 1000);
        if seconds == 0 || over == 0 {
            return;
        }
        if !self.interrupted {
            self.interrupted = true;
            CPU_OVER.store(setting, Ordering::Relaxed);
            php::interrupt();
        } else if over > grace {
            end_process(grace);
        }
    }
}

/// Returns the CPU time of this process in milliseconds: that of the engine's thread and, next to nothing, of this one.
fn cpu_ms() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec * 1000 + time.tv_nsec / 1_000_000).unwrap_or(0)
}

/// Sleeps until a task runs. The engine's thread writes `DEADLINE` and then reads `ASLEEP`, without a fence between them,
/// which would cost each request; so it may have missed that the watchdog sleeps. One interval later, that deadline is
/// visible here.
fn sleep_until_woken() {
    ASLEEP.store(true, Ordering::Relaxed);
    std::thread::sleep(CHECK_INTERVAL);
    if DEADLINE.load(Ordering::Relaxed) != 0 {
        ASLEEP.store(false, Ordering::Relaxed);
    }
    while ASLEEP.load(Ordering::Relaxed) {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_was_over_is_not_the_next_scripts() {
        let is_over = || CPU_OVER.store(CPU_LIMITS_SET.load(Ordering::Relaxed), Ordering::Relaxed);
        cpu_limit(5);
        is_over();
        cpu_limit(7);
        assert_eq!(cpu_time_over(), None);
        is_over();
        assert_eq!(cpu_time_over(), Some(7));
        assert_eq!(cpu_time_over(), None, "said once");
    }
    #[test]
    fn it_does_not_sleep_through_a_task_that_did_not_see_it_go_to_sleep() {
        DEADLINE.store(1, Ordering::Relaxed);
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            sleep_until_woken();
            let _ = ended.send(());
        });
        let woke = end.recv_timeout(Duration::from_secs(10));
        stopped();
        assert!(woke.is_ok(), "it sleeps on");
    }
}
