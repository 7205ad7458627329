//! Links, what is denied, and what cannot be read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use config::SiteSettings;
use site::{Route, Site};

use crate::fixture::Fixture;
use crate::{FRONT, check, show};

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
