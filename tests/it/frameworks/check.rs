//! `hearth check` on the same apps: the mode that it recommends, and why.

use std::path::Path;

use super::{app, symfony};

/// What `hearth check` says of an app, and whether it was content.
pub(super) fn check(app: &Path) -> (bool, String) {
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
fn apps_of_frameworks_leave_nothing_behind() {
    let project = symfony::project();
    let kernel = project.path().join(symfony::ENTRIES[0]);
    for path in [app("laravel/app.php"), app("slim/app.php"), kernel] {
        let output = std::process::Command::new(testkit::hearth())
            .args(["check", "--leaks", "--allow-root"])
            .arg(&path)
            .output()
            .expect("hearth runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with("ok: "), "{}: {output:?}", path.display());
    }
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
        (app("laravel"), "artisan and bootstrap/app.php exist"),
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
                && text.contains("neither requests nor boots")
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

/// A classic site's scripts are read, because running them may change what they work on.
#[test]
fn a_site_is_ok_only_if_its_front_controller_can_be_read() {
    let directory = testkit::temporary();
    let script = directory.path().join("index.php");
    std::fs::write(&script, "<?php file_put_contents(__DIR__ . '/ran', '');").expect("a file");
    let (content, text) = check(directory.path());
    assert!(
        content && text.contains("none of its scripts was run"),
        "{text}"
    );
    assert!(!directory.path().join("ran").exists());
    std::fs::write(&script, "<?php\n\nfoo(;\n").expect("a file");
    let (content, text) = check(directory.path());
    assert!(
        !content
            && text.contains("index.php: syntax error")
            && text.contains("on line 3")
            && !text.contains("ok: "),
        "{text}"
    );
}

#[test]
fn what_a_script_prints_is_not_repeated() {
    let directory = testkit::temporary();
    let write = |name: &str, text: String| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let page = write(
        "page.php",
        "<h1>A page</h1>\n<?php echo str_repeat('x', 3 << 20);".into(),
    );
    let (content, text) = check(&page);
    assert!(
        !content
            && text.contains("printed 3145744 bytes, beginning with \"<h1>A page</h1>\"")
            && text.len() < 2000,
        "{text}"
    );
    let dump = write("dump.sql", "INSERT INTO x VALUES (1);\n".repeat(100_000));
    let (content, text) = check(&dump);
    assert!(
        !content && text.contains("dump.sql is not a PHP script: it does not contain <?php"),
        "{text}"
    );
}

/// Beside it lies another app, which opens persistent connections.
#[test]
fn what_lies_beside_a_script_is_not_judged() {
    let directory = testkit::temporary();
    let script = directory.path().join("conn.php");
    std::fs::write(&script, "<?php return fn () => 'x';").expect("a file");
    std::fs::create_dir(directory.path().join("mw")).expect("a folder");
    std::fs::write(
        directory.path().join("mw/Cache.php"),
        "<?php\n$cache->pconnect();\nglobal $x;\n",
    )
    .expect("a file");
    let (content, text) = check(&script);
    assert!(
        content && text.contains("many requests at once") && !text.contains("mw/"),
        "{text}"
    );
}
