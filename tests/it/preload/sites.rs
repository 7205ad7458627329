//! Lists for real sites from Debian's packages: recorded, built, and in use under the server that they were recorded under.

use std::path::Path;

use testkit::http::Client;
use testkit::service::{Apache, Fpm};

use super::done;
use crate::sites::wordpress_addresses::{configure, installed};
use crate::sites::{unpacked, wordpress_files};
use crate::support::ok;

const STATUS: &str = "<?php $list = opcache_get_status(false)['preload_statistics'] ?? []; \
                      echo count($list['classes'] ?? []), ' ', count($list['scripts'] ?? []);";

/// As root, PHP preloads as the user that it is told.
const ROOT: [(&str, &str); 1] = [("opcache.preload_user", "www-data")];

/// Lines with a secret of the request's own.
const SECRETS: [&str; 3] = ["token", "nonce", "set_session"];

/// The pages' lines that are the same in each answer.
fn pages(address: &str, paths: &[&str]) -> Vec<String> {
    let page = |path: &&str| {
        let text = ok(&Client::connect(address).get(path));
        assert!(text.len() > 100, "{path}: {text}");
        let port = address.rsplit(':').next().expect("a port");
        text.replace(port, "PORT")
    };
    let texts: Vec<String> = paths.iter().map(page).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    let is_plain = |line: &&str| !SECRETS.iter().any(|secret| line.contains(secret));
    lines.filter(is_plain).map(str::to_owned).collect()
}

/// Records `paths` three times with the server that `start` starts with `auto_prepend_file`, builds a list, and asks for them again
/// with it in use.
fn list_in_use<Server>(
    root: &Path,
    paths: &[&str],
    start: impl Fn(&[(&str, &str)], &[(&str, &str)]) -> (Server, String),
) -> String {
    std::fs::write(root.join("status.php"), STATUS).expect("a file");
    let place = testkit::document_root();
    let at = |name: &str| place.path().join(name).display().to_string();
    done(place.path(), &["record", "recording", "--every", "0"]);
    let (server, address) = start(&[("auto_prepend_file", &at("recording/recorder.php"))], &[]);
    pages(&address, paths);
    pages(&address, paths);
    let before = pages(&address, paths);
    drop(server);
    let output = done(place.path(), &["build", "recording"]);
    assert!(
        output.contains("recorded paths are answered the same"),
        "{output}"
    );
    let list = at("preload.php");
    let (server, address) = start(&[], &[&[("opcache.preload", &*list)], &ROOT[..]].concat());
    for (line, then) in pages(&address, paths).iter().zip(&before) {
        assert_eq!(line, then);
    }
    let status = ok(&Client::connect(&address).get("/status.php"));
    let (classes, scripts) = status.split_once(' ').expect("two numbers");
    assert_ne!(
        (classes, scripts),
        ("0", "0"),
        "nothing is preloaded: {output}"
    );
    drop(server);
    output
}

/// Each server has a port of its own.
const CONSTANTS: &str = "define('DISABLE_WP_CRON', true); define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']); define('WP_SITEURL', WP_HOME);";

#[test]
fn wordpress_under_apache() {
    let site = wordpress_files();
    configure(site.path(), "wp_preload", CONSTANTS);
    let apache = Apache::start(site.path(), &[], "");
    installed(&apache.address(), "");
    drop(apache);
    list_in_use(
        site.path(),
        &["/", "/?s=hello", "/wp-login.php"],
        |ini, process| {
            let server = Apache::start_with(site.path(), ini, process, "");
            let address = server.address();
            (server, address)
        },
    );
}

#[test]
fn phpmyadmin_under_php_fpm() {
    let site = unpacked(&[("/usr/share/phpmyadmin", "")], &[]);
    list_in_use(site.path(), &["/index.php"], |ini, process| {
        let server = Fpm::start_with(site.path(), ini, process, "");
        let address = server.address();
        (server, address)
    });
}
