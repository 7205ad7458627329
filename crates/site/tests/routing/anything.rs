//! Any target leads to nothing that is outside of the root, and to no source.

use std::fs;

use proptest::prelude::*;
use site::Route;

use crate::fixture::{Fixture, SECRET, SOURCE};
use crate::show;

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
