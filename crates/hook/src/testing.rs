//! A waiter for unit tests, whose waits are ended early.

use std::cell::Cell;
use std::sync::{Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Lock, WaitMode, Waiter, install};

/// Ends every wait before it begins. The work that would be waited for runs when [`Early::finish`] is called.
pub(crate) struct Early;

type Work = Box<dyn FnOnce() + Send>;

thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}
static LEFT: Mutex<Vec<Work>> = Mutex::new(Vec::new());

/// Runs `call` as in a task whose waits are ended early.
pub(crate) fn early<T>(call: impl FnOnce() -> T) -> T {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| install(&Early));
    WAITS.set(true);
    let result = call();
    WAITS.set(false);
    result
}

impl Early {
    /// Runs the work that was left, each piece on a thread of its own. Returns how many pieces there were.
    pub(crate) fn finish() -> usize {
        let left = std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner));
        let threads: Vec<JoinHandle<()>> = left.into_iter().map(std::thread::spawn).collect();
        let count = threads.len();
        for thread in threads {
            thread.join().expect("the work ends");
        }
        count
    }
}

impl Waiter for Early {
    fn mode(&self) -> WaitMode {
        match WAITS.get() {
            true => WaitMode::Suspends,
            false => WaitMode::Blocks,
        }
    }
    fn poll(&self, _fds: &mut [libc::pollfd], _timeout: Option<Duration>) -> i32 {
        -1
    }
    fn sleep(&self, _time: Duration) -> bool {
        false
    }
    fn blocking(&self, work: Work) -> bool {
        LEFT.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(work);
        false
    }
    fn is_unwinding(&self) -> bool {
        false
    }
    fn task(&self) -> u64 {
        0
    }
    fn time_to_block(&self) -> Option<Duration> {
        None
    }

    fn refuse(&self, _fd: i32, _owner: u64) -> bool {
        false
    }
    fn refuse_poisoned(&self, _fd: i32) -> bool {
        false
    }
    fn has_waiting(&self) -> bool {
        false
    }
    fn wait_for_lock(&self, _what: Lock, _at_most: Duration) -> bool {
        false
    }
}
