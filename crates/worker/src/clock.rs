//! The worker's one coarse clock: time limits of requests that wait, and connections that nothing comes from.
//!
//! One tick looks at everything, so that a request costs no timer of its own. While there is nothing to look at, the
//! clock stands still.

use std::rc::Rc;
use std::time::Duration;

use http1::{LEAVING, Phase};

use crate::waiter::now_ms;
use crate::worker::Worker;

const TICK: Duration = Duration::from_millis(100);
/// With nothing but idle connections, seldom is enough.
const SLOW_TICK: Duration = Duration::from_secs(1);
/// How long a connection that is idle while a new generation takes over may still send a request.
const LINGER: u64 = 2_000;

pub(crate) async fn run(worker: Rc<Worker>) {
    loop {
        if worker.is_quiet() {
            worker.awake.notified().await;
        }
        let fast = worker.has_waiting() || worker.is_draining();
        let tick = tokio::time::sleep(if fast { TICK } else { SLOW_TICK });
        tokio::select! {
            () = tick => {}
            // A first waiting request makes the tick shorter.
            () = worker.awake.notified(), if !fast => continue,
        }
        worker.end_overdue();
        close_silent(&worker);
    }
}

fn close_silent(worker: &Worker) {
    let now = now_ms();
    let linger = worker
        .drain()
        .map(|drain| if drain.linger { LINGER } else { 0 });
    worker.each_connection(|life| {
        let stalled = life
            .stalled_since()
            .map_or(0, |since| now.saturating_sub(since));
        if stalled >= worker.stall_timeout {
            return life.cut_off();
        }
        let limit = match life.phase() {
            Phase::Busy | Phase::Sending => return,
            Phase::Header => worker.header_timeout,
            Phase::Leaving if linger.is_some() => 0,
            Phase::Leaving => LEAVING,
            Phase::Idle => linger.unwrap_or(worker.keepalive_timeout),
        };
        if now.saturating_sub(life.since()) >= limit {
            life.end();
        }
    });
}
