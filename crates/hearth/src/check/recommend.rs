//! `hearth check`: recommends a mode for an app, with reasons and with code to look at.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use super::scan::{CodeSmell, Found, Scan};

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

/// A recommendation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) way: RunMode,
    /// The script or folder to serve.
    pub(crate) app: PathBuf,
    flags: &'static str,
    /// The text of the script `app`, if that does not exist yet.
    pub(crate) script: Option<&'static str>,
    because: Vec<String>,
    to_review: Vec<String>,
}

impl Advice {
    pub(crate) fn is_resident(&self) -> bool {
        self.way != RunMode::Classic
    }
}

/// Packages whose apps keep the request in their container, and the names of the frameworks.
const FRAMEWORKS: [(&str, &str); 5] = [
    ("laravel/framework", "Laravel"),
    ("symfony/framework-bundle", "Symfony"),
    ("slim/slim", "Slim"),
    ("cakephp/cakephp", "CakePHP"),
    ("codeigniter4/framework", "CodeIgniter"),
];

/// The text of `app.php` in the project's folder. Laravel's `bootstrap/app.php` expects that the autoloader is loaded.
const LARAVEL: &str = "<?php\nrequire __DIR__ . '/vendor/autoload.php';\nreturn require __DIR__ . '/bootstrap/app.php';";
const SYMFONY: &str =
    "<?php\nrequire __DIR__ . '/vendor/autoload.php';\nreturn new App\\Kernel('prod', false);";

/// Recommends for a script that booted as a resident app. `handler` is the kind of what it returned, as reported by the
/// zygote.
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
    let flags = match (way, handler) {
        (RunMode::OneAtATime, "callable") => " --concurrency 1",
        _ => "",
    };
    Advice {
        way,
        app: app.to_owned(),
        flags,
        script: None,
        because,
        to_review: to_review(evidence, way),
    }
}

/// Recommends for a folder, or for a script that returns no handler.
pub(crate) fn of_site(app: &Path, evidence: &Scan) -> Advice {
    if evidence.has("wp-load.php") || evidence.has("wp-settings.php") {
        let reason =
            "it is WordPress, which ends each request with exit() and keeps it in globals".into();
        return classic(app, vec![reason], evidence);
    }
    let mut because: Vec<String> = frameworks(evidence).collect();
    let resident = |relative: &Path, script, because| Advice {
        way: RunMode::OneAtATime,
        app: evidence.root.join(relative),
        flags: "",
        script,
        because,
        to_review: to_review(evidence, RunMode::OneAtATime),
    };
    if evidence.has("artisan") && evidence.has("bootstrap/app.php") {
        because.push("artisan and bootstrap/app.php exist: a Laravel app, which Hearth keeps warm and resets after each response".into());
        return resident(Path::new("app.php"), Some(LARAVEL), because);
    }
    if evidence.package("symfony/runtime").is_some() && evidence.has("public/index.php") {
        because.push(
            "public/index.php starts Symfony Runtime, which hands the kernel over to Hearth".into(),
        );
        return resident(Path::new("public/index.php"), None, because);
    }
    if evidence.package("symfony/framework-bundle").is_some() {
        return resident(Path::new("app.php"), Some(SYMFONY), because);
    }
    if let Some(script) = evidence.worker_script.as_ref().filter(|_| app.is_dir()) {
        because.push(format!(
            "{} has a loop on frankenphp_handle_request(), which runs here unchanged",
            script.display()
        ));
        return resident(script, None, because);
    }
    if evidence.package("slim/slim").is_some() {
        because.push("a script that ends in `return $app;` instead of `$app->run();` would be kept warm, one request at a time".into());
    }
    classic(app, because, evidence)
}

fn classic(app: &Path, mut because: Vec<String>, evidence: &Scan) -> Advice {
    let mut to_review = Vec::new();
    if app.is_file() {
        because.push(format!(
            "{} returns no handler: it answers one request and ends",
            name(app)
        ));
        to_review.extend(beside(app));
    } else if because.is_empty() {
        because.push("there is no sign that it can stay in memory: no framework that Hearth knows, no script that returns a handler".into());
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
    Advice {
        way: RunMode::Classic,
        app: app.to_owned(),
        flags: if app.is_file() { " --mode classic" } else { "" },
        script: None,
        because,
        to_review,
    }
}

/// Warns that a front controller makes everything in its folder public.
fn beside(script: &Path) -> Option<String> {
    let folder = script.parent()?;
    let others = std::fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let others = others.filter(|entry| entry.path() != script).count();
    (others > 0).then(|| {
        format!("{}: everything in it is served too, and its scripts run ({others} more names); give {} a folder of its own", folder.display(), name(script))
    })
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

/// Lists code to read before many requests run at once; some of it matters with one request at a time, too.
fn to_review(evidence: &Scan, way: RunMode) -> Vec<String> {
    let all = way == RunMode::Concurrent;
    let item = |kind: CodeSmell, what: &str| {
        let found = evidence.code.get(&kind)?;
        Some(format!(
            "{}: {what}{}\n      {}",
            found.place,
            more(found),
            found.line
        ))
    };
    [
        item(
            CodeSmell::StaticProperty,
            "a static property: the next request finds what a request has put there",
        ),
        item(CodeSmell::StaticVariable, "a static variable: likewise"),
        item(CodeSmell::Global, "a global variable: likewise"),
        item(
            CodeSmell::Exit,
            "exit() ends this request only; the code after it does not run",
        )
        .filter(|_| !all),
        item(
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
        let command = format!("hearth serve {}{}", self.app.display(), self.flags);
        let mut text = format!("\nrecommended: {}\n    {command}\n", self.way);
        if let Some(code) = self.script.filter(|_| !self.app.exists()) {
            let code = code.replace('\n', "\n    ");
            let _ = write!(text, "  with this in {}:\n    {code}\n", name(&self.app));
        }
        for (title, items) in [("because", &self.because), ("look at", &self.to_review)] {
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
mod tests;
