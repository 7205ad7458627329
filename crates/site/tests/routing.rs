//! Every rule of routing, on a real directory.

mod fixture;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use config::SiteSettings;
use proptest::prelude::*;
use site::{Refusal, Route, Site};

use crate::fixture::{Fixture, SECRET, SOURCE};

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
fn links() {
    check(&[
        ("/inside.txt", "file inside.txt"),
        ("/absolute.html", "file absolute.html"),
        ("/alias.php", "script /alias.php []"),
        ("/alias/edit.php/x", "script /alias/edit.php [/x]"),
        ("/source.txt", "forbidden"),
        ("/hidden.txt", "forbidden"),
        ("/run.php", "forbidden"),
        ("/out.txt", "forbidden"),
        ("/out.php", "forbidden"),
        ("/out.php/x", "forbidden"),
        ("/out/secret.txt", "forbidden"),
        ("/out/", "forbidden"),
        ("/out", "forbidden"),
        ("/out/missing", FRONT),
        ("/shared/logo.svg", "forbidden"),
        ("/passwd.txt", "forbidden"),
        ("/process/environ", "forbidden"),
        ("/process/root/etc/passwd", "forbidden"),
        ("/circle", "forbidden"),
    ]);
}

#[test]
fn links_out_that_are_allowed() {
    let fixture = Fixture::new();
    let mut site = fixture.site();
    let shared = fixture.directory.path().join("outside/shared");
    site.follow(&shared).expect("a directory");
    fs::create_dir(shared.join(".private")).expect("a directory");
    fs::write(shared.join(".private/public.txt"), "public").expect("a file");
    for (name, target) in [
        ("env.txt", ".env"),
        ("lib.txt", "lib.php"),
        ("private", ".private"),
    ] {
        symlink(shared.join(target), fixture.root().join(name)).expect("a link");
    }
    for (target, expected) in [
        ("/shared/logo.svg", "file shared/logo.svg"),
        ("/shared/lib.php", "script /shared/lib.php []"),
        ("/shared", "redirect /shared/"),
        ("/shared/.env", "forbidden"),
        ("/env.txt", "forbidden"),
        ("/lib.txt", "forbidden"),
        ("/private/public.txt", "file private/public.txt"),
        ("/out.txt", "forbidden"),
        ("/out/secret.txt", "forbidden"),
        ("/out/shared/logo.svg", "file out/shared/logo.svg"),
    ] {
        assert_eq!(show(&site, &site.route(target)), expected, "{target}");
    }
    assert!(
        site.follow(&fixture.directory.path().join("nowhere"))
            .is_err()
    );
}

#[test]
fn what_is_denied() {
    let fixture = Fixture::new();
    symlink("uploads/x.jpg", fixture.root().join("x.jpg")).expect("a link");
    let deny = ["/uploads", "/admin/", "/info.php", "/dir.php/text.txt"].map(str::to_owned);
    let settings = SiteSettings {
        deny: deny.to_vec(),
        ..SiteSettings::default()
    };
    let site = Site::of_app(&fixture.root(), &settings).expect("a site");
    for (target, expected) in [
        ("/uploads/x.jpg", "forbidden"),
        ("/uploads/missing", "forbidden"),
        ("/uploads", "forbidden"),
        ("/uploads/", "forbidden"),
        ("/%75ploads/./x.jpg", "forbidden"),
        ("/uploadsx", FRONT),
        ("/x.jpg", "forbidden"),
        ("/admin", "forbidden"),
        ("/admin/edit.php", "forbidden"),
        ("/alias.php", "forbidden"),
        ("/info.php", "forbidden"),
        ("/info.php/x", "forbidden"),
        ("/dir.php/text.txt", "forbidden"),
        ("/dir.php/page.php", "script /dir.php/page.php []"),
        ("/page.html", "file page.html"),
    ] {
        assert_eq!(show(&site, &site.route(target)), expected, "{target}");
    }
}

#[test]
fn the_root_is_resolved_once() {
    let fixture = Fixture::new();
    let current = fixture.directory.path().join("current");
    symlink("www", &current).expect("a link");
    let site = Site::new(&current, "index.php").expect("a site");
    assert_eq!(site.root(), fixture.root().canonicalize().expect("a path"));
    fs::remove_file(&current).expect("removed");
    symlink("outside", &current).expect("a link");
    assert_eq!(show(&site, &site.route("/page.html")), "file page.html");
    assert_eq!(
        show(&site, &site.route("/alias.php")),
        "script /alias.php []"
    );
    assert_eq!(show(&site, &site.route("/")), FRONT);
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
fn a_front_controller_that_is_a_link() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.root().join("index.php")).expect("removed");
    symlink("admin/index.php", fixture.root().join("index.php")).expect("a link");
    let site = fixture.site();
    assert_eq!(show(&site, &site.route("/missing")), FRONT);
    fs::remove_file(fixture.root().join("index.php")).expect("removed");
    symlink("../outside/code.php", fixture.root().join("index.php")).expect("a link");
    assert_eq!(show(&site, &site.route("/missing")), "forbidden");
    assert_eq!(show(&site, &site.route("/")), "forbidden");
}

#[test]
fn what_cannot_be_read_is_forbidden() {
    let fixture = Fixture::new();
    let root = fixture.root();
    for (name, mode) in [
        ("page.html", 0),
        ("info.php", 0),
        ("admin", 0o711),
        ("html", 0),
    ] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode))
            .expect("permissions");
    }
    let site = fixture.site();
    // Root may read everything: look as another user, on a thread of its own.
    let shown = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            let other = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(other, other, other).expect("another user");
        }
        [
            "/page.html",
            "/info.php",
            "/info.php/x",
            "/admin",
            "/admin/",
            "/admin/edit.php",
            "/html/",
        ]
        .map(|target| show(&site, &site.route(target)))
    })
    .join()
    .expect("routes");
    assert_eq!(
        shown,
        [
            "forbidden",
            "forbidden",
            "forbidden",
            "redirect /admin/",
            "script /admin/index.php []",
            "script /admin/edit.php []",
            "forbidden"
        ]
    );
    fs::set_permissions(root.join("html"), fs::Permissions::from_mode(0o755)).expect("permissions");
}

#[test]
fn neither_file_nor_directory() {
    let fixture = Fixture::new();
    let _socket =
        std::os::unix::net::UnixListener::bind(fixture.root().join("socket")).expect("a socket");
    let fifo = fixture.root().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .expect("a FIFO");
    let site = fixture.site();
    for target in ["/socket", "/fifo"] {
        assert_eq!(show(&site, &site.route(target)), "forbidden", "{target}");
    }
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

#[test]
fn a_root_that_is_none() {
    let fixture = Fixture::new();
    for name in ["nowhere", "www/page.html"] {
        assert!(Site::new(&fixture.directory.path().join(name), "index.php").is_err());
    }
}

/// The whole file system may be a site; PHP code in it is still not sent.
#[test]
fn the_root_of_all() {
    let site = Site::new(Path::new("/"), "index.php").expect("a site");
    let Route::File(file) = site.route("/etc/hostname") else {
        panic!("no file");
    };
    assert_eq!(file.path(), Path::new("/etc/hostname"));
}

fn piece() -> impl Strategy<Value = String> {
    let words = [
        "/",
        "/",
        "/",
        "//",
        "..",
        ".",
        "%2e",
        "%2E%2e",
        "%2f",
        "%252e",
        "%252f",
        "%00",
        "%5c",
        "\\",
        "index.php",
        "info.php",
        "page.html",
        "admin",
        "alias",
        "uploads",
        "x.jpg",
        "y.php",
        ".php",
        "out",
        "out.txt",
        "out.php",
        "shared",
        "secret.txt",
        "code.php",
        ".env",
        ".git",
        "config",
        "www",
        "outside",
        "source.txt",
        "hidden.txt",
        "run.php",
        "UPPER.PHP",
        "old.php~",
        "dir.php",
        "process",
        "root",
        "etc",
        "passwd",
        "environ",
        "settings.inc",
        "~",
        "%20",
        "?",
        ";",
        "é",
        "a",
    ];
    prop_oneof![
        9 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{1,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]
    #[test]
    fn nothing_leaves_the_root_and_no_source_is_sent(pieces in proptest::collection::vec(piece(), 0..12)) {
        thread_local!(static FIXTURE: Fixture = Fixture::new());
        let target = format!("/{}", pieces.concat());
        FIXTURE.with(|fixture| {
            let site = fixture.site();
            let route = site.route(&target);
            if let Some(file) = site.file(&target) {
                assert_eq!(format!("file {}", file.path().strip_prefix(site.root()).expect("below").display()), show(&site, &route));
            }
            match route {
                Route::File(file) => {
                    let real = file.path().canonicalize().expect("it is there");
                    assert!(real.starts_with(site.root()), "{target}: {}", real.display());
                    let text = fs::read_to_string(&real).expect("text");
                    assert!(text != SECRET, "{target}: {}", real.display());
                    assert!(text != SOURCE || real.ends_with("uploads/x.jpg"), "{target}: {}", real.display());
                }
                Route::Script { filename, .. } => {
                    let real = filename.canonicalize().expect("it is there");
                    assert!(real.starts_with(site.root()), "{target}: {}", real.display());
                    assert_eq!(real.extension(), Some("php".as_ref()), "{target}");
                    assert_eq!(fs::read_to_string(&real).expect("text"), SOURCE, "{target}");
                }
                Route::Redirect { location, .. } => {
                    assert!(location.starts_with('/') && !location.starts_with("//"), "{target}: {location}");
                    assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{target}: {location}");
                    let again = site.route(&location);
                    assert!(!matches!(again, Route::Redirect { .. }), "{target}: {location} goes on");
                }
                Route::Failed(error) => panic!("{target}: {error}"),
                Route::Forbidden(_) | Route::NotFound | Route::Gone | Route::Malformed => {}
            }
        });
    }
}
