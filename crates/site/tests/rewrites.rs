//! Rules of a site: what a path is looked up as, and what is denied.

use std::fs;

use config::SiteSettings;
use site::{Route, Site};

const FILES: [&str; 12] = [
    "index.php",
    "app.php",
    "shop/index.php",
    "shop/style.css",
    "shop/pictures/cat.jpg",
    "wp-admin/index.php",
    "wp-admin/edit.php",
    "wp-login.php",
    "data/dump.sql",
    "data/dump.sqlite",
    ".env",
    "wiki/page.html",
];

/// The site of these files, by what each target shows.
fn check(deny: &[&str], rewrite: &[(&str, &str)], cases: &[(&str, &str)]) {
    let root = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "<?php require 'page.php';").unwrap();
    }
    let rewrite = rewrite
        .iter()
        .map(|(place, words)| ((*place).into(), (*words).into()));
    let settings = SiteSettings {
        deny: deny.iter().map(|path| (*path).into()).collect(),
        rewrite: rewrite.collect(),
        ..SiteSettings::default()
    };
    let site = Site::of_app(root.path(), &settings).unwrap();
    for (target, shown) in cases {
        let route = site.route(target);
        assert_eq!(
            site.file(target).is_some(),
            matches!(route, Route::File(_)),
            "{target}"
        );
        assert_eq!(&show(route), shown, "{target}");
    }
}

fn show(route: Route) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match route {
        Route::Script {
            script_name,
            path_info,
            query,
            ..
        } => {
            let query = query.map_or(String::new(), |query| format!("?{}", text(query)));
            format!("{}{}{query}", text(script_name), text(path_info))
        }
        Route::File(file) => format!("file {}", file.path().file_name().unwrap().display()),
        Route::Redirect { status, location } => format!("{status} {location}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn the_first_word_that_is_there_answers() {
    check(
        &[],
        &[
            ("/shop", "$uri $uri/ /shop/index.php?path=$uri&$args"),
            ("/", "/app.php"),
        ],
        &[
            ("/shop/style.css", "file style.css"),
            ("/shop/index.php/x?a=1", "/shop/index.php/x"),
            ("/shop/pictures/", "Forbidden(Listing)"),
            ("/shop/pictures", "301 /shop/pictures/"),
            (
                "/shop/a%20b%26c?x=1",
                "/shop/index.php?path=/shop/a%20b%26c&x=1",
            ),
            (
                "/shop/missing.php",
                "/shop/index.php?path=/shop/missing.php&",
            ),
            ("/shopping", "/app.php?"),
            ("/wp-login.php?a=1", "/app.php?"),
        ],
    );
}

#[test]
fn groups_of_expressions_are_words() {
    check(
        &[],
        &[
            ("/wiki", "=404"),
            ("~ ^/wiki/(.*)$", "/index.php?title=$1"),
            ("~* ^/Old/([a-z]+)$", "=301 /new/$1$is_args$args"),
            ("~ ^/gone", "=410"),
            ("~ ^/closed", "=403"),
        ],
        &[
            ("/wiki/Main%20Page", "/index.php?title=Main%20Page"),
            ("/wiki/page.html", "/index.php?title=page.html"),
            ("/wiki/a%26b=c", "/index.php?title=a%26b%3Dc"),
            ("/wiki", "NotFound"),
            ("/oLD/Thing?x=1", "301 /new/Thing?x=1"),
            ("/gone/x", "Gone"),
            ("/closed", "Forbidden(Rule)"),
            ("/other", "/index.php"),
        ],
    );
}

/// As WordPress's own page for nginx has it, for sites in sub-directories.
#[test]
fn a_network_of_wordpress_sites() {
    check(
        &[],
        &[
            ("~ ^/[^/]+/wp-admin$", "=301 $uri/"),
            ("~ ^/[^/]+(/wp-.*)", "$uri $uri/ $1$is_args$args"),
            ("~ ^/[^/]+(/.*\\.php)$", "$uri $1$is_args$args"),
        ],
        &[
            ("/site2/wp-admin", "301 /site2/wp-admin/"),
            ("/site2/wp-admin/", "/wp-admin/index.php?"),
            (
                "/site2/wp-admin/edit.php?post=1",
                "/wp-admin/edit.php?post=1",
            ),
            ("/site2/wp-login.php", "/wp-login.php?"),
            ("/site2/2026/hello", "/index.php"),
            ("/wp-admin/edit.php", "/wp-admin/edit.php"),
        ],
    );
}

/// A rule opens nothing that is closed.
#[test]
fn what_is_never_sent_is_not_sent_by_a_rule_either() {
    check(
        &["/data", "~* \\.SQLITE$"],
        &[
            ("~ ^/get/(.*)$", "$uri /$1"),
            ("~ ^/up/(.)(.)/(.*)$", "/$1$2/$3"),
        ],
        &[
            ("/data/dump.sql", "Forbidden(Denied)"),
            ("/get/data/dump.sql", "Forbidden(Denied)"),
            ("/get/.env", "Forbidden(Hidden)"),
            ("/x/dump.sqlite", "Forbidden(Denied)"),
            ("/get/wiki/page.html", "file page.html"),
            ("/up/../page.html", "/index.php"),
            ("/up/%2e./x", "/index.php"),
            ("/up/a./x", "/index.php?"),
        ],
    );
}
