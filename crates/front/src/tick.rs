//! One coarse clock for all connections: closes those that nothing comes from. It stands still while there are none.

use std::rc::Rc;
use std::time::Duration;

use crate::process::Front;

const TICK: Duration = Duration::from_secs(1);
const DRAINING_TICK: Duration = Duration::from_millis(50);

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
        front.connections.close_silent(&front.timeouts());
        if front.thread.is_to_end_idle() {
            front.connections.end_idle();
        }
    }
}
