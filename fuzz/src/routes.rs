//! Routing of a classic site: no target leads out of the document root, or to a file that must not be sent.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use site::{Route, Site};
use tempfile::TempDir;

const SOURCE: &str = "<?php // source";
const SECRET: &str = "secret";

const FILES: &[(&str, &str)] = &[
    ("www/index.php", SOURCE),
    ("www/page.html", "page"),
    ("www/info.php", SOURCE),
    ("www/old.php~", SOURCE),
    ("www/settings.inc", SOURCE),
    ("www/a%2fb.txt", "text"),
    ("www/admin/index.php", SOURCE),
    ("www/dir.php/text.txt", "text"),
    ("www/.env", SECRET),
    ("www/.git/config", SECRET),
    ("www/.well-known/token", "token"),
    ("outside/secret.txt", SECRET),
    ("outside/code.php", SECRET),
];

const LINKS: &[(&str, &str)] = &[
    ("www/out.txt", "../outside/secret.txt"),
    ("www/out.php", "../outside/code.php"),
    ("www/out", "../outside"),
    ("www/inside.txt", "page.html"),
    ("www/hidden.txt", ".env"),
    ("www/source.txt", "info.php"),
];

/// A site with links that lead inside and outside its root, created once per thread.
struct Fixture {
    _place: TempDir,
    site: Site,
}

impl Fixture {
    fn new() -> Self {
        let place = tempfile::Builder::new()
            .prefix("hearth-fuzz-")
            .tempdir()
            .expect("a directory can be made");
        for (name, text) in FILES {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, text).expect("a file can be written");
        }
        for (name, to) in LINKS {
            symlink(to, place.path().join(name)).expect("a link can be made");
        }
        let root = place.path().join("www");
        let site = Site::new(&root, "index.php").expect("it is a directory");
        Fixture {
            _place: place,
            site,
        }
    }
}

/// Routes any target.
///
/// # Panics
/// If the target leads outside, to a script's source, to a hidden file, or to an endless redirection.
pub fn routes(target: &[u8]) {
    thread_local!(static FIXTURE: Fixture = Fixture::new());
    FIXTURE.with(|fixture| route(&fixture.site, target));
}

fn route(site: &Site, target: &[u8]) {
    let shown = target.escape_ascii();
    let file = site.file(target);
    match site.route(target) {
        Route::File(found) => {
            if let Some(file) = file {
                assert_eq!(file.path(), found.path(), "{shown}");
            }
            let text = below(site, found.path());
            assert!(
                text != SOURCE && text != SECRET,
                "{shown}: {}",
                found.path().display()
            );
        }
        route => {
            assert!(file.is_none(), "{shown}: a file, but {route:?}");
            no_file(site, &route, &shown.to_string());
        }
    }
}

fn no_file(site: &Site, route: &Route, shown: &str) {
    match route {
        Route::Script {
            filename,
            script_name,
            ..
        } => {
            assert_eq!(below(site, filename), SOURCE, "{shown}");
            assert!(
                script_name.starts_with(b"/") && script_name.ends_with(b".php"),
                "{shown}"
            );
        }
        Route::Redirect { location, .. } => {
            assert!(
                location.starts_with('/') && !location.starts_with("//"),
                "{shown}: {location}"
            );
            assert!(
                location.bytes().all(|byte| byte.is_ascii_graphic()),
                "{shown}: {location}"
            );
            assert!(
                !matches!(site.route(location), Route::Redirect { .. }),
                "{shown}: {location} goes on"
            );
        }
        Route::Failed(error) => panic!("{shown}: {error}"),
        Route::File(_) | Route::Forbidden(_) | Route::NotFound | Route::Gone | Route::Malformed => {
        }
    }
}

/// Returns the content of a file that must lie below the root, wherever its links lead.
fn below(site: &Site, path: &Path) -> String {
    let real = path.canonicalize().expect("it is there");
    assert!(real.starts_with(site.root()), "{}", real.display());
    fs::read_to_string(&real).expect("text")
}
