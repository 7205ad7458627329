//! The plan of `hearth preload build`, made from its arguments and the recordings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ::preload::{Candidate, Limits, Profile, Recording, Strategy};
use clap::ArgMatches;

use crate::preload::{Failed, files, given_path, record, usage};

/// The list to make: its strategy, limits and sources.
pub(super) struct Plan<'a> {
    pub(super) profile: Profile,
    pub(super) strategy: Strategy,
    pub(super) limits: Limits,
    /// Names of the files of the chosen route, for [`Strategy::Optimised`].
    pub(super) route: BTreeSet<String>,
    pub(super) root: String,
    /// Names of files, folders and classes that `--exclude` gives.
    excluded: Vec<&'a String>,
    pub(super) output: &'a Path,
}

impl Plan<'_> {
    pub(super) fn excludes(&self, one: &Candidate) -> bool {
        let mut excluded = self.excluded.iter();
        excluded.any(|excluded| self.is_called(one, excluded))
    }

    /// Whether the candidate is the file `name`, is in the folder of that name, or declares the class.
    fn is_called(&self, one: &Candidate, name: &str) -> bool {
        let path = files::absolute(&self.root, one.file());
        let mut classes = one.facts.classes.iter();
        let class = name.trim_start_matches('\\');
        path.starts_with(files::absolute(&self.root, name))
            || classes.any(|one| one.name.eq_ignore_ascii_case(class))
    }

    /// Returns a message for each name of `--exclude` that matches no candidate.
    pub(super) fn unknown(&self, candidates: &[Candidate]) -> Vec<String> {
        let is_known = |name: &str| candidates.iter().any(|one| self.is_called(one, name));
        let unknown = self.excluded.iter().filter(|name| !is_known(name));
        unknown.map(|name| format!("--exclude {name}: no file, folder or class that could be preloaded has this name\n")).collect()
    }
}

/// Returns the plan, and a message for each recording that cannot be read.
pub(super) fn plan(given: &ArgMatches) -> Result<(Plan<'_>, Vec<String>), Failed> {
    let strategy = strategy(given);
    let (profile, broken) = profile(given)?;
    let needs_requests = matches!(strategy, Strategy::Optimised | Strategy::Traffic);
    if needs_requests && profile.requests() == 0 {
        return Err(usage(
            "no request is recorded there; name a folder of `hearth preload record`, or take --strategy naive --root FOLDER",
        ));
    }
    let limits = limits(given)?;
    let route = route(given, strategy, &profile)?;
    let root = root(given_path(given, "root"), profile.latest())?;
    let output = output(given)?;
    let plan = Plan {
        profile,
        strategy,
        limits,
        route,
        root,
        excluded: given.get_many("exclude").into_iter().flatten().collect(),
        output,
    };
    Ok((plan, broken))
}

/// Returns the recordings of the given project and PHP, and a message for each that cannot be read.
fn profile(given: &ArgMatches) -> Result<(Profile, Vec<String>), Failed> {
    let named = given.get_many::<PathBuf>("recordings");
    let paths: Vec<&Path> = named.into_iter().flatten().map(PathBuf::as_path).collect();
    let (mut profile, mut broken) = record::read(&paths)?;
    let wanted = given_path(given, "root").and_then(|root| root.canonicalize().ok());
    let php = given.get_one::<String>("php").map(String::as_str);
    let wanted = wanted.as_deref().and_then(Path::to_str);
    let has =
        |recorded: &str, file: &str| files::absolute(wanted.unwrap_or(recorded), file).is_file();
    broken.extend(profile.narrow(wanted, php, has));
    Ok((profile, broken))
}

fn limits(given: &ArgMatches) -> Result<Limits, Failed> {
    let coverage = given.get_one::<f64>("coverage").copied().unwrap_or(0.99);
    if !(0.0..=1.0).contains(&coverage) {
        return Err(usage(format!(
            "--coverage {coverage} is not a share from 0 to 1"
        )));
    }
    let memory = given.get_one::<String>("memory");
    let memory = memory.map(|text| bytes(text)).transpose()?;
    Ok(Limits { coverage, memory })
}

fn output(given: &ArgMatches) -> Result<&Path, Failed> {
    let output = given_path(given, "output").unwrap_or(Path::new("preload.php"));
    if output.extension().is_none_or(|end| end != "php") {
        return Err(usage(format!(
            "--output {}: the name must end in .php",
            output.display()
        )));
    }
    files::folder_of(output)?;
    Ok(output)
}

fn strategy(given: &ArgMatches) -> Strategy {
    match given.get_one::<String>("strategy").map(String::as_str) {
        Some("none") => Strategy::None,
        Some("naive") => Strategy::Naive,
        Some("optimised") => Strategy::Optimised,
        _ => Strategy::Traffic,
    }
}

/// Returns the files of the given route, or of the most frequent one.
fn route(
    given: &ArgMatches,
    strategy: Strategy,
    profile: &Profile,
) -> Result<BTreeSet<String>, Failed> {
    let named = given.get_one::<String>("route").map(String::as_str);
    Ok(match (strategy, profile.route(named)) {
        (Strategy::Optimised, None) => {
            let known: Vec<String> = profile
                .routes()
                .into_iter()
                .map(|(route, _)| route)
                .collect();
            return Err(usage(format!(
                "--route {}: recorded are {}",
                named.unwrap_or("?"),
                known.join(", ")
            )));
        }
        (_, recording) => recording
            .map(|recording| recording.files.keys().cloned().collect())
            .unwrap_or_default(),
    })
}

/// Parses a size such as `32M` into bytes.
fn bytes(text: &str) -> Result<u64, Failed> {
    let (digits, unit) = match text.to_ascii_uppercase().strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits.to_owned(), text.to_ascii_uppercase()),
        None => (text.to_owned(), String::new()),
    };
    let shift = match unit.chars().last() {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| {
            usage(format!(
                "--memory {text} is not a number of bytes, such as 32M"
            ))
        })
}

fn root(given: Option<&Path>, recorded: Option<&Recording>) -> Result<String, Failed> {
    let path = match (given, recorded) {
        (Some(given), _) => given.to_owned(),
        (None, Some(recorded)) => PathBuf::from(&recorded.root),
        (None, None) => return Err(usage("which project? name its folder with --root")),
    };
    let real = path.canonicalize().map_err(|error| {
        usage(format!(
            "the project {}: {error}; name its folder on this machine with --root",
            path.display()
        ))
    })?;
    Ok(real.display().to_string())
}
