//! The report about a list: its content by packages, what is left out and why, and the curve.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::text;

use crate::choose::{Point, Strategy};
use crate::list::List;

pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", text::count(count as u64))
}

/// Returns the owner of a file's code: a package of Composer or of Debian, or a folder of the app.
pub fn package(file: &str) -> String {
    let parts: Vec<&str> = file.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["vendor", vendor, name, ..] => format!("{vendor}/{name}"),
        ["usr", "share", "php", name, _, ..] => (*name).into(),
        ["usr", "share", name, ..] => (*name).into(),
        [first, _, ..] if !file.starts_with('/') => format!("{first}/"),
        [_] => "(the app's folder)".into(),
        // Deeper folders may belong to a cache.
        parts => format!("/{}", parts[..(parts.len() - 1).min(3)].join("/")),
    }
}

/// The most frequent reason: opcache caches such files without a list.
const NOTHING: &str = "declares nothing";

#[derive(Default)]
struct Package {
    kept: usize,
    bytes: u64,
    spare: usize,
    left: BTreeMap<String, usize>,
}

impl Package {
    fn is_shown(&self) -> bool {
        self.kept + self.spare > 0 || self.left.keys().any(|why| why != NOTHING)
    }

    /// Why files are left out, the most frequent reason first.
    fn reasons(&self) -> String {
        let reasons = self.left.iter().filter(|(why, _)| *why != NOTHING);
        let mut reasons: Vec<_> = reasons.collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let reasons: Vec<String> = reasons
            .into_iter()
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        match reasons.is_empty() {
            true => String::new(),
            false => format!("   left out: {}", reasons.join(", ")),
        }
    }
}

fn packages(list: &List) -> BTreeMap<String, Package> {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    for entry in &list.entries {
        let package = packages.entry(package(&entry.file)).or_default();
        package.kept += 1;
        package.bytes += entry.bytes;
    }
    for file in &list.spare {
        packages.entry(package(file)).or_default().spare += 1;
    }
    for (file, why) in &list.left {
        *packages
            .entry(package(file))
            .or_default()
            .left
            .entry(kind(why))
            .or_default() += 1;
    }
    packages
}

/// Returns the reason without the names in it.
fn kind(why: &str) -> String {
    let why = why.split_once([':', ';']).map_or(why, |(start, _)| start);
    let starts = [
        ("needs ", "needs a class that cannot be preloaded"),
        ("declares the ", "declared by another file too"),
        (
            "what it declares depends",
            "what it declares depends on what runs before",
        ),
        ("loads ", "its code does more than to declare"),
        ("calls ", "its code does more than to declare"),
        ("runs ", "its code does more than to declare"),
        ("defines ", "defines constants"),
    ];
    starts
        .iter()
        .find(|(start, _)| why.starts_with(start))
        .map_or(why, |(_, kind)| kind)
        .to_owned()
}

/// Returns the points where the curve passes these shares, and its last point.
fn milestones(curve: &[Point]) -> Vec<Point> {
    let passes = |share: f64| curve.iter().find(|point| point.share >= share).copied();
    let mut found: Vec<Point> = [0.5, 0.8, 0.9, 0.95, 0.99]
        .into_iter()
        .filter_map(passes)
        .chain(curve.last().copied())
        .collect();
    found.dedup();
    found
}

/// The whole report.
pub fn report(list: &List) -> String {
    let seen = match list.strategy {
        Strategy::Naive => String::new(),
        _ => format!(
            ", from {} recorded requests of {}",
            text::count(list.requests),
            counted(list.routes.len(), "route")
        ),
    };
    format!(
        "{:?}: {} preloaded{seen}; {} of opcache's memory\n{}{}",
        list.strategy,
        counted(list.entries.len(), "file"),
        text::bytes(list.memory as f64),
        curve(list),
        table(list)
    )
}

fn curve(list: &List) -> String {
    let mut text = String::new();
    let milestones = milestones(&list.curve);
    if !milestones.is_empty() {
        text.push_str("\n  files     memory   loading per request that is spared\n");
    }
    for point in milestones {
        let here = if point.files == list.entries.len() {
            "  <- this list"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "  {:>5}  {:>9}   {:>9}  {:>5.1} %{here}",
            point.files,
            text::bytes(point.bytes as f64),
            text::duration(point.nanos),
            point.share * 100.0
        );
    }
    text
}

fn table(list: &List) -> String {
    let mut text = String::from("\n  preloaded  not worth it  left out  package\n");
    let mut row = |kept: usize, spare: usize, left: usize, what: &str| {
        let _ = writeln!(text, "  {kept:>9}  {spare:>12}  {left:>8}  {what}");
    };
    let mut packages: Vec<_> = packages(list).into_iter().collect();
    packages.sort_by_key(|(_, package)| std::cmp::Reverse(package.kept));
    let (shown, silent): (Vec<_>, Vec<_>) = packages
        .into_iter()
        .partition(|(_, package)| package.is_shown());
    for (name, package) in shown {
        let left = package.left.values().sum();
        row(
            package.kept,
            package.spare,
            left,
            &format!("{name}{}", package.reasons()),
        );
    }
    if !silent.is_empty() {
        let files = silent
            .iter()
            .flat_map(|(_, package)| package.left.values())
            .sum();
        let what = format!(
            "{}, whose files declare nothing",
            counted(silent.len(), "other")
        );
        row(0, 0, files, &what);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_packages() {
        assert_eq!(
            package("vendor/laravel/framework/src/a.php"),
            "laravel/framework"
        );
        assert_eq!(package("/usr/share/php/Twig/Node/a.php"), "Twig");
        assert_eq!(
            package("/usr/share/wordpress/wp-includes/a.php"),
            "wordpress"
        );
        assert_eq!(package("app/Models/User.php"), "app/");
        assert_eq!(package("index.php"), "(the app's folder)");
        assert_eq!(package("/opt/lib/a.php"), "/opt/lib");
        assert_eq!(package("/var/lib/app/twig/1/a.php"), "/var/lib/app");
    }

    #[test]
    fn the_report_names_packages_and_reasons() {
        let mut list = crate::list::tests::list();
        list.left.insert(
            "vendor/a/b/x.php".into(),
            "needs Gone, which no preloaded file declares".into(),
        );
        list.spare.push("vendor/a/b/y.php".into());
        let text = report(&list);
        assert!(text.contains("Naive: 3 files preloaded"), "{text}");
        assert!(
            text.contains("a/b   left out: 1 needs a class that cannot be preloaded"),
            "{text}"
        );
    }
}
