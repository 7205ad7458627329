//! `state [--jobs N] [--known FILE] [--ini NAME=VALUE]... [--endings] PATH...`: finds what scripts and `.phpt` files
//! leave in the engine's memory.
//!
//! With `--endings`, also after a fatal error, a time limit, or a client that leaves. A path is a PHP file, a `.phpt` or
//! a folder of them. The last line of output is that of cargo's test binaries, so that one counter reads them all.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::state::{Checker, Finding, Script};

/// The findings at one place in memory.
#[derive(Default)]
struct Place {
    values: String,
    moments: Vec<&'static str>,
    tests: Vec<String>,
}

#[derive(Default)]
struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
    known: usize,
    places: BTreeMap<String, Place>,
}

struct Arguments {
    jobs: usize,
    serve: Vec<String>,
    endings: bool,
    known: Vec<Known>,
    files: Vec<PathBuf>,
}

/// A line of `tests/state/known`: a finding that is not a failure.
struct Known {
    /// The end of the test's path, or a folder in that path.
    test: String,
    place: String,
}

impl Known {
    /// Reads all lines of the file; returns `None` if the file cannot be read.
    fn read_all(path: &str) -> Option<Vec<Self>> {
        let text = std::fs::read_to_string(path).ok()?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Some(
            lines
                .filter_map(|line| {
                    let mut words = line.split_whitespace();
                    Some(Self {
                        test: words.next()?.to_owned(),
                        place: words.next()?.to_owned(),
                    })
                })
                .collect(),
        )
    }

    fn is(&self, file: &Path, finding: &Finding) -> bool {
        let path = file.to_string_lossy();
        let same = if self.test.ends_with('/') {
            path.contains(&self.test)
        } else {
            path.ends_with(&self.test)
        };
        same && finding.place.contains(&self.place)
    }
}

fn arguments() -> Option<Arguments> {
    let (mut jobs, mut endings) = (2, false);
    let mut serve = Vec::new();
    let mut known = Vec::new();
    let mut files = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--jobs" => jobs = words.next()?.parse().ok()?,
            "--endings" => endings = true,
            "--known" => known = Known::read_all(&words.next()?)?,
            "--ini" => serve.extend(["--ini".to_owned(), words.next()?]),
            path => gather(Path::new(path), &mut files),
        }
    }
    files.sort();
    (!files.is_empty()).then_some(Arguments {
        jobs,
        serve,
        endings,
        known,
        files,
    })
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        let is_probes = path.ends_with("probes");
        for entry in entries.flatten().map(|entry| entry.path()) {
            let is_script = entry
                .extension()
                .is_some_and(|extension| extension == "phpt" || (is_probes && extension == "php"));
            if is_script || entry.is_dir() {
                gather(&entry, files);
            }
        }
    } else {
        files.push(path.to_owned());
    }
}

fn main() -> ExitCode {
    let Some(Arguments {
        jobs,
        serve,
        endings,
        known,
        files,
    }) = arguments()
    else {
        eprintln!(
            "usage: state [--jobs N] [--known FILE] [--ini NAME=VALUE]... [--endings] PATH..."
        );
        return ExitCode::from(2);
    };
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut checker = Checker::new(serve.clone());
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(&mut checker, (file, endings), &known, &report);
                }
            });
        }
    });
    print_report(
        &report
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

fn run(
    checker: &mut Checker,
    (file, endings): (&Path, bool),
    known: &[Known],
    report: &Mutex<Report>,
) {
    let script = if file
        .extension()
        .is_some_and(|extension| extension == "phpt")
    {
        Script::from_phpt(file)
    } else {
        file.canonicalize()
            .map(Script::of)
            .map_err(|error| error.to_string())
    };
    let mut check = |script: Script| {
        let mut findings = checker.check(&script)?;
        if endings {
            findings.extend(checker.check_endings(&script)?);
        }
        Ok(findings)
    };
    let outcome =
        script.and_then(|script| check(script).map_err(|why: testkit::state::Unchecked| why.0));
    let mut report = report
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcome = outcome.map(|mut findings| {
        let all = findings.len();
        findings.retain(|finding| !known.iter().any(|one| one.is(file, finding)));
        report.known += all - findings.len();
        findings
    });
    match outcome {
        Ok(findings) if findings.is_empty() => report.passed += 1,
        Ok(findings) => {
            report.failed += 1;
            for finding in findings {
                note(&mut report, file, finding);
            }
        }
        Err(why) => {
            report.skipped += 1;
            println!("skip {}: {why}", file.display());
        }
    }
}

fn note(report: &mut Report, file: &Path, finding: Finding) {
    let name = file.display().to_string();
    if !report.places.contains_key(&finding.place) {
        println!("found {} in {name}", finding.place);
    }
    let place = report.places.entry(finding.place).or_default();
    if place.tests.last() != Some(&name) {
        place.tests.push(name);
    }
    if !place.moments.contains(&finding.moment.name()) {
        place.moments.push(finding.moment.name());
    }
    if place.values.is_empty() {
        place.values = finding.values;
    }
}

fn print_report(report: &Report) -> ExitCode {
    for (name, place) in &report.places {
        println!(
            "FAIL {name}\n     seen {}, {}, in {} tests: {}",
            place.moments.join(" and "),
            place.values,
            place.tests.len(),
            place
                .tests
                .iter()
                .take(4)
                .cloned()
                .collect::<Vec<_>>()
                .join(" ")
        );
    }
    if report.known > 0 {
        println!("{} findings are known", report.known);
    }
    let word = if report.failed == 0 { "ok" } else { "FAILED" };
    println!(
        "test result: {word}. {} passed; {} failed; {} ignored",
        report.passed, report.failed, report.skipped
    );
    if report.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
