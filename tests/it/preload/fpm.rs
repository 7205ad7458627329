//! A user of php-fpm: record, build, check, and the list in place.

use std::path::Path;
use std::process::Command;

use testkit::http::Client;
use testkit::service::Fpm;

use super::{done, project};
use crate::frameworks;
use crate::support::{example, ok};

const INDEX: &str = "<?php
require __DIR__ . '/../vendor/autoload.php';
$app = require __DIR__ . '/../bootstrap/app.php';
$kernel = $app->make(Illuminate\\Contracts\\Http\\Kernel::class);
$request = Illuminate\\Http\\Request::capture();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
";

/// The Laravel app of the other tests, as a site with a front controller.
fn laravel() -> tempfile::TempDir {
    let root = project(&[("public/index.php", INDEX), ("composer.json", "{}")]);
    let from = frameworks::app("laravel");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(from.join("."))
        .arg(root.path())
        .status();
    assert!(copied.expect("cp starts").success());
    let bootstrap = root.path().join("bootstrap/app.php");
    let text = std::fs::read_to_string(&bootstrap).expect("a file");
    std::fs::write(
        bootstrap,
        text.replace(
            "sys_get_temp_dir() . '/laravel'",
            "dirname(__DIR__) . '/storage'",
        ),
    )
    .expect("a file");
    root
}

/// PHP's own words on what is preloaded, from inside of a request.
fn preloaded(fpm: &Fpm) -> String {
    ok(&Client::connect(&fpm.address()).get("/status.php"))
}

const STATUS: &str = "<?php echo count(opcache_get_status(false)['preload_statistics']['classes'] ?? []), ' ', class_exists('Illuminate\\Routing\\Router', false) ? 'router' : 'none';";

fn visit(fpm: &Fpm, times: usize) {
    for _ in 0..times {
        for uri in ["/", "/", "/user/7", "/user/8?q=a", "/view"] {
            let response = Client::connect(&fpm.address()).get(uri);
            assert_eq!(response.status, 200, "{uri}: {}", response.text());
        }
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// The commands of an example in the guide, with further words.
fn guide(folder: &Path, name: &str, more: &[&str]) -> String {
    let commands = example("docs/guide/preload.md", name);
    let run = |line: &str| {
        let line = line.strip_prefix("hearth preload ").expect("a command");
        let quotes = |c: char| c == '\'' || c == '"';
        let mut words: Vec<&str> = Vec::new();
        for (n, part) in line.split(quotes).enumerate() {
            match n % 2 {
                0 => words.extend(part.split_whitespace()),
                _ => words.push(part),
            }
        }
        done(folder, &[&words, more].concat())
    };
    commands.lines().map(run).collect()
}

#[test]
fn three_commands_make_a_list_that_helps_php_fpm() {
    let root = laravel();
    std::fs::write(root.path().join("public/status.php"), STATUS).expect("a file");
    let place = testkit::document_root();
    let recording = place.path().join("recording");
    let output = guide(place.path(), "record", &["--every", "0"]);
    let line = format!("auto_prepend_file] = {}/recorder.php", recording.display());
    assert!(
        output.contains("nothing is recorded yet") && output.contains(&line),
        "{output}"
    );

    let recorder = text(&recording.join("recorder.php"));
    let public = root.path().join("public");
    let fpm = Fpm::start(&public, &[("auto_prepend_file", &recorder)], "");
    visit(&fpm, 3);
    drop(fpm);
    let output = guide(place.path(), "record", &[]);
    assert!(
        output.contains("recorded 15 requests") && output.contains("6  GET /user/*"),
        "{output}"
    );

    let output = guide(place.path(), "strategies", &["--no-replay"]);
    for strategy in ["Traffic", "Optimised", "Naive", "None"] {
        assert!(
            output.contains(&format!("{strategy}: ")),
            "{strategy}: {output}"
        );
    }
    let output = guide(place.path(), "build", &[]);
    assert!(
        output.contains("Traffic: ") && output.contains("  Illuminate"),
        "{output}"
    );
    let output = guide(
        place.path(),
        "check",
        &["--seconds", "1", "--install", "installed.php"],
    );
    assert!(
        output.contains("3 recorded paths are answered the same") && output.contains("it pays"),
        "{output}"
    );
    let output = guide(place.path(), "explain", &[]);
    assert!(
        output.contains("Router.php is preloaded")
            && output.contains("100.0 % of requests need it"),
        "{output}"
    );

    let list = text(&place.path().join("installed.php"));
    let header = std::fs::read_to_string(&list).expect("a list");
    assert!(
        header.contains("of processor time per request instead of"),
        "{header:.500}"
    );
    let fpm = Fpm::start_with(&public, &[], &[("opcache.preload", &list)], "");
    assert!(!fpm.log_text().contains("arning"), "{}", fpm.log_text());
    assert!(preloaded(&fpm).ends_with("router"), "{}", preloaded(&fpm));
    visit(&fpm, 1);
    drop(fpm);
    starts_without_room(&public, &list);
}

/// PHP ends where what is preloaded does not fit, so the script looks first.
fn starts_without_room(public: &Path, list: &str) {
    for (memory, strings) in [("12", "8"), ("24", "20")] {
        let settings = [
            ("opcache.preload", list),
            ("opcache.memory_consumption", memory),
            ("opcache.interned_strings_buffer", strings),
        ];
        let fpm = Fpm::start_with(public, &[], &settings, "");
        let output = fpm.log_text();
        assert!(
            output.contains("opcache.memory_consumption is too small for the list"),
            "{output}"
        );
        assert_eq!(preloaded(&fpm), "0 none");
    }
}

/// Debian's way to keep sites apart: a pool and a user each, `open_basedir`, code that no pool can write to.
#[test]
fn pools_of_two_users_record_and_preload() {
    let root = project(&[
        (
            "site/public/index.php",
            "<?php require __DIR__ . '/../src/Page.php'; echo (new Page)->text();",
        ),
        (
            "site/src/Page.php",
            "<?php final class Page { function text() { return 'page'; } }",
        ),
    ]);
    let site = root.path().join("site");
    let written = Command::new("chmod")
        .args(["-R", "a-w"])
        .arg(&site)
        .status();
    assert!(written.expect("chmod starts").success());
    let public = site.join("public");
    for user in ["www-data", "daemon"] {
        let folder = text(&root.path().join(format!("recording-{user}")));
        // Only root can give folders away.
        let root_only = ["--user", user];
        let more = if rustix::process::geteuid().is_root() {
            &root_only[..]
        } else {
            &[]
        };
        done(
            root.path(),
            &[&["record", &folder, "--every", "0"], more].concat(),
        );
        let recorder = format!("{folder}/recorder.php");
        let basedir = format!("{}:{folder}", site.display());
        let ini = [
            ("auto_prepend_file", &*recorder),
            ("open_basedir", &*basedir),
        ];
        let fpm = Fpm::start_as(user, &public, &ini);
        assert_eq!(ok(&Client::connect(&fpm.address()).get("/")), "page");
        assert!(!fpm.log_text().contains("PHP "), "{}", fpm.log_text());
    }
    let output = done(
        root.path(),
        &["build", "recording-www-data", "recording-daemon"],
    );
    assert!(
        output.contains("Traffic: 1 file preloaded, from 2 recorded requests of 1 route"),
        "{output}"
    );
}

/// Compiled code of a file that has changed since, but for its time and size: what php-fpm answers tells where it has the code from.
#[test]
fn the_script_fills_the_file_cache_where_php_may_not_preload() {
    let root = project(&[
        (
            "index.php",
            "<?php require __DIR__ . '/Page.php'; echo (new Page)->text();",
        ),
        (
            "Page.php",
            "<?php class Page { function text() { return 'first'; } }",
        ),
    ]);
    let recorder = text(&root.path().join("recording/recorder.php"));
    done(root.path(), &["record", "recording", "--every", "0"]);
    let fpm = Fpm::start(root.path(), &[("auto_prepend_file", &recorder)], "");
    assert_eq!(ok(&Client::connect(&fpm.address()).get("/")), "first");
    drop(fpm);
    guide(root.path(), "build", &["--no-replay"]);

    let cache = text(testkit::document_root().keep().as_path());
    let command = example("docs/guide/preload.md", "file-cache").replace("/var/cache/php", &cache);
    let filled = as_pool_user("sh")
        .args(["-c", &command])
        .current_dir(root.path())
        .output()
        .expect("sh starts");
    assert!(
        filled.status.success() && filled.stderr.is_empty(),
        "{filled:?}"
    );
    change_unnoticed(&root.path().join("Page.php"), "first", "other");

    let process = [("opcache.file_cache", &*cache)];
    let fpm = Fpm::start_with(root.path(), &[], &process, "");
    assert_eq!(ok(&Client::connect(&fpm.address()).get("/")), "first");
    drop(fpm);
    std::fs::remove_dir_all(&cache).expect("the cache can be removed");
}

/// A program as the user of [`Fpm::start`].
fn as_pool_user(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let user = ["--reuid=www-data", "--regid=www-data", "--clear-groups"];
    command.args(user).arg(program);
    command
}

/// As `opcache.validate_timestamps` sees it.
fn change_unnoticed(file: &Path, from: &str, to: &str) {
    let written = std::fs::metadata(file).and_then(|it| it.modified());
    let content = std::fs::read_to_string(file).expect("a file");
    std::fs::write(file, content.replace(from, to)).expect("a file");
    let changed = std::fs::File::options().write(true).open(file);
    changed
        .and_then(|it| it.set_modified(written?))
        .expect("the owner may set its time");
}
