//! `hearth check`: which mode fits an app, why, and what to look at before more is asked of it.

use std::fmt::{self, Write};
use std::path::Path;

use crate::check::scan::{CodeSmell, Found, Scan};

/// A way to run an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    Classic,
    OneAtATime,
    Concurrent,
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunMode::Classic => "classic: nothing survives a request, as under php-fpm",
            RunMode::OneAtATime => "resident, one request at a time",
            RunMode::Concurrent => "resident, many requests at once",
        })
    }
}

/// What is recommended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) way: RunMode,
    /// The command.
    command: String,
    /// A script to write first, and its text.
    script: Option<(&'static str, &'static str)>,
    because: Vec<String>,
    look_at: Vec<String>,
}

/// Packages whose apps keep the request in their container, and what to call them.
const FRAMEWORKS: [(&str, &str); 5] = [
    ("laravel/framework", "Laravel"),
    ("symfony/framework-bundle", "Symfony"),
    ("slim/slim", "Slim"),
    ("cakephp/cakephp", "CakePHP"),
    ("codeigniter4/framework", "CodeIgniter"),
];

/// Two lines each.
const LARAVEL: (&str, &str) = (
    "app.php",
    "<?php\nreturn require __DIR__ . '/bootstrap/app.php';",
);
const SYMFONY: (&str, &str) = (
    "app.php",
    "<?php\nrequire __DIR__ . '/vendor/autoload.php';\nreturn new App\\Kernel('prod', false);",
);

/// For a script that booted as a resident app: `handler` is what it returned, as the zygote says.
pub(crate) fn of_script(app: &Path, handler: &str, what: &str, evidence: &Scan) -> Advice {
    let name = name(app);
    let mut because = vec![format!("{name} is {what}", what = returned(handler, what))];
    because.extend(frameworks(evidence));
    let wraps = handler == "callable" && because.len() > 1;
    let persistent = evidence.code.get(&CodeSmell::Persistent);
    let way = if handler == "callable" && !wraps && persistent.is_none() {
        RunMode::Concurrent
    } else {
        RunMode::OneAtATime
    };
    match handler {
        "laravel" => because.push("its container, facades and guards hold the request that is being answered; Hearth resets them after each response, as Laravel Octane does".into()),
        "symfony" => because.push("its services may hold the request that is being answered; Hearth resets them after each response".into()),
        "frankenphp" => because.push("the loop takes its requests one after the other".into()),
        "psr-15" | "slim" => because.push("middleware and services of such apps are seldom written for two requests at once".into()),
        _ if wraps => because.push("the handler is a function, but behind it is a framework that keeps the current request".into()),
        _ => {}
    }
    if let (RunMode::OneAtATime, "callable", Some(found)) = (way, handler, persistent) {
        because.push(format!(
            "{} opens a persistent connection, which two requests cannot share",
            found.place
        ));
    }
    let flag = match (way, handler) {
        (RunMode::OneAtATime, "callable") => " --concurrency 1",
        _ => "",
    };
    Advice {
        way,
        command: format!("hearth serve {}{flag}", app.display()),
        script: None,
        because,
        look_at: look_at(evidence, way),
    }
}

/// For a folder, or a script that returns no handler.
pub(crate) fn of_site(app: &Path, evidence: &Scan) -> Advice {
    let root = evidence.root.display();
    if evidence.has("wp-load.php") || evidence.has("wp-settings.php") {
        let reason =
            "it is WordPress, which ends each request with exit() and keeps it in globals".into();
        return classic(app, vec![reason], evidence);
    }
    if let Some(script) = evidence.worker_script.as_ref().filter(|_| app.is_dir()) {
        return Advice {
            way: RunMode::OneAtATime,
            command: format!("hearth serve {root}/{}", script.display()),
            script: None,
            because: vec![format!(
                "{} has a loop on frankenphp_handle_request(), which runs here unchanged",
                script.display()
            )],
            look_at: look_at(evidence, RunMode::OneAtATime),
        };
    }
    let mut because: Vec<String> = frameworks(evidence).collect();
    let resident = |command: String, script, because| Advice {
        way: RunMode::OneAtATime,
        command,
        script,
        because,
        look_at: look_at(evidence, RunMode::OneAtATime),
    };
    if evidence.has("artisan") && evidence.has("bootstrap/app.php") {
        because.push("artisan and bootstrap/app.php are there: a Laravel app, which Hearth keeps warm and resets after each response".into());
        return resident(
            format!("hearth serve {root}/app.php"),
            Some(LARAVEL),
            because,
        );
    }
    if evidence.package("symfony/runtime").is_some() && evidence.has("public/index.php") {
        because.push(
            "public/index.php starts Symfony Runtime, which hands the kernel over to Hearth".into(),
        );
        return resident(
            format!("hearth serve {root}/public/index.php"),
            None,
            because,
        );
    }
    if evidence.package("symfony/framework-bundle").is_some() {
        return resident(
            format!("hearth serve {root}/app.php"),
            Some(SYMFONY),
            because,
        );
    }
    if evidence.package("slim/slim").is_some() {
        because.push("a script that ends in `return $app;` instead of `$app->run();` would be kept warm, one request at a time".into());
    }
    classic(app, because, evidence)
}

fn classic(app: &Path, mut because: Vec<String>, evidence: &Scan) -> Advice {
    if app.is_file() {
        because.push(format!(
            "{} returns no handler: it answers one request and ends",
            name(app)
        ));
    } else if because.is_empty() {
        because.push("nothing in it says that it can stay in memory: no framework that Hearth knows, no script that returns a handler".into());
    }
    if let Some(found) = evidence.code.get(&CodeSmell::Exit) {
        because.push(format!(
            "it ends requests with exit(), first in {}{}",
            found.place,
            more(found)
        ));
    }
    if let Some(found) = evidence.code.get(&CodeSmell::Global) {
        because.push(format!(
            "it keeps things in globals, first in {}{}",
            found.place,
            more(found)
        ));
    }
    let mode = if app.is_file() { " --mode classic" } else { "" };
    Advice {
        way: RunMode::Classic,
        command: format!("hearth serve {}{mode}", app.display()),
        script: None,
        because,
        look_at: Vec::new(),
    }
}

fn returned(handler: &str, what: &str) -> String {
    match handler {
        "frankenphp" => what.to_owned(),
        _ => format!("a script that returns {what}"),
    }
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn frameworks(evidence: &Scan) -> impl Iterator<Item = String> {
    FRAMEWORKS.iter().filter_map(|(package, called)| {
        let version = evidence.package(package)?;
        Some(format!(
            "{called} is among its packages ({package} {version} in {})",
            evidence.named_in
        ))
    })
}

fn more(found: &Found) -> String {
    match found.count {
        1 => String::new(),
        n => format!(" ({n} places)"),
    }
}

/// What to read before many requests run at once, or because one at a time finds it too.
fn look_at(evidence: &Scan, way: RunMode) -> Vec<String> {
    let all = way == RunMode::Concurrent;
    let say = |kind: CodeSmell, what: &str| {
        let found = evidence.code.get(&kind)?;
        Some(format!(
            "{}: {what}{}\n      {}",
            found.place,
            more(found),
            found.line
        ))
    };
    [
        say(
            CodeSmell::StaticProperty,
            "a static property: what a request puts there, the next one finds",
        ),
        say(CodeSmell::StaticVariable, "a static variable: likewise"),
        say(CodeSmell::Global, "a global variable: likewise"),
        say(
            CodeSmell::Exit,
            "exit() ends this request only; what was to be done after it is not done",
        )
        .filter(|_| !all),
        say(
            CodeSmell::Persistent,
            "a persistent connection: with more than one request at once it is refused",
        )
        .filter(|_| !all),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("\nrecommended: {}\n    {}\n", self.way, self.command);
        if let Some((file, code)) = self.script {
            let code = code.replace('\n', "\n    ");
            let _ = write!(text, "  with this in {file}:\n    {code}\n");
        }
        for (title, items) in [("because", &self.because), ("look at", &self.look_at)] {
            if !items.is_empty() {
                let _ = writeln!(text, "{title}:");
            }
            for item in items {
                let _ = writeln!(text, "  - {item}");
            }
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
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
            (advice.way, advice.command.as_str()),
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
                (advice.way, advice.command.as_str()),
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
    fn a_folder_that_nobody_knows_is_classic() {
        let dir = tempfile::tempdir().unwrap();
        let evidence = Scan::of(dir.path());
        let advice = of_site(dir.path(), &evidence);
        assert_eq!(advice.way, RunMode::Classic);
        assert_eq!(
            advice.command,
            format!("hearth serve {}", dir.path().display())
        );
    }

    #[test]
    fn a_laravel_folder_gets_its_two_lines() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("artisan"), "").unwrap();
        std::fs::create_dir(dir.path().join("bootstrap")).unwrap();
        std::fs::write(dir.path().join("bootstrap/app.php"), "<?php").unwrap();
        let advice = of_site(dir.path(), &Scan::of(dir.path()));
        assert_eq!(advice.way, RunMode::OneAtATime);
        assert!(
            advice
                .to_string()
                .contains("return require __DIR__ . '/bootstrap/app.php';")
        );
    }
}
