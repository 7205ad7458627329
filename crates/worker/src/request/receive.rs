//! Receives the body of a request before PHP begins, so that a client that sends slowly takes no permit.
//!
//! A worker that runs one request at a time receives the whole body first: in memory while it is small, in an unnamed file
//! beyond that, as nginx does. In a worker that runs several, a handler begins with the first part of a large body and reads
//! on while the rest comes.

use std::future::poll_fn;
use std::rc::Rc;

use http1::{BodyError, Spool};
use php::{BodySource, Request};

use super::upload::Upload;

/// Bytes of a body up to which it is received whole, in memory, before PHP begins.
const SMALL: u64 = 64 << 10;

/// Receives as much of the body as the request needs to begin. `whole`: all of it.
pub(crate) async fn body(request: Rc<Request>, whole: bool) -> Result<(), BodyError> {
    poll_fn(|context| request.poll_first_of_body(SMALL, context)).await?;
    if whole && let Some((first, rest)) = request.take_body() {
        let spool = collect(&first, rest).await?;
        request.put_body(Box::new(Upload::spooled(spool)));
    }
    Ok(())
}

async fn collect(first: &[u8], mut rest: Box<dyn BodySource>) -> Result<Spool, BodyError> {
    let mut spool = Spool::create().map_err(not_stored)?;
    spool.append(first).map_err(not_stored)?;
    while let Some(piece) = poll_fn(|context| rest.poll_piece(context)).await {
        spool.append(&piece?).map_err(not_stored)?;
    }
    Ok(spool)
}

fn not_stored(error: std::io::Error) -> BodyError {
    logging::error!(
        "cannot keep a request's body in a temporary file ({}): {error}",
        std::env::temp_dir().display()
    );
    BodyError::Storage
}
