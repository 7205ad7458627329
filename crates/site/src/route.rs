//! What answers a path of a classic site.

use std::io;
use std::path::PathBuf;

use http1::{RequestHead, Response};

use crate::body::FileBody;
use crate::files::StaticFile;
use crate::routing::Site;
use crate::text;

/// What answers a path.
#[derive(Debug)]
pub enum Route {
    /// A file, opened: what was checked is what is sent.
    File(StaticFile),
    Script {
        /// `SCRIPT_FILENAME`: absolute, below the resolved document root.
        filename: PathBuf,
        /// `SCRIPT_NAME`, decoded.
        script_name: Vec<u8>,
        /// `PATH_INFO`, decoded; empty if there is none.
        path_info: Vec<u8>,
        /// `QUERY_STRING`, where a rule has made one.
        query: Option<Vec<u8>>,
    },
    /// To this path (and query): a directory without its slash, or what a rule says.
    Redirect { status: u16, location: String },
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// 400: malformed encoding, a NUL, or a path that leads above the root.
    Malformed,
    /// 500: the machine's fault, for the log.
    Failed(io::Error),
}

impl Site {
    /// The answer to a request whose path leads there, where it needs no PHP.
    ///
    /// # Errors
    /// If the machine fails, which is a 500.
    pub fn answer(&self, route: Route, head: &RequestHead) -> io::Result<Response<FileBody>> {
        Ok(match route {
            Route::File(file) => self.send(file, head),
            Route::Redirect { status, location } => text::redirect(status, &location),
            Route::Gone => text::answer(410, "Gone\n"),
            Route::Forbidden => text::answer(403, "Forbidden\n"),
            Route::NotFound | Route::Script { .. } => text::answer(404, "Not Found\n"),
            Route::Malformed => text::answer(400, "Bad Request\n"),
            Route::Failed(error) => return Err(error),
        })
    }
}
