//! Static files that this worker sends itself, because no front does.

use std::io;

use http1::{RequestHead, Response};
use site::{FileBody, PublicFolder};

use super::body::ResponseBody;
use super::{HttpResponse, plain};

/// Returns the response to a request that names a file in a resident app's public folder.
pub(crate) fn public(folder: &PublicFolder, head: &RequestHead) -> Option<HttpResponse> {
    let found = folder.answer(head).transpose()?;
    Some(answer(found, head))
}

/// Makes the worker's response from a file's response, or from the error of looking the file up.
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
