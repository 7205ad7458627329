//! Accepts that fail.

use std::io;
use std::time::Duration;

use http1::{Connections, is_out_of_descriptors};

/// The pause before the next attempt.
pub const RETRY_DELAY: Duration = Duration::from_millis(100);

/// Wait until another attempt makes sense; `log` gets the error. Without descriptors or memory the clients stay in the
/// kernel's queue, and idle connections end to free some. A client that hung up before it was accepted is no failure.
pub async fn recover(connections: &Connections, error: &io::Error, log: impl FnOnce(String)) {
    if error.kind() == io::ErrorKind::ConnectionAborted {
        return;
    }
    if is_out_of_descriptors(error) {
        connections.end_idle();
    }
    log(format!("cannot accept a connection: {error}"));
    tokio::time::sleep(RETRY_DELAY).await;
}
