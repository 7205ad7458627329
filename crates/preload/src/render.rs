//! Renders `preload.php`: the list as a script for `opcache.preload`, which checks each file before it loads it.

use std::fmt::Write as _;
use std::path::Path;

use measure::text;

use crate::list::{Entry, List};
use crate::report::counted;

/// The code of the script. It leaves out everything that has changed, so that no start of PHP fails.
const BODY: &str = include_str!("preload.php");

/// Renders the script for a list that is written to this folder.
pub fn render(list: &List, folder: &Path) -> String {
    let mut files = String::new();
    for entry in &list.entries {
        let _ = writeln!(files, "        {},", line(entry));
    }
    BODY.replace("HEADER", &header(list))
        .replace("'ROOT'", &root(list, folder))
        .replace("'RELEASE'", &quoted(list.php_release()))
        .replace(
            "0 /* MEMORY */",
            &(list.memory + list.memory / 5).to_string(),
        )
        .replace("0 /* STRINGS */", &list.strings.to_string())
        .replace("        'FILES',\n", &files)
}

/// Returns the root, relative to the script if that is in the project, so that the project can be moved.
fn root(list: &List, folder: &Path) -> String {
    let depth = folder
        .strip_prefix(&list.root)
        .map(|below| below.components().count());
    match depth {
        Ok(0) => "__DIR__".into(),
        Ok(depth) => format!("dirname(__DIR__, {depth})"),
        Err(_) => quoted(&list.root),
    }
}

fn line(entry: &Entry) -> String {
    let numbers = entry
        .needs
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let names = |names: &[String]| {
        names
            .iter()
            .map(|name| quoted(name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!(
        "[{}, {}, '{}', [{numbers}], {}, [{}], [{}]]",
        quoted(&entry.file),
        entry.size,
        entry.hash,
        entry.require,
        names(&entry.classes),
        names(&entry.functions),
    )
}

/// Quotes a PHP string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn header(list: &List) -> String {
    let mut lines = vec![format!(
        "Preloads {} for PHP {}: strategy {:?}, from {} recorded requests of {}; {}.",
        counted(list.entries.len(), "file"),
        list.php_release(),
        list.strategy,
        list.requests,
        counted(list.routes.len(), "route"),
        text::bytes(list.memory as f64)
    )];
    lines.push(match &list.gain {
        None => "Not checked yet: `hearth preload check` measures whether it pays.".into(),
        Some(gain) => format!(
            "Checked: {:.0} µs of processor time per request instead of {:.0}, {:.1} % less (95 % interval {:.1} to {:.1} %), {} requests to {}; the first 100 requests: p50 {:.1} ms instead of {:.1}, p99 {:.1} ms instead of {:.1}.",
            gain.with,
            gain.without,
            gain.share * 100.0,
            gain.low * 100.0,
            gain.high * 100.0,
            gain.requests,
            counted(gain.paths, "path"),
            gain.cold_with.p50,
            gain.cold_without.p50,
            gain.cold_with.p99,
            gain.cold_without.p99
        ),
    });
    lines.join("\n * ").replace("*/", "* /")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::tests::list;

    #[test]
    fn the_script_finds_the_project_from_its_own_folder() {
        let list = list();
        assert!(render(&list, Path::new("/app")).contains("$root = __DIR__;"));
        assert!(
            render(&list, Path::new("/app/var/cache")).contains("$root = dirname(__DIR__, 2);")
        );
        assert!(render(&list, Path::new("/etc/php")).contains("$root = '/app';"));
    }

    #[test]
    fn names_are_quoted_and_parents_come_first() {
        let script = render(&list(), Path::new("/app"));
        assert!(
            script.contains(r"['it\'s \\ alone.php', 1, 'h', [], false, ['Alone'], []]"),
            "{script}"
        );
        let place = |name: &str| script.find(name).unwrap();
        assert!(place("parent.php") < place("child.php"));
        assert!(
            !["HEADER", "ROOT", "FILES", "MEMORY", "STRINGS"]
                .iter()
                .any(|left| script.contains(left)),
            "{script}"
        );
    }
}
