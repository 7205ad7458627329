//! `hearth preload build`: makes a list from recordings.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use ::preload::{Candidate, Class, Graph, List, LoadCounts, Recording, Strategy, Treatment};
use clap::ArgMatches;

use self::plan::{Plan, plan};
use super::check::{same, started};
use super::classify::InspectedFiles;
use super::php::Php;
use super::{
    Failed, classify, cost, files, given_path, on, read_list, serve_trial, start_trial, write_list,
};
use crate::client::{print, printable};

/// The most paths that `check` requests again.
const MOST_REPLAYS: usize = 40;

pub(super) fn build(given: &ArgMatches) -> Result<ExitCode, Failed> {
    let (plan, broken) = plan(given)?;
    let settings = plan.profile.latest().map(|recording| &recording.settings);
    let php = Php::new(given.get_one::<String>("php").map(String::as_str), settings)?;
    let (mut list, unknown) = make(&php, &plan)?;
    let mut booted = start_trial::mend(&php, &mut list)?;
    let mut served = None;
    if !given.get_flag("no-replay") {
        let before = list.entries.len();
        served = serve_trial::serve_and_mend(&php, &mut list, given_path(given, "config"))?;
        if list.entries.len() < before {
            booted = start_trial::mend(&php, &mut list)?;
        }
    }
    write_list(&list, plan.output)?;
    let mut text = broken
        .iter()
        .map(|one| format!("left out: {one}\n"))
        .chain(unknown)
        .collect::<String>();
    text.push_str(&::preload::report(&list));
    text.push_str(&format!(
        "\n{}\n{}written to {}; see whether it pays:  hearth preload check {}\n",
        started(&php, &booted),
        served.map_or(String::new(), |shown| same(&shown.compared, shown.failing)),
        plan.output.display(),
        plan.output.display()
    ));
    Ok(print(&printable(&text)))
}

/// Makes the list. Also returns a message for each name of `--exclude` that matches nothing.
fn make(php: &Php, plan: &Plan<'_>) -> Result<(List, Vec<String>), Failed> {
    let seen = plan.profile.files();
    let names = universe(plan, &seen);
    let mut inspected = classify::inspect(php, &plan.root, &names)?;
    if plan.strategy != Strategy::Naive {
        find_missing(php, plan, &mut inspected)?;
    }
    let (mut candidates, mut left) = candidates(plan, inspected, &seen);
    let unknown = plan.unknown(&candidates);
    classify::attempt(php, &plan.root, &mut candidates)?;
    let mut graph = Graph::new(candidates);
    if matches!(plan.strategy, Strategy::Optimised | Strategy::Traffic) {
        cost::measure(php, &plan.root, &mut graph)?;
    }
    let mut list = choose(php, plan, &mut graph);
    while closes(php, &mut graph, &list)? {
        list = choose(php, plan, &mut graph);
    }
    list.left.append(&mut left);
    Ok((list, unknown))
}

/// Adds the classes that files of the list turn out to need. Returns whether there are any.
fn closes(php: &Php, graph: &mut Graph, list: &List) -> Result<bool, Failed> {
    let mut is_new = false;
    for (file, class) in start_trial::compared(php, list)? {
        is_new |= graph.require(&file, &class);
    }
    Ok(is_new)
}

fn choose(php: &Php, plan: &Plan<'_>, graph: &mut Graph) -> List {
    graph.raise_probabilities();
    let (chosen, curve) = ::preload::choose(graph, plan.strategy, &plan.route, plan.limits);
    let spare = (0..graph.candidates.len()).filter(|number| !chosen.contains(number));
    let spare = spare.map(|number| graph.candidates[number].file().to_owned());
    let latest = plan.profile.latest();
    let of = |text: fn(&Recording) -> &String| latest.map(text).cloned().unwrap_or_default();
    let mut settings = latest
        .map(|recording| recording.settings.clone())
        .unwrap_or_default();
    settings.php.clone_from(&php.release);
    List {
        format: 1,
        strategy: plan.strategy,
        made: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        root: plan.root.clone(),
        lock: of(|recording| &recording.lock),
        document_root: of(|recording| &recording.document_root),
        script: of(|recording| &recording.script),
        settings,
        requests: plan.profile.requests(),
        routes: plan.profile.routes(),
        entries: List::entries_of(graph, &chosen),
        left: graph.left.clone(),
        spare: spare.collect(),
        curve,
        replays: plan.profile.replays(MOST_REPLAYS),
        memory: 0,
        strings: 0,
        gain: None,
    }
}

/// Names of the files that may be preloaded.
fn universe(plan: &Plan<'_>, seen: &BTreeMap<String, LoadCounts>) -> Vec<String> {
    let own = plan.output.canonicalize().unwrap_or_default();
    let mut names: BTreeSet<String> = match plan.strategy {
        Strategy::None => BTreeSet::new(),
        Strategy::Naive => library(&plan.root, seen.keys())
            .iter()
            .map(|path| files::relative(&plan.root, path))
            .collect(),
        Strategy::Optimised | Strategy::Traffic => seen.keys().cloned().collect(),
    };
    names.retain(|name| {
        let path = files::absolute(&plan.root, name);
        path.is_file() && path != own && !name.ends_with("/recorder.php") && !name.contains('\n')
    });
    names.into_iter().collect()
}

/// Looks for parents, interfaces and traits that no recorded file declares, because they were preloaded or the code is
/// newer: by the name that autoloaders expect.
fn find_missing(php: &Php, plan: &Plan<'_>, inspected: &mut InspectedFiles) -> Result<(), Failed> {
    let mut all: Option<Vec<PathBuf>> = None;
    for _ in 0..8 {
        let declared = declared(inspected);
        let missing = classes(inspected)
            .flat_map(|class| &class.needs)
            .filter(|name| !declared.contains(&name.to_ascii_lowercase()));
        let ends: BTreeSet<String> = missing
            .map(|name| format!("{}.php", name.rsplit('\\').next().unwrap_or(name)))
            .collect();
        if ends.is_empty() {
            return Ok(());
        }
        let all = all.get_or_insert_with(|| library(&plan.root, inspected.keys()));
        let of_name = |path: &&PathBuf| {
            path.file_name()
                .is_some_and(|name| ends.contains(&*name.to_string_lossy()))
        };
        let names = all
            .iter()
            .filter(of_name)
            .map(|path| files::relative(&plan.root, path));
        let names: Vec<String> = names.filter(|name| !inspected.contains_key(name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        inspected.append(&mut classify::inspect(php, &plan.root, &names)?);
    }
    Ok(())
}

fn classes(inspected: &InspectedFiles) -> impl Iterator<Item = &Class> {
    let facts = inspected.values().filter_map(|one| one.as_ref().ok());
    facts.flat_map(|facts| &facts.classes)
}

/// The names of all declared classes, in lower case.
fn declared(inspected: &InspectedFiles) -> BTreeSet<String> {
    let names = classes(inspected).map(|class| class.name.to_ascii_lowercase());
    names.collect()
}

/// The project's scripts, and those of packages outside of the project that requests have loaded.
fn library<'a>(root: &str, loaded: impl Iterator<Item = &'a String>) -> Vec<PathBuf> {
    let outside = loaded.filter(|name| name.starts_with('/'));
    // For example `/usr/share/php/Twig`.
    let package = |name: &String| -> Option<PathBuf> {
        let folder: Vec<_> = Path::new(name).parent()?.components().take(5).collect();
        (folder.len() == 5).then(|| folder.into_iter().collect())
    };
    let packages: BTreeSet<PathBuf> = outside.filter_map(package).collect();
    let roots = std::iter::once(PathBuf::from(root)).chain(packages);
    roots.flat_map(|root| files::scripts(&root)).collect()
}

fn candidates(
    plan: &Plan<'_>,
    inspected: InspectedFiles,
    seen: &BTreeMap<String, LoadCounts>,
) -> (Vec<Candidate>, ::preload::LeftOut) {
    let before = read_list(plan.output)
        .map(|list| list.entries)
        .unwrap_or_default();
    let before: BTreeMap<String, f64> = before
        .into_iter()
        .map(|entry| (entry.file, entry.probability))
        .collect();
    let (mut candidates, mut left) = (Vec::new(), ::preload::LeftOut::new());
    let declared = declared(&inspected);
    for (name, facts) in inspected {
        match facts {
            Err(why) => drop(left.insert(name, why)),
            Ok(mut facts) => {
                facts.forget_loads(|class| declared.contains(&class.to_ascii_lowercase()));
                let mut candidate =
                    Candidate::new(facts, seen.get(&name).copied().unwrap_or_default());
                candidate.known = before.get(&name).copied();
                if plan.excludes(&candidate) {
                    candidate.treatment = Treatment::Leave("is left out by --exclude".into());
                }
                candidates.push(candidate);
            }
        }
    }
    let wanted = matches!(plan.strategy, Strategy::Optimised | Strategy::Traffic);
    for name in seen
        .keys()
        .filter(|name| wanted && !files::absolute(&plan.root, name).is_file())
    {
        left.insert(name.clone(), "is gone since it was recorded".into());
    }
    (candidates, left)
}

/// Writes the copy for `check --install`.
pub(super) fn install(list: &List, target: &Path) -> Result<(), Failed> {
    let folder = files::folder_of(target)?;
    std::fs::metadata(&folder).map_err(on("find the folder", &folder))?;
    write_list(list, target)
}
