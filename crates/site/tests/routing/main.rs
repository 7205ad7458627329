//! Every rule of routing, on a real directory.

mod access;
mod anything;
#[path = "../fixture/mod.rs"]
mod fixture;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use config::SiteSettings;
use site::{Refusal, Route, Site};

use crate::fixture::{Fixture, SOURCE};

impl Fixture {
    fn site(&self) -> Site {
        Site::new(&self.root(), "index.php").expect("a site")
    }
}

/// A route in short; names are relative to the root.
fn show(site: &Site, route: &Route) -> String {
    let relative = |path: &Path| {
        let relative = path.strip_prefix(site.root()).expect("below the root");
        relative.to_string_lossy().into_owned()
    };
    match route {
        Route::File(file) => format!("file {}", relative(file.path())),
        Route::Script {
            filename,
            script_name,
            path_info,
            ..
        } => {
            let name = format!("/{}", relative(filename));
            assert_eq!(name.as_bytes(), script_name.as_slice());
            format!("script {name} [{}]", String::from_utf8_lossy(path_info))
        }
        Route::Redirect { location, .. } => format!("redirect {location}"),
        Route::Gone => "gone".to_owned(),
        Route::Forbidden(_) => "forbidden".to_owned(),
        Route::NotFound => "not found".to_owned(),
        Route::Malformed => "malformed".to_owned(),
        Route::Failed(error) => format!("failed: {error}"),
    }
}

fn check(cases: &[(&str, &str)]) {
    let fixture = Fixture::new();
    let site = fixture.site();
    for (target, expected) in cases {
        assert_eq!(&show(&site, &site.route(target)), expected, "{target}");
    }
}

const FRONT: &str = "script /index.php []";

#[test]
fn files_and_scripts_that_are_there() {
    check(&[
        ("/page.html", "file page.html"),
        ("/page.html?a=/../b", "file page.html"),
        ("//page.html", "file page.html"),
        ("/./admin/../page.html", "file page.html"),
        ("/%70age.html", "file page.html"),
        (
            "/name%20with%20space%20%C3%A9.txt",
            "file name with space é.txt",
        ),
        ("/name%20with%20space%20é.txt", "file name with space é.txt"),
        ("/a%252fb.txt", "file a%2fb.txt"),
        ("/info.php", "script /info.php []"),
        ("/info.php?x=1", "script /info.php []"),
        ("/admin/edit.php", "script /admin/edit.php []"),
        ("/admin%2fedit.php", "script /admin/edit.php []"),
        ("/uploads/x.jpg", "file uploads/x.jpg"),
        ("/picture.php.jpg", "file picture.php.jpg"),
    ]);
}

#[test]
fn files_that_begin_as_php_code_are_not_sent() {
    let fixture = Fixture::new();
    let site = fixture.site();
    for (name, content, is_sent) in [
        ("config", "<?php return ['password' => 'x'];", false),
        ("config.txt", "\u{feff}\n <?PHP return [];", false),
        ("config.copied", "<?= 1 ?>", false),
        ("console", "#!/usr/bin/env php\n<?php run();", false),
        ("notes.txt", "to begin PHP code, write <?php", true),
        ("feed", "<?xml version=\"1.0\"?>", true),
        ("empty", "", true),
        ("script", "#!/bin/sh", true),
        ("page.html", "<?php shown as it is", true),
    ] {
        fs::write(site.root().join(name), content).unwrap();
        let expected = match is_sent {
            true => format!("file {name}"),
            false => show(&site, &Route::Forbidden(Refusal::Source)),
        };
        assert_eq!(
            show(&site, &site.route(format!("/{name}"))),
            expected,
            "{name}"
        );
    }
}

/// Most files are found without a look at the scripts; what is not, `route` finds.
#[test]
fn files_alone() {
    let fixture = Fixture::new();
    let mut site = fixture.site();
    site.deny("/uploads");
    for (target, found) in [
        ("/page.html?x", true),
        ("/name%20with%20space%20%C3%A9.txt", true),
        ("/html/", true),
        ("/inside.txt", true),
        ("/dir.php/text.txt", false),
        ("/info.php", false),
        ("/info.php/page.html", false),
        ("/", false),
        ("/both/", false),
        ("/admin", false),
        ("/missing", false),
        ("/uploads/x.jpg", false),
        ("/.env", false),
        ("/source.txt", false),
        ("/old.php~", false),
        ("/out.txt", false),
        ("/..", false),
    ] {
        assert_eq!(site.file(target).is_some(), found, "{target}");
    }
}

#[test]
fn path_info() {
    check(&[
        ("/info.php/", "script /info.php [/]"),
        ("/info.php/x/y", "script /info.php [/x/y]"),
        ("/info.php/x/y/", "script /info.php [/x/y/]"),
        ("/info.php//x", "script /info.php [/x]"),
        ("/info.php/%41%20b", "script /info.php [/A b]"),
        ("/info.php/x.php", "script /info.php [/x.php]"),
        ("/info.php/.hidden", "script /info.php [/.hidden]"),
        ("/info.php/page.html", "script /info.php [/page.html]"),
        ("/admin/edit.php/x", "script /admin/edit.php [/x]"),
        ("/dir.php/page.php/x", "script /dir.php/page.php [/x]"),
        ("/dir.php/text.txt", "file dir.php/text.txt"),
        ("/index.php/../page.html", "file page.html"),
    ]);
}

#[test]
fn directories() {
    check(&[
        ("/", FRONT),
        ("", FRONT),
        ("/?a=b", FRONT),
        ("/admin/", "script /admin/index.php []"),
        ("/admin/.", "script /admin/index.php []"),
        ("/both/", "script /both/index.php []"),
        ("/html/", "file html/index.html"),
        ("/uploads/", "forbidden"),
        ("/dir.php/", "forbidden"),
        ("/admin", "redirect /admin/"),
        ("/uploads", "redirect /uploads/"),
        ("/dir.php", "redirect /dir.php/"),
        ("/admin?a=b&c=%20d", "redirect /admin/?a=b&c=%20d"),
        ("/admin?", "redirect /admin/?"),
        ("//admin", "redirect /admin/"),
        ("/%61dmin", "redirect /admin/"),
        ("/x/..//admin", "redirect /admin/"),
        ("/alias", "redirect /alias/"),
        ("/alias/", "script /alias/index.php []"),
    ]);
}

#[test]
fn what_is_not_there_is_the_front_controllers() {
    check(&[
        ("/2026/11/pretty", FRONT),
        ("/pretty/", FRONT),
        ("/missing.php", FRONT),
        ("/missing.php/x", FRONT),
        ("/missing.css", FRONT),
        ("/page.html/", FRONT),
        ("/page.html/x", FRONT),
        ("/uploads/x.jpg/y.php", FRONT),
        ("/uploads/x.jpg/y.php/z", FRONT),
        ("/uploads/x.jpg%2fy.php", FRONT),
        ("/info.PHP", FRONT),
        ("/dangling", FRONT),
        ("/%252e%252e/%252e%252e/etc/passwd", FRONT),
        ("/%25/passwd", FRONT),
        ("/..;/x", "forbidden"),
        ("/info.php%20", FRONT),
    ]);
}

#[test]
fn never_sent() {
    check(&[
        ("/UPPER.PHP", "forbidden"),
        ("/UPPER.PHP/x", FRONT),
        ("/old.php~", "forbidden"),
        ("/old.php.bak", "forbidden"),
        ("/settings.inc", "forbidden"),
        ("/template.phtml", "forbidden"),
        ("/archive.phar", "forbidden"),
        ("/hearth.toml", "forbidden"),
        ("/.env", "forbidden"),
        ("/%2eenv", "forbidden"),
        ("/.user.ini", "forbidden"),
        ("/.htaccess", "forbidden"),
        ("/.git/config", "forbidden"),
        ("/.git/x.php", "forbidden"),
        ("/.git/x.php/y", "forbidden"),
        ("/.git", "forbidden"),
        ("/.git/", "forbidden"),
        ("/.nothing", "forbidden"),
        ("/.well-known/.hidden", "forbidden"),
        (
            "/.well-known/acme-challenge/token",
            "file .well-known/acme-challenge/token",
        ),
        ("/.well-known/missing", FRONT),
    ]);
}

#[test]
fn malformed() {
    check(&[
        ("/..", "malformed"),
        ("/../outside/secret.txt", "malformed"),
        ("/%2e%2e/outside/secret.txt", "malformed"),
        ("/..%2foutside/secret.txt", "malformed"),
        ("/index.php/../../etc/passwd", "malformed"),
        ("/page.html%00.php", "malformed"),
        ("/%00", "malformed"),
        ("/%", "malformed"),
        ("/%f", "malformed"),
        ("/%gg", "malformed"),
        ("*", "malformed"),
        ("page.html", "malformed"),
    ]);
}

#[test]
fn another_front_controller() {
    let fixture = Fixture::new();
    fs::write(fixture.root().join("app"), SOURCE).expect("a file");
    symlink("app", fixture.root().join("app.txt")).expect("a link");
    let site = Site::new(&fixture.root(), "app").expect("a site");
    for (target, expected) in [
        ("/", "script /app []"),
        ("/pretty", "script /app []"),
        ("/app", "script /app []"),
        ("/app/x", "script /app [/x]"),
        ("/app.txt", "forbidden"),
        ("/index.php", "script /index.php []"),
        ("/admin/", "script /admin/index.php []"),
    ] {
        assert_eq!(show(&site, &site.route(target)), expected, "{target}");
    }
}

#[test]
fn a_site_without_a_front_controller() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.root().join("index.php")).expect("removed");
    let site = fixture.site();
    for (target, expected) in [
        ("/", "forbidden"),
        ("/missing", "not found"),
        ("/page.html", "file page.html"),
    ] {
        assert_eq!(show(&site, &site.route(target)), expected, "{target}");
    }
    fs::create_dir(fixture.root().join("index.php")).expect("a directory");
    assert_eq!(show(&site, &site.route("/missing")), "not found");
    fs::write(fixture.root().join("index.html"), "index").expect("a file");
    assert_eq!(show(&site, &site.route("/")), "file index.html");
}

#[test]
fn long_paths_and_odd_bytes() {
    let fixture = Fixture::new();
    let site = fixture.site();
    for target in [
        format!("/{}", "a".repeat(300)),
        format!("/{}", "a/".repeat(8000)),
        format!("/{}", "a.php/".repeat(8000)),
        format!("/{}page.htm", "./".repeat(8000)),
    ] {
        assert_eq!(show(&site, &site.route(&target)), FRONT);
    }
    let target = format!("/{}page.html", "x/../".repeat(8000));
    assert_eq!(show(&site, &site.route(&target)), "file page.html");
    let name = std::ffi::OsStr::from_bytes(b"latin\xe9.txt");
    fs::write(fixture.root().join(name), "latin").expect("a file");
    let Route::File(file) = site.route("/latin%E9.txt") else {
        panic!("no file");
    };
    assert_eq!(file.path().file_name(), Some(name));
    fs::create_dir(fixture.root().join("Größe")).expect("a directory");
    assert_eq!(
        show(&site, &site.route("/Gr%C3%B6%C3%9Fe?ö")),
        "redirect /Gr%C3%B6%C3%9Fe/?%C3%B6"
    );
}

#[test]
fn the_site_of_an_app() {
    let fixture = Fixture::new();
    let beside = fixture.directory.path();
    let settings = SiteSettings {
        follow: vec![beside.join("nowhere"), beside.join("outside/shared")],
        ..SiteSettings::default()
    };
    let site = Site::of_app(&fixture.root(), &settings).expect("a site");
    assert_eq!(show(&site, &site.route("/")), FRONT);
    assert_eq!(
        show(&site, &site.route("/shared/logo.svg")),
        "file shared/logo.svg"
    );
    let site =
        Site::of_app(&fixture.root().join("info.php"), &SiteSettings::default()).expect("a site");
    assert_eq!(show(&site, &site.route("/")), "script /info.php []");
    assert_eq!(show(&site, &site.route("/missing")), "script /info.php []");
    assert_eq!(show(&site, &site.route("/shared/logo.svg")), "forbidden");
    assert!(Site::of_app(&beside.join("nowhere/x.php"), &SiteSettings::default()).is_err());
}
