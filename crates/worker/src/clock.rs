//! The worker's one coarse clock: time limits of requests that wait, and connections that nothing comes from.
//!
//! One tick looks at everything, so that a request costs no timer of its own. While there is nothing to look at, the
//! clock stands still.

use std::rc::Rc;
use std::time::Duration;

use http1::Patience;

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
        worker.connections.close_silent(&patience(&worker));
    }
}

fn patience(worker: &Worker) -> Patience {
    let leaving = worker.leaving.get();
    Patience {
        header: worker.header_timeout,
        idle: worker.keepalive_timeout,
        stall: worker.stall_timeout,
        leaving: leaving.map(|leaving| if leaving.linger { LINGER } else { 0 }),
    }
}
