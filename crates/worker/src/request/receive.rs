//! The body of a request, before PHP begins: a client that sends slowly costs no place among the requests that run.
//!
//! Where a worker runs one request at a time, all of the body is there first: in memory while it is small, in a file without a
//! name beyond that, as under nginx. Where it runs many, a handler begins with the first part of a large body and reads on while
//! the rest comes.

use std::future::poll_fn;
use std::rc::Rc;

use http1::{BodyError, Spool};
use php::{BodySource, Request};

use super::upload::Upload;

/// Bodies up to here are there before PHP begins, in memory.
const SMALL: u64 = 64 << 10;

/// Until the request may begin. `whole`: with all of its body.
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
