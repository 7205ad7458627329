//! The app of a scenario, written in the form that a runtime takes.

use crate::problem::{Problem, Result};
use crate::run_dir::RunDir;
use crate::runtimes::Form;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The content of an app, independent of the runtime.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    /// Name of the scenario, for runtimes that have all scenarios in one program.
    pub(crate) scenario: String,
    /// The PHP code: `boot()` and `respond()`.
    pub(crate) code: &'static str,
    /// Whether the code is the whole app, without a template around it.
    pub(crate) is_whole: bool,
    /// Whether `respond()` takes path, query, method and a function that reads the body.
    pub(crate) takes_request: bool,
    /// Whether `respond()` returns status, headers and body instead of a body only.
    pub(crate) answers_whole: bool,
    /// Whether the files in the app's folder `static` are served.
    pub(crate) sends_files: bool,
    pub(crate) content_type: Option<&'static str>,
    /// The number of classes, each in a file of its own, with an autoloader.
    pub(crate) classes: u32,
    /// Further constants, as PHP values.
    pub(crate) constants: Vec<(&'static str, String)>,
    /// Whether the app has a directory that it may write to.
    pub(crate) files: bool,
    /// DSN, user and password of the database.
    pub(crate) database: Option<[String; 3]>,
    /// Database connections of a process that serves many requests at a time.
    pub(crate) pool: u32,
    /// Further files: name and content.
    pub(crate) more: Vec<(String, Vec<u8>)>,
}

/// The file beside the script in which an app reports PHP's configuration.
const SETTINGS: &str = "settings.json";

fn template(form: Form) -> &'static str {
    match form {
        Form::Classic | Form::Native => include_str!("../../../bench/runtimes/classic.php"),
        Form::Hearth => include_str!("../../../bench/runtimes/hearth.php"),
        Form::Swoole => include_str!("../../../bench/runtimes/swoole.php"),
        Form::Workerman => include_str!("../../../bench/runtimes/workerman.php"),
        Form::Webman => include_str!("../../../bench/runtimes/webman.php"),
        Form::RoadRunner => include_str!("../../../bench/runtimes/roadrunner.php"),
        Form::FrankenPhp => include_str!("../../../bench/runtimes/frankenphp.php"),
    }
}

/// Writes the app into a directory named `name` and returns the directory.
pub(crate) fn write(content: &Content, form: Form, name: &str, dir: &RunDir) -> Result<PathBuf> {
    let directory = dir.fresh(name)?;
    if content.classes > 0 {
        write_classes(&directory, content.classes, dir)?;
    }
    if content.files {
        dir.fresh(&format!("{name}/files"))?;
    }
    dir.write(
        &directory.join("bench-settings.php"),
        include_str!("../../../bench/runtimes/settings.php"),
    )?;
    if form == Form::Classic {
        let code = "<?php\n\nrequire __DIR__ . '/bench-settings.php';\necho json_encode(bench_settings());\n";
        dir.write(&directory.join("settings.php"), code)?;
    }
    for (name, bytes) in &content.more {
        let path = directory.join(if form == Form::Hearth && name.starts_with("static/") {
            // Hearth serves the files of the folder `public` beside a resident app.
            format!("public/{name}")
        } else {
            name.clone()
        });
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(Problem::failed)?;
    }
    dir.write(&directory.join("scenario"), &content.scenario)?;
    dir.write(
        &directory.join("app.php"),
        &script(content, form, &directory),
    )?;
    Ok(directory)
}

/// Returns PHP's configuration under that runtime: requested over HTTP, or as the app wrote it when it was loaded.
pub(crate) fn settings(form: Form, app: &Path, base: &str) -> Vec<(String, String)> {
    let text = match form {
        Form::Native => return Vec::new(),
        Form::Classic => crate::probe::get(&format!("{base}/settings.php"))
            .map(|answer| answer.body)
            .unwrap_or_default(),
        _ => std::fs::read(app.join(SETTINGS)).unwrap_or_default(),
    };
    let json: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(&text).unwrap_or_default();
    json.into_iter()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn script(content: &Content, form: Form, directory: &Path) -> String {
    if content.is_whole {
        return content.code.to_owned();
    }
    let mut text = template(form).replace("/*CONSTANTS*/", &constants(content, directory));
    text = text.replace("/*APP*/", body_of(content.code));
    let settings = format!(
        "require {};\n@file_put_contents({}, json_encode(bench_settings()));",
        quoted(&directory.join("bench-settings.php").display().to_string()),
        quoted(&directory.join(SETTINGS).display().to_string())
    );
    text = text.replace("/*SETTINGS*/", &settings);
    for (mark, is_wanted) in [
        ("/*REQUEST ", content.takes_request),
        ("/*ANSWER ", content.answers_whole),
        ("/*FILES ", content.sends_files),
    ] {
        let kept = |inner: &str| {
            if is_wanted {
                inner.to_owned()
            } else {
                String::new()
            }
        };
        text = fill(&text, mark, kept);
    }
    fill(&text, "/*TYPE ", |inner| {
        content
            .content_type
            .map_or_else(String::new, |kind| inner.replace("%s", kind))
    })
}

/// Replaces the comment that begins with `mark` by the result of `with` for its inside.
fn fill(text: &str, mark: &str, with: impl Fn(&str) -> String) -> String {
    let Some((before, rest)) = text.split_once(mark) else {
        return text.to_owned();
    };
    let Some((inside, after)) = rest.split_once("*/") else {
        return text.to_owned();
    };
    format!("{before}{}{after}", with(inside))
}

/// Returns the code without the head, which the template already contains.
fn body_of(code: &str) -> &str {
    code.split_once("declare(strict_types=1);\n")
        .map_or(code, |(_, body)| body.trim())
}

/// Returns the text as a PHP string literal.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn constants(content: &Content, directory: &Path) -> String {
    let mut text = String::new();
    let mut add = |name: &str, value: &str| {
        let _ = writeln!(text, "const {name} = {value};");
    };
    let [dsn, user, password] = content.database.clone().unwrap_or_default();
    for (name, value) in [("DSN", dsn), ("USER", user), ("PASSWORD", password)] {
        add(name, &quoted(&value));
    }
    add("POOL", &content.pool.to_string());
    add("APP", &quoted(&directory.display().to_string()));
    add(
        "CLASSES",
        &quoted(&directory.join("classes").display().to_string()),
    );
    add(
        "FILES",
        &quoted(&directory.join("files").display().to_string()),
    );
    // PDO's constants need its extension, which a scenario without a database does not need.
    let options = if content.database.is_some() {
        "[PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => false]"
    } else {
        "[]"
    };
    add("DATABASE_OPTIONS", options);
    for (name, value) in &content.constants {
        add(name, value);
    }
    text.trim_end().to_owned()
}

/// Writes the classes `Bench\C001` and so on, each with ten methods in a file of its own; an autoloader with a class map,
/// as Composer generates; and functions.
fn write_classes(directory: &Path, count: u32, dir: &RunDir) -> Result<()> {
    let folder = directory.join("classes");
    std::fs::create_dir_all(&folder).map_err(Problem::failed)?;
    let mut map = String::new();
    for number in 1..=count {
        let mut code = format!(
            "<?php\n\nnamespace Bench;\n\nfinal class C{number:03}\n{{\n    public function __construct(private int $number)\n    {{\n    }}\n"
        );
        for method in 1..=10 {
            let _ = write!(
                code,
                "\n    public function method{method}(int $a): int\n    {{\n        return $a * $this->number + {method};\n    }}\n"
            );
        }
        code += "}\n";
        dir.write(&folder.join(format!("C{number:03}.php")), &code)?;
        let _ = writeln!(
            map,
            "    'Bench\\\\C{number:03}' => __DIR__ . '/C{number:03}.php',"
        );
    }
    let loader = format!(
        "<?php\n\nspl_autoload_register(static function (string $class): void {{\n    static $map = [\n{map}    ];\n    if (isset($map[$class])) {{\n        require $map[$class];\n    }}\n}});\n"
    );
    dir.write(&folder.join("autoload.php"), &loader)?;
    let functions = format!(
        "<?php\n\nfunction load_random_classes(int $number): void\n{{\n    for ($i = 0; $i < $number; $i++) {{\n        \
         class_exists(sprintf('Bench\\\\C%03d', mt_rand(1, {count})));\n    }}\n}}\n"
    );
    dir.write(&folder.join("functions.php"), &functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_app_is_whole() {
        let content = Content {
            code: "<?php\n\ndeclare(strict_types=1);\n\nfunction boot(): void {}\nfunction respond(): string { return 'ok'; }\n",
            ..Content::default()
        };
        for form in [
            Form::Classic,
            Form::Hearth,
            Form::Swoole,
            Form::Workerman,
            Form::Webman,
            Form::RoadRunner,
            Form::FrankenPhp,
        ] {
            let text = script(&content, form, Path::new("/x"));
            assert!(
                text.contains("function boot()") && text.contains("respond()"),
                "{form:?}: {text}"
            );
            assert_eq!(
                text.matches("declare(strict_types=1)").count(),
                1,
                "{form:?}"
            );
            for left in [
                "/*CONSTANTS",
                "/*APP",
                "/*REQUEST",
                "/*ANSWER",
                "/*FILES",
                "/*TYPE",
                "/*SETTINGS",
            ] {
                assert!(!text.contains(left), "{form:?} has {left}: {text}");
            }
        }
    }

    #[test]
    fn a_type_and_the_request_come_where_they_are_asked_for() {
        let content = Content {
            code: "",
            takes_request: true,
            content_type: Some("application/json"),
            ..Content::default()
        };
        let text = script(&content, Form::Classic, Path::new("/x"));
        assert!(
            text.contains("header('Content-Type: application/json');")
                && text.contains("respond(strtok("),
            "{text}"
        );
    }

    #[test]
    fn strings_are_quoted_for_php() {
        assert_eq!(quoted(r"a'b\c"), r"'a\'b\\c'");
    }
}
