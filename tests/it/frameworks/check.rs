//! `hearth check` on the same apps: the mode that it recommends, and why.

use std::path::Path;

use super::{app, symfony};

/// What `hearth check` says of an app, and whether it was content.
fn check(app: &Path) -> (bool, String) {
    let directory = testkit::temporary();
    let output = std::process::Command::new(testkit::hearth())
        .arg("check")
        .arg(app)
        .env("TMPDIR", directory.path())
        .current_dir(directory.path())
        .output()
        .expect("hearth runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn check_recommends_a_mode_and_says_why() {
    let project = symfony::project();
    let [kernel, runtime] = symfony::ENTRIES.map(|entry| project.path().join(entry));
    for (path, reason) in [
        (
            app("laravel/app.php"),
            "a script that returns a Laravel application",
        ),
        (kernel, "a script that returns a Symfony kernel"),
        (runtime, "a script that returns a Symfony kernel"),
        (
            app("slim/app.php"),
            "a script that returns a Slim application",
        ),
        (
            app("frankenphp/worker.php"),
            "the loop takes its requests one after the other",
        ),
        (app("laravel"), "artisan and bootstrap/app.php are there"),
        (
            app("frankenphp"),
            "worker.php has a loop on frankenphp_handle_request()",
        ),
    ] {
        let (content, text) = check(&path);
        assert!(
            content
                && text.starts_with("ok: ")
                && text.contains("recommended: resident, one request at a time\n    hearth serve ")
                && text.contains(reason),
            "{}: {text}",
            path.display()
        );
    }
    let (content, text) = check(&app("classic/index.php"));
    assert!(
        !content
            && text.contains("does not return a handler")
            && text.contains("recommended: classic")
            && text.contains("index.php --mode classic"),
        "{text}"
    );
}

/// Only the kind of a failure decides about the advice, whatever its text says.
#[test]
fn a_script_that_fails_is_not_taken_for_one_without_a_handler() {
    let directory = testkit::temporary();
    let script = directory.path().join("app.php");
    let code = "<?php throw new Exception('the plugin does not return a handler');";
    std::fs::write(&script, code).expect("a file can be written");
    let (content, text) = check(&script);
    assert!(
        !content && text.contains("the plugin does not") && !text.contains("recommended"),
        "{text}"
    );
}
