//! What a path names in the public folder of a resident app, on a real directory.

mod fixture;

use std::path::Path;

use site::{PublicFolder, PublicPath};

use crate::fixture::Fixture;

fn show(folder: &PublicFolder, target: &str) -> String {
    let relative = |path: &Path| {
        let relative = path.strip_prefix(folder.root()).expect("below the root");
        relative.to_string_lossy().into_owned()
    };
    match folder.named(target) {
        PublicPath::File(file) => format!("file {}", relative(file.path())),
        PublicPath::Redirect(location) => format!("redirect {location}"),
        PublicPath::Forbidden => "forbidden".to_owned(),
        PublicPath::Nothing => "the app's".to_owned(),
        PublicPath::Failed(error) => format!("failed: {error}"),
    }
}

fn check(folder: &PublicFolder, cases: &[(&str, &str)]) {
    for (target, expected) in cases {
        assert_eq!(&show(folder, target), expected, "{target}");
    }
}

const APP: &str = "the app's";

#[test]
fn files() {
    let fixture = Fixture::new();
    let folder = PublicFolder::new(&fixture.root()).expect("a folder");
    check(
        &folder,
        &[
            ("/page.html", "file page.html"),
            ("/page.html?a=/../b", "file page.html"),
            ("//page.html", "file page.html"),
            ("/./admin/../page.html", "file page.html"),
            (
                "/name%20with%20space%20%C3%A9.txt",
                "file name with space é.txt",
            ),
            ("/a%252fb.txt", "file a%2fb.txt"),
            ("/picture.php.jpg", "file picture.php.jpg"),
            ("/dir.php/text.txt", "file dir.php/text.txt"),
            (
                "/.well-known/acme-challenge/token",
                "file .well-known/acme-challenge/token",
            ),
            ("/inside.txt", "file inside.txt"),
            ("/absolute.html", "file absolute.html"),
            ("/missing", APP),
            ("/page.html/", APP),
            ("/page.html/x", APP),
            ("/dangling", APP),
            ("/circle", APP),
            ("", APP),
        ],
    );
}

#[test]
fn what_is_never_sent_is_the_apps() {
    let fixture = Fixture::new();
    let folder = PublicFolder::new(&fixture.root()).expect("a folder");
    check(
        &folder,
        &[
            ("/index.php", APP),
            ("/index.php/page.html", APP),
            ("/info.php", APP),
            ("/UPPER.PHP", APP),
            ("/old.php~", APP),
            ("/settings.inc", APP),
            ("/hearth.toml", APP),
            ("/.env", APP),
            ("/%2eenv", APP),
            ("/.git/config", APP),
            ("/.well-known/.hidden", APP),
            ("/source.txt", APP),
            ("/hidden.txt", APP),
            ("/alias.php", APP),
            ("/out.txt", APP),
            ("/out/secret.txt", APP),
            ("/passwd.txt", APP),
            ("/..", APP),
            ("/%2e%2e/outside/secret.txt", APP),
            ("/page.html%00.png", APP),
            ("/%", APP),
        ],
    );
}

#[test]
fn an_index_is_sent_unless_the_app_has_one() {
    let fixture = Fixture::new();
    let folder = PublicFolder::new(&fixture.root()).expect("a folder");
    check(
        &folder,
        &[
            ("/html/", "file html/index.html"),
            ("/html", "redirect /html/"),
            ("/html?a=b", "redirect /html/?a=b"),
            ("/both/", APP),
            ("/both", APP),
            ("/admin/", APP),
            ("/admin", APP),
            ("/uploads", APP),
            ("/uploads/", APP),
            ("/", APP),
        ],
    );
    std::fs::write(fixture.root().join("index.html"), "front").expect("a file");
    assert_eq!(show(&folder, "/"), APP);
    std::fs::remove_file(fixture.root().join("index.php")).expect("the file goes");
    assert_eq!(show(&folder, "/"), "file index.html");
}

#[test]
fn denied_paths_and_links() {
    let fixture = Fixture::new();
    let shared = fixture.directory.path().join("outside/shared");
    let settings = config::SiteSettings {
        root: Some(fixture.root()),
        follow: vec![shared, "/nowhere".into()],
        deny: vec!["/uploads".into(), "/html".into()],
        ..config::SiteSettings::default()
    };
    let folder = PublicFolder::of_app(&settings).expect("it is there");
    check(
        &folder.expect("it is named"),
        &[
            ("/uploads/x.jpg", "forbidden"),
            ("/uploads", "forbidden"),
            ("/html/", "forbidden"),
            ("/html/none", "forbidden"),
            ("/shared/logo.svg", "file shared/logo.svg"),
            ("/shared/.env", APP),
            ("/out.txt", APP),
        ],
    );
}
