//! Runs the program and reads its result.

use measure::{ErrorClass, ResultFile, Run};
use std::process::{Command, Output};

/// The program with these words.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-load"));
    command.args(args).env_remove("NO_COLOR");
    command
}

/// Runs it to its end.
pub(crate) fn output(args: &[&str]) -> Output {
    command(args).output().expect("the program starts")
}

/// Runs it and reads the JSON it writes; the text is returned too.
pub(crate) fn runs(args: &[&str]) -> (Vec<Run>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let mut all = args.to_vec();
    let path = file.to_str().unwrap().to_owned();
    all.extend(["--quiet", "--json", &path]);
    let output = output(&all);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = std::fs::read_to_string(&file).unwrap_or_else(|_| {
        panic!(
            "no result: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    let result: ResultFile = serde_json::from_str(&json).expect("readable result");
    assert_eq!(result.schema, measure::SCHEMA);
    (result.runs, text)
}

/// For what a machine that others keep busy can spoil: it must hold in one of three attempts.
pub(crate) fn one_of_three(attempt: fn()) {
    let is_spoilt = || std::panic::catch_unwind(attempt).is_err();
    if is_spoilt() && is_spoilt() {
        attempt();
    }
}

/// Runs it once.
pub(crate) fn run(args: &[&str]) -> Run {
    let (mut runs, _) = runs(args);
    assert_eq!(runs.len(), 1);
    let run = runs.remove(0);
    assert_eq!(
        run.counts.started,
        run.counts.good + run.counts.failed + run.counts.unfinished
    );
    let classes: u64 = run.errors.values().sum();
    assert_eq!(classes, run.counts.failed, "every failure has one class");
    run
}

/// All failures of a run have this class, and there are some.
pub(crate) fn only(run: &Run, class: ErrorClass) {
    assert!(run.counts.failed > 0, "{:?}", run.counts);
    assert_eq!(
        run.errors_of(&[class]),
        run.counts.failed,
        "{:?} {:?}",
        run.errors,
        run.error_samples
    );
}

/// True if a rule fired.
pub(crate) fn has_verdict(run: &Run, id: &str) -> bool {
    run.verdicts.iter().any(|verdict| verdict.id == id)
}
