//! `hearth preload explain`: why a class, function or file is in a list, or is not.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use ::preload::{Entry, List};
use clap::ArgMatches;
use measure::text;

use super::{Failed, given_path, read_list};
use crate::client::{print, printable};

pub(super) fn explain(given: &ArgMatches) -> Result<ExitCode, Failed> {
    let name: &String = given.get_one("name").expect("clap asks for one");
    let list = read_list(given_path(given, "file").unwrap_or(Path::new("preload.php")))?;
    match explanation(&list, name) {
        Some(text) => Ok(print(&printable(&text))),
        None => Err(format!(
            "{name}: no class or function of a preloaded file, and no file that requests have loaded; a class that is left out is found by its file"
        )
        .into()),
    }
}

fn explanation(list: &List, name: &str) -> Option<String> {
    let wanted = name.trim_start_matches('\\');
    let is_file = |file: &str| {
        file == name
            || Path::new(name)
                .strip_prefix(&list.root)
                .is_ok_and(|path| Path::new(file) == path)
    };
    let declares = |entry: &&Entry| {
        let mut names = entry
            .classes
            .iter()
            .chain(&entry.functions)
            .chain(&entry.conditional);
        names.any(|one| one.eq_ignore_ascii_case(wanted)) || is_file(&entry.file)
    };
    if let Some(entry) = list.entries.iter().find(declares) {
        return Some(of_entry(list, entry));
    }
    let tail = format!("{}.php", wanted.rsplit('\\').next().unwrap_or(wanted));
    let fits =
        |file: &str| is_file(file) || Path::new(file).file_name().is_some_and(|end| end == &*tail);
    let mut text = String::new();
    for (file, why) in list.left.iter().filter(|(file, _)| fits(file)) {
        let _ = writeln!(text, "{file} is left out: {why}");
    }
    for file in list.spare.iter().filter(|file| fits(file)) {
        let _ = writeln!(
            text,
            "{file} could be preloaded, and is not: what it would save is beyond the coverage or memory of the list"
        );
    }
    (!text.is_empty()).then_some(text)
}

fn of_entry(list: &List, entry: &Entry) -> String {
    let how = if entry.require {
        "run when PHP starts, because its code decides what it declares"
    } else {
        "compiled when PHP starts, not run"
    };
    let mut text = format!(
        "{} is preloaded: {how}\n  {:.1} % of requests need it; loading it takes {}, and its code {} of opcache's memory\n",
        entry.file,
        entry.probability * 100.0,
        text::duration(entry.nanos),
        text::bytes(entry.bytes as f64)
    );
    let declared = [&entry.classes, &entry.functions, &entry.conditional];
    let declared: Vec<&str> = declared.into_iter().flatten().map(String::as_str).collect();
    let _ = writeln!(text, "  declares {}", declared.join(", "));
    let needs: Vec<&str> = entry
        .needs
        .iter()
        .map(|other| list.entries[*other].file.as_str())
        .collect();
    if !needs.is_empty() {
        let _ = writeln!(text, "  needs {}", needs.join(", "));
    }
    let place = list
        .entries
        .iter()
        .position(|other| other.file == entry.file)
        .unwrap_or(0);
    let needed: Vec<&str> = list
        .entries
        .iter()
        .filter(|other| other.needs.contains(&place))
        .map(|other| other.file.as_str())
        .collect();
    if !needed.is_empty() {
        let _ = writeln!(text, "  needed by {}", needed.join(", "));
    }
    text
}
