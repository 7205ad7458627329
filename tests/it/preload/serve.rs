//! `hearth serve --preload`: a list in use, one that is out of date, one that breaks; and recordings of a running server.

use std::path::Path;

use rustix::process::Signal;
use testkit::{Server, ServerBuilder, kill};

use super::{done, project};
use crate::support::{admin, eventually, hearth, ok};

const SITE: [(&str, &str); 5] = [
    (
        "public/index.php",
        "<?php
        spl_autoload_register(fn ($class) => require __DIR__ . \"/../src/$class.php\");
        echo class_exists('Base', false) ? 'preloaded' : 'not', ' ', (new Page)->text();",
    ),
    (
        "public/other.php",
        "<?php
        spl_autoload_register(fn ($class) => require __DIR__ . \"/../src/$class.php\");
        echo Tool::text();",
    ),
    (
        "src/Base.php",
        "<?php class Base { public function text() { return 'base'; } }",
    ),
    ("src/Page.php", "<?php class Page extends Base {}"),
    (
        "src/Tool.php",
        "<?php final class Tool { public static function text() { return 'tool'; } }",
    ),
];

/// The site with a list of its classes.
fn site() -> tempfile::TempDir {
    let root = project(&SITE);
    done(
        root.path(),
        &["build", "--strategy", "naive", "--root", "src"],
    );
    root
}

fn serve(root: &Path) -> ServerBuilder {
    Server::app(root.join("public"))
        .args([
            "--mode",
            "classic",
            "--workers",
            "2",
            "--admin",
            "127.0.0.1:0",
        ])
        .args(["--ini", "opcache.file_update_protection=0"])
}

fn preloading(root: &Path) -> ServerBuilder {
    serve(root)
        .arg("--preload")
        .arg(root.join("preload.php").display().to_string())
}

fn status(server: &Server) -> String {
    let output = hearth(server, &["status", "--control", &control(server)]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn control(server: &Server) -> String {
    let sockets = server.directory().join("hearth");
    let entry = std::fs::read_dir(&sockets)
        .expect("a directory")
        .filter_map(Result::ok)
        .next();
    entry
        .expect("a control socket")
        .path()
        .display()
        .to_string()
}

#[test]
fn a_list_is_used_and_shown() {
    let root = site();
    let server = preloading(root.path()).start();
    assert_eq!(ok(&server.get("/")), "preloaded base");
    assert!(
        status(&server).contains("preload     3 files of "),
        "{}",
        status(&server)
    );
    assert!(ok(&admin(&server, "/metrics")).contains("hearth_preload_files 3\n"));
    server.stop();
}

#[test]
fn what_has_changed_is_left_out_and_said() {
    let root = site();
    std::fs::write(
        root.path().join("src/Base.php"),
        "<?php class Base { public function text() { return 'new'; } }",
    )
    .expect("a file");
    let server = preloading(root.path()).start();
    assert_eq!(ok(&server.get("/")), "not new");
    server.expect_log("files of the preload list are left out; build it again left_out=2");
    assert!(
        status(&server).contains("1 files of ")
            && status(&server).contains("2 left out, first Base.php: it has changed"),
        "{}",
        status(&server)
    );
    let metrics = ok(&admin(&server, "/metrics"));
    assert!(
        metrics.contains("hearth_preload_files 1\n")
            && metrics.contains("hearth_preload_left_out 2\n")
    );
    server.stop();
}

/// Without a list, PHP would see that the file has changed.
#[test]
fn php_is_started_anew_where_a_preloaded_file_changes() {
    let root = site();
    let server = preloading(root.path()).start();
    assert_eq!(ok(&server.get("/")), "preloaded base");
    std::fs::write(
        root.path().join("src/Base.php"),
        "<?php class Base { public function text() { return 'changed'; } }",
    )
    .expect("a file");
    eventually("the new file is served", || {
        ok(&server.get("/")) == "not changed"
    });
    server.expect_log("a preloaded file has changed, and PHP is started anew");
    assert!(status(&server).contains("first Base.php: it has changed"));
    server.stop();
}

#[test]
fn a_list_that_breaks_keeps_no_server_from_starting() {
    let root = site();
    std::fs::write(
        root.path().join("preload.php"),
        "<?php require __DIR__ . '/gone.php';",
    )
    .expect("a file");
    let server = preloading(root.path()).start();
    assert_eq!(ok(&server.get("/")), "not base");
    server.expect_log("the app does not boot with the preload list, and is booted without it");
    assert!(
        status(&server).contains("preload     0 files of "),
        "{}",
        status(&server)
    );
    assert!(
        status(&server).contains("the app does not boot with it"),
        "{}",
        status(&server)
    );
    assert!(ok(&admin(&server, "/metrics")).contains("hearth_preload_files 0\n"));
    server.stop();
}

#[test]
fn a_reload_to_a_list_that_breaks_keeps_the_old_generation() {
    let root = site();
    let server = preloading(root.path()).start();
    let workers = server.workers();
    std::fs::write(root.path().join("preload.php"), "<?php function (").expect("a file");
    let reload = hearth(&server, &["reload", "--control", &control(&server)]);
    assert_eq!(reload.status.code(), Some(1));
    assert_eq!(ok(&server.get("/")), "preloaded base");
    assert_eq!(server.workers(), workers);
    assert!(
        status(&server).contains("preload     3 files of "),
        "{}",
        status(&server)
    );
    server.stop();
}

/// With the recorder for each request.
fn recording(root: &Path) -> ServerBuilder {
    done(root, &["record", "recording", "--every", "0"]);
    serve(root).arg("--ini").arg(format!(
        "auto_prepend_file={}/recording/recorder.php",
        root.display()
    ))
}

fn counts(root: &Path) -> serde_json::Value {
    done(root, &["record", "recording", "--write", "all.json"]);
    let text = std::fs::read(root.join("all.json")).expect("a recording");
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON")["recordings"].clone()
}

/// Otherwise each list would be made of what the one before lacks.
#[test]
fn the_use_of_preloaded_files_is_recorded() {
    let root = site();
    let server = recording(root.path())
        .arg("--preload")
        .arg(root.path().join("preload.php").display().to_string())
        .start();
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/")), "preloaded base");
    }
    server.stop();
    let recorded = counts(root.path());
    let name = |file: &str| {
        format!(
            "{}/src/{file}",
            root.path().canonicalize().expect("a path").display()
        )
    };
    assert_eq!(recorded[0]["requests"], 3, "{recorded}");
    assert_eq!(recorded[0]["files"][name("Base.php")], 3, "{recorded}");
    // It has no code of its own, so its use cannot be seen.
    assert_eq!(recorded[0]["hidden"][name("Page.php")], 3, "{recorded}");
    let tool = [&recorded[0]["files"], &recorded[0]["hidden"]]
        .map(|kind| kind[name("Tool.php")].is_null());
    assert_eq!(tool, [true, true], "it was not used: {recorded}");
}

#[test]
fn a_recording_survives_the_kill_of_what_records() {
    let root = project(&SITE);
    let server = recording(root.path()).start();
    let recorded = || {
        counts(root.path())[0]["requests"]
            .as_u64()
            .unwrap_or_default()
    };
    for _ in 0..3 {
        let before = recorded();
        let mut client = server.connect();
        for _ in 0..20 {
            client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        for worker in server.workers() {
            kill(worker, Signal::KILL);
        }
        // A request is recorded behind its answer.
        eventually("what was recorded is there, and more", || {
            server.connect().get("/").status == 200 && recorded() > before
        });
    }
    // As left by a full disk.
    std::fs::write(
        root.path().join("recording/routes/cut.json"),
        "{\"format\":1,\"rou",
    )
    .expect("a file");
    let output = done(root.path(), &["record", "recording"]);
    assert!(output.contains("cut.json: not a recording"), "{output}");
    assert_eq!(output.matches("left out").count(), 1, "{output}");
    assert!(recorded() >= 3, "{output}");
    server.stop();
}

#[test]
fn a_release_that_is_replaced_goes_on_in_the_same_recording() {
    let root = project(&[]);
    for release in ["releases/1", "releases/2"] {
        for (name, text) in SITE {
            let path = root.path().join(release).join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        std::fs::write(root.path().join(release).join("composer.json"), "{}").expect("a file");
    }
    done(root.path(), &["record", "recording", "--every", "0"]);
    let current = root.path().join("current");
    for (release, path) in [("releases/1", "/"), ("releases/2", "/other.php")] {
        let _ = std::fs::remove_file(&current);
        std::os::unix::fs::symlink(release, &current).expect("a link");
        let server = Server::app(current.join("public"))
            .args(["--mode", "classic", "--workers", "1"])
            .arg("--ini")
            .arg(format!(
                "auto_prepend_file={}/recording/recorder.php",
                root.path().display()
            ))
            .start();
        ok(&server.get(path));
        server.stop();
        // The times of recordings are whole seconds.
        let last = root.path().join("recording/routes/.last");
        let second = || {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .expect("a time")
                .as_secs()
        };
        let recorded = std::fs::metadata(last)
            .and_then(|last| last.modified())
            .expect("a time");
        let recorded = recorded
            .duration_since(std::time::UNIX_EPOCH)
            .expect("a time")
            .as_secs();
        eventually("the second is over", || second() > recorded);
    }
    // The site shows whether a class is preloaded.
    let words = ["build", "recording", "--coverage", "1", "--no-replay"];
    let output = done(root.path(), &words);
    assert!(
        output.contains("Traffic: 3 files preloaded, from 2 recorded requests of 2 routes"),
        "{output}"
    );
    let script = std::fs::read_to_string(root.path().join("preload.php")).expect("a list");
    assert!(
        script.contains("/releases/2'") && !script.contains("/releases/1"),
        "{script}"
    );
}
