//! `--watch`: reloads when a PHP file of the app changes.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::event::{Command, Event, Events};

/// How long no change may come before a reload: editors write a file in several steps, and version control writes many
/// files.
const QUIET: Duration = Duration::from_millis(100);
/// Folders that programs write, not people: a reload for each compiled template would never end.
const IGNORED: &[&str] = &["cache", "node_modules", "storage", "var"];

/// Watches until the returned value is dropped.
pub(crate) fn start(app: &Path, events: Events) -> notify::Result<RecommendedWatcher> {
    let root = project(app);
    let (sender, changes) = unbounded_channel();
    let within = root.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let changed = match event {
            Ok(event) if event.need_rescan() => Some(within.clone()),
            Ok(event) if writes(&event.kind) => {
                event.paths.into_iter().find(|path| counts(path, &within))
            }
            Ok(_) => None,
            // Too many changes to list: something has changed.
            Err(_) => Some(within.clone()),
        };
        if let Some(path) = changed {
            let _ = sender.send(path);
        }
    })?;
    watcher.watch(&root, RecursiveMode::Recursive)?;
    logging::info!("watching for changes of PHP files below {}", root.display());
    tokio::spawn(reload_when_quiet(changes, events));
    Ok(watcher)
}

/// The folder of the app, or the project that contains it: an app is more than `public/index.php`.
fn project(app: &Path) -> PathBuf {
    let marked = |dir: &&Path| {
        ["composer.json", "hearth.toml"]
            .iter()
            .any(|f| dir.join(f).is_file())
    };
    let folder = app.parent().unwrap_or(Path::new("."));
    app.ancestors()
        .skip(1)
        .find(marked)
        .unwrap_or(folder)
        .into()
}

fn writes(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) => true,
        EventKind::Remove(_) | EventKind::Other => true,
    }
}

fn counts(path: &Path, root: &Path) -> bool {
    let ignored = |part: Component<'_>| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with('.') || IGNORED.contains(&&*name)
    };
    path.extension() == Some(OsStr::new("php"))
        && path
            .strip_prefix(root)
            .is_ok_and(|inside| !inside.components().any(ignored))
}

async fn reload_when_quiet(mut changes: UnboundedReceiver<PathBuf>, events: Events) {
    while let Some(first) = changes.recv().await {
        while let Ok(Some(_)) = tokio::time::timeout(QUIET, changes.recv()).await {}
        logging::info!("changed: {}", first.display());
        events.send(Event::Command(Command::Reload(None)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_people_write_counts() {
        let root = Path::new("/srv/shop");
        for path in ["app.php", "src/a/B.php", "templates/x.html.php"] {
            assert!(counts(&root.join(path), root), "{path}");
        }
        for path in [
            "var/cache/dev/c.php",
            "storage/v.php",
            ".git/x.php",
            "a/.x.php.swp",
            "x.html",
            "../o.php",
        ] {
            assert!(!counts(&root.join(path), root), "{path}");
        }
        assert!(counts(
            Path::new("/var/cache/app/a.php"),
            Path::new("/var/cache/app")
        ));
    }

    #[test]
    fn the_project_is_what_has_a_composer_file() {
        let dir = tempfile::tempdir().unwrap();
        let app = dir.path().join("public/index.php");
        assert_eq!(project(&app), dir.path().join("public"));
        std::fs::write(dir.path().join("composer.json"), "{}").unwrap();
        assert_eq!(project(&app), dir.path());
    }

    #[tokio::test]
    async fn a_change_asks_for_one_reload() {
        let dir = tempfile::tempdir().unwrap();
        let (sender, mut happened) = unbounded_channel();
        let watcher = start(&dir.path().join("app.php"), Events(sender)).unwrap();
        std::fs::create_dir(dir.path().join("cache")).unwrap();
        std::fs::write(dir.path().join("cache/x.php"), "").unwrap();
        std::fs::write(dir.path().join("app.php"), "1").unwrap();
        std::fs::write(dir.path().join("app.php"), "2").unwrap();
        assert!(matches!(
            happened.recv().await,
            Some(Event::Command(Command::Reload(None)))
        ));
        drop(watcher);
        assert!(happened.recv().await.is_none(), "asked twice");
    }
}
