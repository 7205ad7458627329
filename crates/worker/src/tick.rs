//! The worker's one coarse clock: time limits of requests that wait, and connections that nothing comes from.
//!
//! One tick looks at everything, so that a request costs no timer of its own. While there is nothing to look at, the
//! clock stands still.

use std::rc::Rc;
use std::time::Duration;

use crate::host::thread_cpu;
use crate::worker::Worker;

const TICK: Duration = Duration::from_millis(100);
/// With nothing but idle connections, seldom is enough.
const SLOW_TICK: Duration = Duration::from_secs(1);
/// How long a connection that is idle while a new generation takes over may still send a request.
const LINGER: u64 = 2_000;

/// Whether what runs here computes for long before it waits again.
struct SliceTuner {
    computes: bool,
    cpu: Duration,
    resumed: u64,
}

impl SliceTuner {
    /// From so long on, others that are woken had better go first; below, each such change costs more than it brings.
    const LONG: Duration = Duration::from_millis(1);

    fn new() -> SliceTuner {
        hook::set_long_slice(true);
        SliceTuner {
            computes: true,
            cpu: Duration::ZERO,
            resumed: 0,
        }
    }

    fn look(&mut self) {
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
        tuner.look();
        worker.end_overdue();
        let draining = worker.draining.get();
        let leaving = draining.map(|draining| if draining.linger { LINGER } else { 0 });
        worker.http.close_silent(leaving);
    }
}
