//! A classic site: what answers a request, a script of the site or something that needs no PHP.

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

/// The site of this worker.
pub(crate) struct Classic {
    site: Site,
    root: Rc<[u8]>,
    recent: RefCell<HashMap<Box<[u8]>, Recent>>,
    refusals: LineLimit,
}

/// A script that was found a moment ago.
struct Recent {
    script: Rc<Script>,
    until: u64,
}

/// How long, in milliseconds, a script is taken to be where it was, and how many paths are remembered. opcache looks every
/// two seconds whether a script has changed.
const RECENT: u64 = 1_000;
const MOST_RECENT: usize = 1_024;

/// How a request is answered.
pub(crate) enum Plan {
    Run(Rc<Script>),
    HttpResponse(HttpResponse),
}

impl Classic {
    /// The zygote has resolved the links in the app's path, so that a release stays what it was until the reload.
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
                    self.tell(why, head);
                }
                Plan::HttpResponse(files::answer(self.site.answer(other, head), head))
            }
        }
    }

    /// As the error log of nginx has it: a 403 does not say which of its reasons it has.
    fn tell(&self, why: Refusal, head: &RequestHead) {
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

    /// Not what fell back to the front controller: a file may be there by the next request, an upload for example.
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

/// Is it this script that the path names, or the index of the directory that it names?
fn is_named(path: &[u8], script: &Script) -> bool {
    // A query that a rule has made is of one request.
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

/// A path that the kernel has found has no NUL in it.
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
