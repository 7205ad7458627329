//! One coarse clock for all connections: closes those that nothing comes from. It stands still while there are none.

use std::rc::Rc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::connection::Phase;
use crate::run::Front;

const TICK: Duration = Duration::from_secs(1);
const DRAINING_TICK: Duration = Duration::from_millis(50);

/// Milliseconds of the kernel's coarse clock: cheap to read, right to a few.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    now.tv_sec.unsigned_abs() * 1000 + now.tv_nsec.unsigned_abs() / 1_000_000
}

pub(crate) async fn run(front: Rc<Front>) {
    loop {
        if front.is_quiet() {
            front.awake.notified().await;
        }
        let draining = front.is_draining();
        tokio::select! {
            () = tokio::time::sleep(if draining { DRAINING_TICK } else { TICK }) => {}
            () = front.awake.notified(), if !draining => {}
        }
        close_silent(&front);
    }
}

fn close_silent(front: &Front) {
    let now = now_ms();
    let draining = front.is_draining();
    front.each_connection(|life| {
        let limit = match life.phase.get() {
            Phase::Busy => return,
            Phase::Header => front.header_timeout.get(),
            Phase::Idle if draining => 0,
            Phase::Idle => front.keepalive_timeout.get(),
        };
        if now.saturating_sub(life.since.get()) >= limit {
            life.end();
        }
    });
}
