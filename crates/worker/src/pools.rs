//! The connection pools of PHP code in this worker: what the server asks of them.

use std::rc::Rc;
use std::time::Duration;

use ipc::{Channel, FromWorker};
use tokio::io::unix::AsyncFd;

use crate::host::ProcessHost;

/// Close the connections in the way their databases like it; they have this long, in seconds.
const CLOSE: f64 = 2.0;

pub(crate) async fn close(host: &ProcessHost) {
    host.has_closed_pools.set(true);
    let Some(task) = php::call_pools(c"closePools", CLOSE) else {
        return;
    };
    let _ = tokio::time::timeout(Duration::from_secs_f64(2.0 * CLOSE), task).await;
}

/// Tell the supervisor how they are; nothing where there is no pool. In a classic site nothing outlives a request, after
/// a fatal error PHP is not asked for anything, and of closed pools the last has been said.
pub(crate) async fn report(host: &ProcessHost, is_classic: bool, channel: Rc<AsyncFd<Channel>>) {
    let mut report = String::new();
    if !is_classic && !host.is_broken.get() && !host.has_closed_pools.get() {
        if let Some(task) = php::call_pools(c"reportPools", 0.0) {
            task.await;
        }
        report = host.reported.take().unwrap_or_default();
    }
    // A supervisor that does not read has no use for it: it shows what it knows.
    let _ = channel
        .get_ref()
        .try_send(&FromWorker::Pools { report }, &[]);
}
