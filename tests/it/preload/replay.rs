//! What only the recorded requests show: two files for one name, an answer that preloading changes.

use super::traps::list;
use super::{done, project};
use crate::support::ok;

/// Recorded under Hearth, and built.
fn built(root: &std::path::Path, paths: &[&str]) -> String {
    done(root, &["record", "recording", "--every", "0"]);
    let recorder = root.join("recording/recorder.php");
    let server = testkit::Server::app(root.join("public"))
        .args(["--mode", "classic", "--workers", "1"])
        .arg("--ini")
        .arg(format!("auto_prepend_file={}", recorder.display()))
        .start();
    for path in paths {
        ok(&server.get(path));
    }
    server.stop();
    done(root, &["build", "recording", "--coverage", "1"])
}

/// One of them preloaded, PHP would refuse to load the other.
#[test]
fn of_two_files_that_requests_load_for_one_name_none_is_preloaded() {
    let root = project(&[
        (
            "public/old.php",
            "<?php require '../old/Api.php'; require '../old/helpers.php'; echo (new Api)->v(), help();",
        ),
        (
            "public/new.php",
            "<?php require '../new/Api.php'; require '../new/helpers.php'; echo (new Api)->v(), help();",
        ),
        (
            "old/Api.php",
            "<?php class Api { function v() { return 'old'; } }",
        ),
        (
            "new/Api.php",
            "<?php class Api { function v() { return 'new'; } }",
        ),
        ("old/helpers.php", "<?php function help() { return 1; }"),
        (
            "new/helpers.php",
            "<?php if (PHP_VERSION_ID > 1) { function help() { return 2; } }",
        ),
    ]);
    let output = built(root.path(), &["/old.php", "/new.php"]);
    assert!(output.contains("Traffic: 0 files preloaded"), "{output}");
    assert!(output.contains("declared by another file too"), "{output}");
    assert!(
        output.contains("2 recorded paths are answered the same"),
        "{output}"
    );
}

/// No look at the files finds it: only the answers of the app do.
#[test]
fn what_changes_an_answer_is_found_and_left_out() {
    let load = "<?php spl_autoload_register(function ($class) { $GLOBALS['loaded'][] = $class; require __DIR__ . \"/../src/$class.php\"; });";
    let mut files = vec![
        (
            "public/index.php".to_owned(),
            format!(
                "{load} (new C3)->x(); foreach (range(0, 9) as $n) {{ ('C' . $n)::X; }} echo in_array('C3', $loaded ?? []) ? 'plugin loaded' : 'plugin missing';"
            ),
        ),
        (
            "public/other.php".to_owned(),
            format!("{load} echo C5::X, rand();"),
        ),
    ];
    for n in 0..10 {
        files.push((
            format!("src/C{n}.php"),
            format!("<?php class C{n} {{ const X = {n}; function x() {{}} }}"),
        ));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let root = project(&files);
    let output = built(root.path(), &["/", "/other.php"]);
    assert!(output.contains("Traffic: 9 files preloaded"), "{output}");
    assert!(
        output.contains("2 recorded paths are answered the same with and without it (1 differ"),
        "{output}"
    );
    assert_eq!(
        list(root.path())["left"][root
            .path()
            .canonicalize()
            .expect("a path")
            .join("src/C3.php")
            .display()
            .to_string()],
        "changes the response of a request: GET /: another body, 14 bytes instead of 13"
    );
}
