//! Projects as `composer create-project` makes them, with the packages that Debian has of their frameworks.
//!
//! Composer itself makes them, from `tests/skeletons`, and runs the scripts of the skeleton; the packages are Debian's folders.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// Where Debian keeps a package.
const DEBIAN: [(&str, &str); 8] = [
    ("guzzlehttp/guzzle", "GuzzleHttp"),
    ("laravel/framework", "Illuminate"),
    ("symfony/console", "Symfony/Component/Console"),
    ("symfony/dotenv", "Symfony/Component/Dotenv"),
    ("symfony/framework-bundle", "Symfony/Bundle/FrameworkBundle"),
    ("symfony/mime", "Symfony/Component/Mime"),
    ("symfony/runtime", "Symfony/Component/Runtime"),
    ("symfony/yaml", "Symfony/Component/Yaml"),
];

/// Classes that Composer itself uses, and their folders in those packages.
const CLASSES: [(&str, &str, &str); 2] = [
    (
        "laravel/framework",
        "Illuminate\\Foundation\\",
        "Foundation/",
    ),
    ("symfony/runtime", "Symfony\\Component\\Runtime\\", ""),
];

/// A project of a skeleton, in a folder of its own.
pub(crate) struct Project {
    home: tempfile::TempDir,
}

impl Project {
    /// The Laravel of this Debian.
    pub(crate) fn laravel() -> Project {
        let major = constant("Illuminate/Foundation/Application.php", "const VERSION = '");
        Project::create(&format!("laravel-{major}"))
    }

    /// The Symfony of this Debian.
    pub(crate) fn symfony() -> Project {
        let major = constant(
            "Symfony/Component/HttpKernel/Kernel.php",
            "MAJOR_VERSION = ",
        );
        Project::create(&format!("symfony-{major}.4"))
    }

    fn create(skeleton: &str) -> Project {
        let home = testkit::temporary();
        let from = testkit::checkout().join("tests/skeletons").join(skeleton);
        let config = json!({
            "config": { "allow-plugins": true },
            "repositories": { "packagist.org": false, "debian": { "type": "package", "package": packages(&from) } },
        });
        std::fs::write(home.path().join("config.json"), config.to_string()).expect("a file");
        let project = Project { home };
        let create = ["create-project", "hearth/skeleton", "shop", "--no-dev"];
        if skeleton.starts_with("laravel") {
            project.composer(&create);
        } else {
            // Of Symfony's scripts those of Flex are left out, which Debian does not have.
            project.composer(&[create.as_slice(), &["--no-scripts"]].concat());
            project.composer(&["dump-autoload", "--working-dir=shop"]);
        }
        project
    }

    fn composer(&self, words: &[&str]) {
        let output = Command::new("composer")
            .args(words)
            .arg("--no-interaction")
            .current_dir(self.home.path())
            .env("COMPOSER_HOME", self.home.path())
            .env("COMPOSER_ALLOW_SUPERUSER", "1")
            .output()
            .expect("composer starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(output.status.success(), "composer {words:?}: {text}");
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("shop")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
}

/// The number behind `before` in one of Debian's files.
fn constant(file: &str, before: &str) -> String {
    let text =
        std::fs::read_to_string(Path::new("/usr/share/php").join(file)).expect("the package");
    let (_, rest) = text.split_once(before).expect("its version");
    rest.chars().take_while(char::is_ascii_digit).collect()
}

/// The skeleton, and all that it requires: Debian's, or nothing where a first page does without.
fn packages(skeleton: &Path) -> Vec<Value> {
    let text = std::fs::read(skeleton.join("composer.json")).expect("a skeleton");
    let root: Value = serde_json::from_slice(&text).expect("JSON");
    let mut all = vec![json!({
        "name": "hearth/skeleton", "version": "1.0.0", "type": "project",
        "dist": { "type": "path", "url": skeleton }, "transport-options": { "symlink": false },
    })];
    for key in ["require", "require-dev"] {
        let names = root[key].as_object().into_iter().flatten();
        // The others are PHP and its extensions.
        let names = names.filter(|(name, _)| name.contains('/'));
        all.extend(names.map(|(name, constraint)| {
            package(name, &least(constraint.as_str().expect("a constraint")))
        }));
    }
    all.push(package("symfony/mime", "1.0.0"));
    all
}

/// The lowest version that fits.
fn least(constraint: &str) -> String {
    let digits = constraint.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
    let version = digits[..end.unwrap_or(digits.len())].trim_end_matches('.');
    format!("{version}.0")
}

fn package(name: &str, version: &str) -> Value {
    let ours = testkit::checkout()
        .join("tests/skeletons/packages")
        .join(name);
    if ours.is_dir() {
        return json!({
            "name": name, "version": version, "dist": { "type": "path", "url": ours }, "autoload": { "classmap": ["."] },
        });
    }
    let Some((_, folder)) = DEBIAN.iter().find(|(known, _)| *known == name) else {
        return json!({ "name": name, "version": version, "type": "metapackage" });
    };
    let classes: serde_json::Map<String, Value> = CLASSES
        .iter()
        .filter(|(package, ..)| *package == name)
        .map(|(_, prefix, folder)| ((*prefix).to_owned(), json!(folder)))
        .collect();
    let is_plugin = name == "symfony/runtime";
    json!({
        "name": name, "version": version,
        "type": if is_plugin { "composer-plugin" } else { "library" },
        "require": if is_plugin { json!({ "composer-plugin-api": "^1.0|^2.0" }) } else { json!({}) },
        "extra": { "class": "Symfony\\Component\\Runtime\\Internal\\ComposerPlugin" },
        "dist": { "type": "path", "url": Path::new("/usr/share/php").join(folder) },
        "autoload": { "psr-4": classes, "files": ["autoload.php"] },
    })
}
