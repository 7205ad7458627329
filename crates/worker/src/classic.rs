//! Classic mode: decides whether a script of the site answers a request, or a response that needs no PHP.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use config::Settings;
use http1::{LineLimit, RequestHead};
use php::Script;
use site::{Refusal, Route, Site};

use crate::response::files;
use crate::response::{HttpResponse, plain};
use http1::now_ms;

/// The classic site of this worker.
pub(crate) struct Classic {
    site: Site,
    root: Rc<[u8]>,
    recent: RefCell<HashMap<Box<[u8]>, Recent>>,
    refusals: LineLimit,
}

/// A script that was found for a path a moment ago.
struct Recent {
    script: Rc<Script>,
    until: u64,
}

/// Milliseconds for which a path is known to name a script, and how many paths are remembered. opcache checks every two
/// seconds whether a script has changed.
const RECENT: u64 = 1_000;
const MOST_RECENT: usize = 1_024;

/// How a request is answered.
pub(crate) enum Plan {
    Run(Rc<Script>),
    HttpResponse(HttpResponse),
}

impl Classic {
    /// Opens the site. The zygote has resolved the symbolic links in the app's path, so that a release stays the same until
    /// the reload.
    pub(crate) fn new(settings: &Settings) -> io::Result<Classic> {
        let site = Site::of_app(&settings.app, &settings.site)?;
        let root = site.root().as_os_str().as_bytes().into();
        Ok(Classic {
            site,
            root,
            recent: RefCell::default(),
            refusals: LineLimit::default(),
        })
    }

    pub(crate) fn plan(&self, head: &RequestHead) -> Plan {
        if head.method() == b"TRACE" {
            return Plan::HttpResponse(plain(405, "Method Not Allowed\n"));
        }
        let path = head.path();
        let now = now_ms();
        if let Some(recent) = self.recent.borrow().get(path)
            && now < recent.until
        {
            return Plan::Run(Rc::clone(&recent.script));
        }
        match self.site.route(head.resource()) {
            Route::Script {
                filename,
                script_name,
                path_info,
                query,
            } => {
                let script = Script {
                    filename: c_string(&filename),
                    name: script_name,
                    path_info,
                    query,
                    document_root: Rc::clone(&self.root),
                };
                Plan::Run(self.remember(path, script, now))
            }
            other => {
                if let Route::Forbidden(why) = other {
                    self.log_refusal(why, head);
                }
                Plan::HttpResponse(files::answer(self.site.answer(other, head), head))
            }
        }
    }

    /// Logs why a request was refused, as nginx does in its error log: a 403 does not contain its reason.
    fn log_refusal(&self, why: Refusal, head: &RequestHead) {
        let Some(left_out) = self.refusals.take(now_ms()) else {
            return;
        };
        let more = match left_out {
            0 => String::new(),
            more => format!(" ({more} more like this were not logged)"),
        };
        let path = String::from_utf8_lossy(head.path());
        logging::info!("request refused: {why} status=403 path={path}{more}");
    }

    /// Remembers the script of a path. Not for a path that fell back to the front controller: the file that it names, an
    /// upload for example, may exist by the next request.
    fn remember(&self, path: &[u8], script: Script, now: u64) -> Rc<Script> {
        let script = Rc::new(script);
        if is_named(path, &script) {
            let mut recent = self.recent.borrow_mut();
            if recent.len() >= MOST_RECENT {
                recent.clear();
            }
            let until = now + RECENT;
            let entry = Recent {
                script: Rc::clone(&script),
                until,
            };
            recent.insert(path.into(), entry);
        }
        script
    }
}

/// Whether the path names this script, or a directory whose index this script is.
fn is_named(path: &[u8], script: &Script) -> bool {
    // A query that a rewrite rule has made belongs to one request.
    if script.query.is_some() {
        return false;
    }
    let is_script = path
        .strip_prefix(&*script.name)
        .is_some_and(|rest| rest == script.path_info);
    let is_index = path.ends_with(b"/")
        && script
            .name
            .strip_prefix(path)
            .is_some_and(|index| !index.contains(&b'/'));
    is_script || is_index
}

/// Converts a path that the kernel has found, and which therefore contains no NUL.
fn c_string(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_path_names_is_remembered() {
        let named = |path: &str, name: &str, path_info: &str| {
            let script = Script {
                filename: CString::default(),
                name: name.into(),
                path_info: path_info.into(),
                query: None,
                document_root: Rc::default(),
            };
            is_named(path.as_bytes(), &script)
        };
        assert!(named("/a.php", "/a.php", ""));
        assert!(named("/a.php/x/y", "/a.php", "/x/y"));
        assert!(named("/", "/index.php", ""));
        assert!(named("/blog/", "/blog/index.php", ""));
        // All of these fell back to the front controller.
        assert!(!named("/blog/hello/", "/index.php", ""));
        assert!(!named("/upload.png", "/index.php", ""));
        assert!(!named("/index.php.css", "/index.php", ""));
    }
}
