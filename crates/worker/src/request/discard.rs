//! Reads and discards the rest of a body that PHP did not read, so that the connection can be used for the next request.

use std::future::poll_fn;
use std::task::{Poll, ready};
use std::time::Duration;

use php::BodySource;

/// The limits of what is discarded: bytes and time.
const DISCARD_BYTES: usize = 64 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(10);

pub(super) async fn discard(mut rest: Box<dyn BodySource>) {
    let mut left = DISCARD_BYTES;
    let all = poll_fn(|context| {
        while let Some(Ok(piece)) = ready!(rest.poll_piece(context)) {
            if piece.len() > left {
                break;
            }
            left -= piece.len();
        }
        Poll::Ready(())
    });
    // Beyond these limits the connection is closed: its client keeps sending what is not read.
    let _ = tokio::time::timeout(DISCARD_TIME, all).await;
}
