//! A classic site: what answers a request, a script of the site or something that needs no PHP.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

use http::header::LOCATION;
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use ipc::Boot;
use php::Script;
use site::{Route, Site};

use crate::body::ResponseBody;
use crate::handler::{Answer, plain};

/// The site of this worker.
pub(crate) struct Classic {
    site: Site,
    root: Rc<[u8]>,
}

/// How a request is answered.
pub(crate) enum Plan {
    Run(Script),
    Answer(Answer),
}

impl Classic {
    /// Symbolic links in the path of the document root are resolved here, once per worker, so that a release stays what it
    /// was until the reload.
    pub(crate) fn new(boot: &Boot) -> io::Result<Classic> {
        let site = Site::of_app(&boot.app, &boot.follow, &boot.deny)?;
        let root = site.root().as_os_str().as_bytes().into();
        Ok(Classic { site, root })
    }

    pub(crate) fn plan(&self, head: &Parts) -> Plan {
        let target = head
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        Plan::Answer(match self.site.route(target) {
            Route::Script {
                filename,
                script_name,
                path_info,
            } => match CString::new(filename.as_os_str().as_bytes()) {
                Ok(filename) => {
                    return Plan::Run(Script {
                        filename,
                        name: script_name,
                        path_info,
                        document_root: Rc::clone(&self.root),
                    });
                }
                Err(_) => plain(StatusCode::BAD_REQUEST, "Bad Request\n"),
            },
            Route::File(file) => file
                .answer(&head.method, &head.headers)
                .map(ResponseBody::File),
            Route::Redirect(to) => redirect(&to),
            Route::Forbidden => plain(StatusCode::FORBIDDEN, "Forbidden\n"),
            Route::NotFound => plain(StatusCode::NOT_FOUND, "Not Found\n"),
            Route::Malformed => plain(StatusCode::BAD_REQUEST, "Bad Request\n"),
            Route::Failed(error) => {
                crate::log::error(format_args!("cannot look up {target}: {error}"));
                plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n")
            }
        })
    }
}

fn redirect(to: &str) -> Answer {
    let mut answer = plain(StatusCode::MOVED_PERMANENTLY, "Moved Permanently\n");
    match HeaderValue::from_str(to) {
        Ok(location) => {
            answer.headers_mut().insert(LOCATION, location);
        }
        Err(_) => *answer.status_mut() = StatusCode::NOT_FOUND,
    }
    answer
}
