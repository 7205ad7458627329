//! Time limits of waits, by reusable alarms of the host.
//!
//! Most timeouts never fire. Creating, arming and disarming a timer for each wait is expensive; postponing one that still
//! runs is cheap.

use std::cell::RefCell;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::host::{Alarm, host};

/// The most alarms that are kept.
const MOST_SPARE: usize = 256;

thread_local! {
    static SPARE: RefCell<Vec<Box<dyn Alarm>>> = const { RefCell::new(Vec::new()) };
}

/// The time limit of one wait. After the wait the alarm runs on: at worst it wakes a task for which nothing has happened.
pub(crate) struct Timeout(Option<Box<dyn Alarm>>);

impl Timeout {
    pub(crate) fn of(time: Duration) -> Timeout {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let mut alarm = spare.unwrap_or_else(|| host().alarm());
        alarm.set(time);
        Timeout(Some(alarm))
    }

    pub(crate) fn poll_reached(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let alarm = self.0.as_mut().expect("taken when this is dropped");
        alarm.poll_over(context)
    }
}

impl Drop for Timeout {
    fn drop(&mut self) {
        let Some(alarm) = self.0.take() else { return };
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < MOST_SPARE {
                spare.push(alarm);
            }
        });
    }
}
