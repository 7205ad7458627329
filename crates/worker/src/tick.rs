//! Periodic sweep of a worker: ends waiting requests that exceed their time limit, and connections that have timed out.
//!
//! One tick checks everything, so that a request costs no timer of its own. While there is nothing to check, there are no
//! ticks.

use std::rc::Rc;
use std::time::Duration;

use crate::host::thread_cpu;
use crate::worker::Worker;

const TICK: Duration = Duration::from_millis(100);
/// The tick while there is nothing but idle connections.
const SLOW_TICK: Duration = Duration::from_secs(1);
/// Milliseconds for which a connection that is idle while a new generation takes over may still send a request.
const LINGER: u64 = 2_000;

/// Chooses the scheduler slice of this thread: long if its tasks compute for long before they wait again.
struct SliceTuner {
    computes: bool,
    cpu: Duration,
    resumed: u64,
}

impl SliceTuner {
    /// CPU time per resumption from which other threads that are woken had better run first; below it, such a switch costs
    /// more than it brings.
    const LONG: Duration = Duration::from_millis(1);

    fn new() -> SliceTuner {
        hook::set_long_slice(true);
        SliceTuner {
            computes: true,
            cpu: Duration::ZERO,
            resumed: 0,
        }
    }

    fn update(&mut self) {
        let cpu = thread_cpu();
        let resumed = php::times_resumed();
        let times = u32::try_from(resumed - self.resumed).unwrap_or(u32::MAX);
        if times == 0 {
            return;
        }
        let computes = (cpu - self.cpu) / times >= SliceTuner::LONG;
        if computes != self.computes {
            hook::set_long_slice(computes);
        }
        *self = SliceTuner {
            computes,
            cpu,
            resumed,
        };
    }
}

pub(crate) async fn run(worker: Rc<Worker>) {
    let mut tuner = SliceTuner::new();
    loop {
        if worker.is_quiet() {
            worker.http.clock.notified().await;
        }
        let fast = worker.has_waiting() || worker.is_draining();
        let tick = tokio::time::sleep(if fast { TICK } else { SLOW_TICK });
        tokio::select! {
            () = tick => {}
            // A first waiting request makes the tick shorter.
            () = worker.http.clock.notified(), if !fast => continue,
        }
        tuner.update();
        worker.end_overdue();
        let draining = worker.draining.get();
        let leaving = draining.map(|draining| if draining.linger { LINGER } else { 0 });
        worker.http.close_silent(leaving);
    }
}
