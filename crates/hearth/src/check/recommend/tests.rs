//! Recommendations for various evidence.

use std::path::PathBuf;

use super::*;

fn with(packages: &[(&str, &str)]) -> Scan {
    Scan {
        root: PathBuf::from("/srv/app"),
        packages: packages
            .iter()
            .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()))
            .collect(),
        named_in: "composer.lock",
        ..Scan::default()
    }
}

/// The line below the recommendation.
fn command(advice: &Advice) -> String {
    let text = advice.to_string();
    text.lines().nth(2).expect("a command").trim().to_owned()
}

fn found(place: &str) -> Found {
    Found {
        place: place.into(),
        line: "static $x;".into(),
        count: 2,
    }
}

#[test]
fn a_plain_handler_runs_many_at_once() {
    let advice = of_script(
        Path::new("app.php"),
        "callable",
        "a handler written for Hearth",
        &with(&[]),
    );
    assert_eq!(
        advice.to_string(),
        "\nrecommended: resident, many requests at once\n    hearth serve app.php\nbecause:\n  \
         - app.php is a script that returns a handler written for Hearth\n"
    );
}

#[test]
fn a_handler_around_a_framework_or_a_persistent_connection_does_not() {
    let wraps = with(&[("laravel/framework", "v10.1")]);
    let advice = of_script(Path::new("app.php"), "callable", "a handler", &wraps);
    assert_eq!(
        (advice.way, command(&advice).as_str()),
        (RunMode::OneAtATime, "hearth serve app.php --concurrency 1")
    );
    let mut shares = with(&[]);
    shares
        .code
        .insert(CodeSmell::Persistent, found("src/Db.php:3"));
    let advice = of_script(Path::new("app.php"), "callable", "a handler", &shares);
    assert_eq!(advice.way, RunMode::OneAtATime);
    assert!(
        advice
            .to_string()
            .contains("src/Db.php:3 opens a persistent connection")
    );
}

#[test]
fn frameworks_run_one_at_a_time_without_a_flag() {
    for kind in ["laravel", "symfony", "slim", "psr-15", "frankenphp"] {
        let advice = of_script(Path::new("app.php"), kind, "it", &with(&[]));
        assert_eq!(
            (advice.way, command(&advice).as_str()),
            (RunMode::OneAtATime, "hearth serve app.php"),
            "{kind}"
        );
    }
}

#[test]
fn what_to_look_at_comes_with_its_place() {
    let mut evidence = with(&[]);
    evidence
        .code
        .insert(CodeSmell::StaticProperty, found("src/A.php:7"));
    let text = of_script(Path::new("app.php"), "callable", "it", &evidence).to_string();
    assert!(
        text.contains("look at:\n  - src/A.php:7: a static property"),
        "{text}"
    );
    assert!(text.contains("(2 places)\n      static $x;\n"), "{text}");
}

#[test]
fn a_folder_of_no_known_framework_is_classic() {
    let dir = tempfile::tempdir().unwrap();
    let evidence = Scan::of(dir.path());
    let advice = of_site(dir.path(), &evidence);
    assert_eq!(advice.way, RunMode::Classic);
    assert_eq!(
        command(&advice),
        format!("hearth serve {}", dir.path().display())
    );
}

#[test]
fn a_laravel_folder_gets_its_script() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("artisan"), "").unwrap();
    std::fs::create_dir(dir.path().join("bootstrap")).unwrap();
    std::fs::write(dir.path().join("bootstrap/app.php"), "<?php").unwrap();
    let advice = of_site(dir.path(), &Scan::of(dir.path()));
    assert_eq!(advice.way, RunMode::OneAtATime);
    assert!(
        advice
            .to_string()
            .contains("require __DIR__ . '/vendor/autoload.php';\n    return require __DIR__ . '/bootstrap/app.php';")
    );
}
