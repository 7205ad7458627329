//! Files that this worker sends by itself, where no front does.

use std::io;

use http1::{RequestHead, Response};
use site::{FileBody, PublicFolder};

use super::body::ResponseBody;
use super::{HttpResponse, plain};

/// The answer to a request that names a file of a resident app.
pub(crate) fn public(folder: &PublicFolder, head: &RequestHead) -> Option<HttpResponse> {
    let found = folder.answer(head).transpose()?;
    Some(answer(found, head))
}

/// An answer that needs no PHP.
pub(crate) fn answer(found: io::Result<Response<FileBody>>, head: &RequestHead) -> HttpResponse {
    match found {
        Ok(response) => response.map(ResponseBody::file),
        Err(error) => {
            let target = String::from_utf8_lossy(head.resource());
            logging::error!("cannot look up {target}: {error}");
            plain(500, "Internal Server Error\n")
        }
    }
}
