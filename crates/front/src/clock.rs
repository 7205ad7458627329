//! One coarse clock for all connections: closes those that nothing comes from. It stands still while there are none.

use std::rc::Rc;
use std::time::Duration;

use http1::{LEAVING, Phase, now_ms};

use crate::run::Front;

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
        close_silent(&front);
    }
}

fn close_silent(front: &Front) {
    let now = now_ms();
    let draining = front.is_draining();
    front.each_connection(|life| {
        let stalled = life
            .stalled_since()
            .map_or(0, |since| now.saturating_sub(since));
        if stalled >= front.stall_timeout.get() {
            return life.cut_off();
        }
        let limit = match life.phase() {
            Phase::Busy | Phase::Sending => return,
            Phase::Header => front.header_timeout.get(),
            Phase::Leaving if draining => 0,
            Phase::Leaving => LEAVING,
            Phase::Idle if draining => 0,
            Phase::Idle => front.keepalive_timeout.get(),
        };
        if now.saturating_sub(life.since()) >= limit {
            life.end();
        }
    });
}
