//! Reports and closes the connection pools of this worker's PHP code.

use std::rc::Rc;
use std::time::Duration;

use ipc::{Channel, FromWorker};
use tokio::io::unix::AsyncFd;

use crate::host::ProcessHost;

/// Seconds for closing the connections in the way that their databases expect.
const CLOSE: f64 = 2.0;

pub(crate) async fn close(host: &ProcessHost) {
    host.has_closed_pools.set(true);
    let Some(task) = php::call_pools(c"closePools", CLOSE) else {
        return;
    };
    let _ = tokio::time::timeout(Duration::from_secs_f64(2.0 * CLOSE), task).await;
}

/// Sends the state of the pools to the supervisor; an empty report if there is none. In classic mode no pool outlives a
/// request, after a fatal error no PHP code is called, and closed pools have been reported for the last time.
pub(crate) async fn report(host: &ProcessHost, is_classic: bool, channel: Rc<AsyncFd<Channel>>) {
    let mut report = String::new();
    if !is_classic && !host.is_broken.get() && !host.has_closed_pools.get() {
        if let Some(task) = php::call_pools(c"reportPools", 0.0) {
            task.await;
        }
        report = host.reported.take().unwrap_or_default();
    }
    // If the supervisor does not read, the report is lost, and the supervisor shows what it knows.
    let _ = channel
        .get_ref()
        .try_send(&FromWorker::Pools { report }, &[]);
}
