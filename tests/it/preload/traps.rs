//! What keeps PHP from starting with a list, or changes the app, stays out of it.

use serde_json::Value;
use testkit::http::Client;
use testkit::service::Fpm;

use super::{done, project, refused};
use crate::support::ok;

const TRAPS: [(&str, &str); 28] = [
    (
        "a_child.php",
        "<?php class Child extends Parents implements Named { use Counting; public $e = Suit::Hearts; }",
    ),
    (
        "parents.php",
        "<?php class Parents { const X = 1; public function x() { return 1; } }",
    ),
    ("named.php", "<?php interface Named {}"),
    (
        "counting.php",
        "<?php trait Counting { public static $n = 0; }",
    ),
    ("suit.php", "<?php enum Suit: string { case Hearts = 'h'; }"),
    (
        "guarded.php",
        "<?php defined('ABSPATH') || exit; class Guarded {}",
    ),
    ("functions.php", "<?php function plain() { return 1; }"),
    (
        "conditional.php",
        "<?php if (PHP_VERSION_ID >= 80000) { function polyfill() { return 'poly'; } } else { function polyfill() { return 'old'; } }",
    ),
    (
        "orphan.php",
        "<?php class Orphan extends NowhereToBeFound {}",
    ),
    (
        "orphans_child.php",
        "<?php class OrphansChild extends Orphan {}",
    ),
    ("syntax.php", "<?php class Broken {"),
    ("again.php", "<?php function plain() { return 2; }"),
    ("twice.php", "<?php class Parents {}"),
    (
        "alias.php",
        "<?php class Renamed {} class_alias('Renamed', 'OldName');",
    ),
    ("prints.php", "<?php class Printing {} echo 'loaded';"),
    (
        "socket.php",
        "<?php class Connected {} $GLOBALS['socket'] = stream_socket_server('tcp://127.0.0.1:0');",
    ),
    (
        "environment.php",
        "<?php if (getenv('FEATURE')) { class Feature { const ON = true; } } else { class Feature { const ON = false; } }",
    ),
    (
        "constant.php",
        "<?php namespace N; const ANSWER = 42; class Constant {}",
    ),
    ("config.php", "<?php return ['a' => 1];"),
    // A plugin may declare it first.
    (
        "default.php",
        "<?php if (!function_exists('send_mail')) { function send_mail() { return 'other'; } }",
    ),
    (
        "dumps.php",
        "<?php if (PHP_VERSION_ID >= 80000) { class Dumping {} } else { class Dumping { const OLD = 1; } } echo PHP_VERSION_ID > 1 ? '' : 'old';",
    ),
    (
        "hints.php",
        "<?php namespace N; class_exists(\\Parents::class); class Hinting {}",
    ),
    (
        "hints_global.php",
        "<?php class_exists(Parents::class); class HintingWithoutNamespace {}",
    ),
    (
        "hints_alias.php",
        "<?php namespace N; class_exists(\\OldName::class); class Aliased {}",
    ),
    // What a method returns decides whether its class can be linked.
    (
        "factory.php",
        "<?php class Factory { public function make(): ?Parents { return null; } }",
    ),
    (
        "a_factory.php",
        "<?php class ChildFactory extends Factory { public function make(): ?Child { return null; } }",
    ),
    (
        "orphan_factory.php",
        "<?php class OrphanFactory extends Factory { public function make(): ?Orphan { return null; } }",
    ),
    (
        "incompatible.php",
        "<?php class Incompatible extends Parents { public function x(int $more) { return 1; } }",
    ),
];

pub(super) fn list(folder: &std::path::Path) -> Value {
    let text = std::fs::read(folder.join("preload.json")).expect("a list");
    serde_json::from_slice(&text).expect("JSON")
}

fn files(list: &Value) -> Vec<&str> {
    let entries = list["entries"].as_array().expect("entries");
    let mut files: Vec<&str> = entries
        .iter()
        .map(|entry| entry["file"].as_str().expect("a name"))
        .collect();
    files.sort_unstable();
    files
}

/// Why a file is not preloaded.
const LEFT: [(&str, &str); 16] = [
    (
        "orphan.php",
        "needs NowhereToBeFound, which no preloaded file declares",
    ),
    ("orphans_child.php", "needs orphan.php, which is left out"),
    (
        "orphan_factory.php",
        "cannot be linked: Could not check compatibility between OrphanFactory::make(): ?Orphan",
    ),
    ("syntax.php", "does not compile: Parse error"),
    (
        "functions.php",
        "declares the function plain as again.php does",
    ),
    (
        "twice.php",
        "declares the class parents as parents.php does",
    ),
    ("alias.php", "calls class_alias()"),
    ("prints.php", "prints; that would not happen"),
    ("socket.php", "calls stream_socket_server()"),
    (
        "environment.php",
        "what it declares depends on its code, which calls getenv()",
    ),
    ("constant.php", "defines constants"),
    ("config.php", "declares nothing"),
    (
        "default.php",
        "what it declares depends on its code, which calls function_exists()",
    ),
    (
        "dumps.php",
        "what it declares depends on its code, which prints",
    ),
    ("hints_alias.php", "loads OldName, which may be an alias"),
    (
        "incompatible.php",
        "cannot be linked: Declaration of Incompatible::x(int $more) must be compatible",
    ),
];

#[test]
fn what_breaks_php_or_changes_the_app_is_left_out_and_said() {
    let root = project(&TRAPS);
    let output = done(
        root.path(),
        &["build", "--strategy", "naive", "--root", "."],
    );
    let list = list(root.path());
    let good = [
        "a_child.php",
        "a_factory.php",
        "again.php",
        "conditional.php",
        "counting.php",
        "factory.php",
        "guarded.php",
        "hints.php",
        "hints_global.php",
        "named.php",
        "parents.php",
        "suit.php",
    ];
    assert_eq!(files(&list), good, "{}", list["left"]);
    assert!(output.contains("Naive: 12 files preloaded"), "{output}");
    let why = |file: &str| {
        list["left"][file]
            .as_str()
            .unwrap_or("it is preloaded")
            .to_owned()
    };
    for (file, reason) in LEFT {
        assert!(why(file).contains(reason), "{file}: {}", why(file));
    }
    starts_under_fpm(root.path());
    explained(root.path());
    excluded(root.path());
}

fn excluded(root: &std::path::Path) {
    let words = ["build", "--strategy", "naive", "--root", "."];
    let excluded = ["Counting", "hints.php", "Nowhere"];
    let excluded = excluded.iter().flat_map(|name| ["--exclude", name]);
    let output = done(root, &words.into_iter().chain(excluded).collect::<Vec<_>>());
    assert!(
        output.contains("--exclude Nowhere: no file, folder or class"),
        "{output}"
    );
    assert!(!output.contains("--exclude Counting:"), "{output}");
    let list = list(root);
    assert_eq!(list["left"]["hints.php"], "is left out by --exclude");
    assert_eq!(list["left"]["counting.php"], "is left out by --exclude");
    let child = &list["left"]["a_child.php"];
    assert!(
        child
            .as_str()
            .is_some_and(|why| why.contains("needs Counting")),
        "{child}"
    );
}

/// The real php-fpm says nothing about it, and its requests have what is preloaded.
fn starts_under_fpm(root: &std::path::Path) {
    let shown = "<?php echo json_encode([(new Child)->x(), plain(), polyfill(), class_exists('Guarded', false), class_exists('Renamed', false)]);";
    std::fs::create_dir(root.join("public")).expect("a folder");
    std::fs::write(root.join("public/index.php"), shown).expect("a file");
    let script = root.join("preload.php").display().to_string();
    let fpm = Fpm::start_with(
        &root.join("public"),
        &[],
        &[("opcache.preload", &script)],
        "",
    );
    assert!(!fpm.log_text().contains("arning"), "{}", fpm.log_text());
    assert_eq!(
        ok(&Client::connect(&fpm.address()).get("/")),
        r#"[1,2,"poly",true,false]"#
    );
}

fn explained(root: &std::path::Path) {
    let output = done(root, &["explain", "Child"]);
    assert!(
        output.contains("a_child.php is preloaded: compiled"),
        "{output}"
    );
    assert!(
        output.contains("needs ") && output.contains("parents.php"),
        "{output}"
    );
    assert!(done(root, &["explain", "polyfill"]).contains("run when PHP starts"));
    assert!(done(root, &["explain", "alias.php"]).contains("is left out: calls class_alias()"));
    refused(root, &["explain", "Nothing\\Of\\The\\Kind"], 1);
}

#[test]
fn a_file_that_changes_is_left_out_and_php_starts() {
    let root = project(&TRAPS[..8]);
    done(
        root.path(),
        &["build", "--strategy", "naive", "--root", "."],
    );
    assert!(
        done(root.path(), &["check", "--no-replay"])
            .contains("starts with it: 6 classes, 2 functions")
    );
    // With a mistake in it, and with what extends it.
    std::fs::write(root.path().join("parents.php"), "<?php class Parents {").expect("a file");
    let output = refused(root.path(), &["check", "--no-replay"], 1);
    assert!(
        output.contains("left out: parents.php, because it has changed"),
        "{output}"
    );
    assert!(
        output.contains("left out: a_child.php, because it needs a file that is left out"),
        "{output}"
    );
    assert!(
        output.contains("2 of 8 files have changed since"),
        "{output}"
    );

    std::fs::create_dir(root.path().join("public")).expect("a folder");
    std::fs::write(
        root.path().join("public/index.php"),
        "<?php echo class_exists('Parents', false) ? 'there' : 'left', plain();",
    )
    .expect("a file");
    let script = root.path().join("preload.php").display().to_string();
    let fpm = Fpm::start_with(
        &root.path().join("public"),
        &[],
        &[("opcache.preload", &script)],
        "",
    );
    assert!(
        fpm.log_text().contains(
            "preload: 2 of 8 files are left out, first parents.php, because it has changed"
        ),
        "{}",
        fpm.log_text()
    );
    assert_eq!(ok(&Client::connect(&fpm.address()).get("/")), "left1");
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let root = project(&[]);
    let no_requests = refused(root.path(), &["build", "."], 2);
    assert!(
        no_requests.contains("no request is recorded there"),
        "{no_requests}"
    );
    let no_project = refused(
        root.path(),
        &["build", "--strategy", "naive", "--root", "/no/such/folder"],
        2,
    );
    assert!(
        no_project.contains("name its folder on this machine with --root"),
        "{no_project}"
    );
    let no_memory = refused(
        root.path(),
        &[
            "build",
            "--strategy",
            "naive",
            "--root",
            ".",
            "--memory",
            "much",
        ],
        2,
    );
    assert!(
        no_memory.contains("--memory much is not a number of bytes, such as 32M"),
        "{no_memory}"
    );
    let no_list = refused(root.path(), &["check"], 2);
    assert!(no_list.contains("preload.php"), "{no_list}");
}
