//! Sites in sub-directories: which `index.php` answers for what is not there.

use std::fs;

use site::{Route, Site};

fn show(route: Route) -> String {
    match route {
        Route::Script { script_name, .. } => String::from_utf8(script_name).unwrap(),
        other => format!("{other:?}"),
    }
}

/// A site with these scripts, and what it shows for a target.
fn check(scripts: &[(&str, &str)], cases: &[(&str, &str)]) {
    let root = tempfile::tempdir().unwrap();
    for (name, code) in scripts {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, code).unwrap();
    }
    let mut site = Site::new(root.path(), "index.php").unwrap();
    site.deny("/blog/index.php/denied");
    site.deny("/closed/index.php");
    for (target, script) in cases {
        assert_eq!(&show(site.route(target)), script, "{target}");
    }
}

const PAGE: &str = "<?php require 'page.php';";
const GUARD: &str = "<?php\n// Silence is golden.\n";

#[test]
fn the_nearest_index_upwards_answers() {
    check(
        &[
            ("index.php", PAGE),
            ("blog/index.php", PAGE),
            ("blog/photos/cat.jpg", "a cat"),
            ("blog/tools/admin/index.php", PAGE),
            ("closed/index.php", PAGE),
            ("shop/style.css", "css"),
        ],
        &[
            ("/2026/11/hello", "/index.php"),
            ("/blog/2026/11/hello?x=1", "/blog/index.php"),
            ("/blog/2026/11/hello/", "/blog/index.php"),
            ("/blog/missing.php", "/blog/index.php"),
            ("/blog/missing.php/x", "/blog/index.php"),
            ("/blog/photos/dog.jpg", "/blog/index.php"),
            ("/blog/photos/cat.jpg/x", "/blog/index.php"),
            ("/blog/tools/x", "/blog/index.php"),
            ("/blog/tools/admin/x", "/blog/tools/admin/index.php"),
            ("/blogs/x", "/index.php"),
            ("/shop/x", "/index.php"),
            ("/closed/x", "Forbidden(Denied)"),
        ],
    );
}

#[test]
fn without_one_in_the_root() {
    check(
        &[("blog/index.php", PAGE), ("shop/style.css", "css")],
        &[
            ("/blog/x", "/blog/index.php"),
            ("/shop/x", "NotFound"),
            ("/x", "NotFound"),
        ],
    );
}

#[test]
fn guards_and_the_inside_of_wordpress_do_not() {
    check(
        &[
            ("index.php", PAGE),
            ("img/index.php", "<?php\nheader('Location: ../');\nexit;\n"),
            (
                "img/p/index.php",
                "<?php\nheader('Location: ../');\nexit;\n",
            ),
            ("blog/index.php", PAGE),
            ("blog/wp-load.php", PAGE),
            ("blog/wp-admin/index.php", PAGE),
            ("blog/wp-content/index.php", GUARD),
            ("blog/wp-content/plugins/shop/index.php", PAGE),
            ("wp-admin/index.php", PAGE),
        ],
        &[
            ("/img/p/1.jpg", "/index.php"),
            ("/img/", "/img/index.php"),
            ("/blog/wp-content/uploads/x.jpg", "/blog/index.php"),
            ("/blog/wp-content/plugins/shop/x.css", "/blog/index.php"),
            ("/blog/wp-admin/x", "/blog/index.php"),
            ("/blog/wp-admin/", "/blog/wp-admin/index.php"),
            // No WordPress there.
            ("/wp-admin/x", "/wp-admin/index.php"),
        ],
    );
}
