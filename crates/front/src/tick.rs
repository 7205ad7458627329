//! Periodic sweep that closes connections which have timed out. It pauses while no connection is open.

use std::rc::Rc;
use std::time::Duration;

use crate::process::Front;

const TICK: Duration = Duration::from_secs(1);
const DRAINING_TICK: Duration = Duration::from_millis(50);

pub(crate) async fn run(front: Rc<Front>) {
    loop {
        if front.http.connections.is_empty() {
            front.http.clock.notified().await;
        }
        let draining = front.is_draining();
        tokio::select! {
            () = tokio::time::sleep(if draining { DRAINING_TICK } else { TICK }) => {}
            () = front.http.clock.notified(), if !draining => {}
        }
        front.http.close_silent(draining.then_some(0));
        if front.thread.is_to_end_idle() {
            front.http.connections.end_idle();
        }
    }
}
