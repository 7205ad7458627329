//! The route of a request in a classic site: the file, script or error that its path leads to.

use std::fmt;
use std::io;
use std::path::PathBuf;

use http1::{RequestHead, Response};

use crate::body::FileBody;
use crate::files::StaticFile;
use crate::routing::Site;
use crate::text;

/// The result of routing a path.
#[derive(Debug)]
pub enum Route {
    /// An open file: the file that was checked is the one that is sent.
    File(StaticFile),
    Script {
        /// `SCRIPT_FILENAME`: absolute, below the resolved document root.
        filename: PathBuf,
        /// `SCRIPT_NAME`, decoded.
        script_name: Vec<u8>,
        /// `PATH_INFO`, decoded; empty if there is none.
        path_info: Vec<u8>,
        /// `QUERY_STRING`, where a rule has set it.
        query: Option<Vec<u8>>,
    },
    /// A redirect to this path (and query): a directory without its slash, or by a rule.
    Redirect { status: u16, location: String },
    /// 403.
    Forbidden(Refusal),
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// 400: malformed encoding, a NUL, or a path that leads above the root.
    Malformed,
    /// 500: an I/O error, for the log.
    Failed(io::Error),
}

/// Why a file is not sent; for the log, not for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Denied,
    Rule,
    Hidden,
    Listing,
    Source,
    Unreadable,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Denied => "site.deny contains its path",
            Refusal::Rule => "a rule of site.rewrite refuses its path",
            Refusal::Hidden => "names that begin with a dot are not public",
            Refusal::Listing => "directories are not listed, and this one contains neither index.php nor index.html",
            Refusal::Source => "PHP code that does not run is not sent",
            Refusal::Unreadable => {
                "the server's user may not read it, or it is not a regular file, or a link leads out of the directories of site.follow"
            }
        })
    }
}

impl Site {
    /// Responds to a request with this route, which is not a script.
    ///
    /// # Errors
    /// If the lookup has failed, which is a 500.
    pub fn answer(&self, route: Route, head: &RequestHead) -> io::Result<Response<FileBody>> {
        Ok(match route {
            Route::File(file) => self.send(file, head),
            Route::Redirect { status, location } => text::redirect(status, &location),
            Route::Gone => text::answer(410, "Gone\n"),
            Route::Forbidden(_) => text::answer(403, "Forbidden\n"),
            Route::NotFound | Route::Script { .. } => text::answer(404, "Not Found\n"),
            Route::Malformed => text::answer(400, "Bad Request\n"),
            Route::Failed(error) => return Err(error),
        })
    }
}
