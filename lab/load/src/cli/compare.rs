//! `hearth load compare A.json B.json`.

use super::{FAILED, Problem, print};
use crate::view;
use clap::Parser;
use measure::compare::{compare, unlike};
use measure::{ResultFile, Run, SCHEMA};
use std::ffi::OsString;

/// Compare two saved results, with confidence intervals.
#[derive(Debug, Parser)]
#[command(name = "hearth load compare")]
struct Args {
    /// Before: a file written by --json, or several separated by commas (repeats)
    a: String,
    /// After: likewise
    b: String,
    /// Compare although these fields differ: keep-alive, loop, target, requests, http, tls, connections,
    /// streams, rate, think, machine
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    across: Vec<String>,
    /// Exit with 1 if B is worse than A by more than this with 95 % confidence, as in 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    max_regress: Option<f64>,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim();
    match number.parse::<f64>() {
        Ok(value) if (0.0..100.0).contains(&value) => Ok(value / 100.0),
        _ => Err(format!("{text:?} is not a percentage; write 5%")),
    }
}

pub(super) fn run(mut args: Vec<OsString>) -> Result<u8, Problem> {
    args[0] = "hearth load compare".into();
    let args = Args::try_parse_from(args)?;
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    for group in [&a, &b] {
        refuse_unlike(
            "the trials of one side differ",
            &group[0],
            &group[1..],
            &args.across,
        )?;
    }
    refuse_unlike(
        "A and B did not measure the same thing",
        &a[0],
        &b[..1],
        &args.across,
    )?;
    let comparison = compare(&a, &b);
    print(&view::compare::render(&args.a, &args.b, &comparison));
    let regressed = args.max_regress.is_some_and(|limit| {
        let worst = comparison.rows.iter().find(|row| row.regressed(limit));
        worst.is_some_and(|row| {
            print(&format!(
                "regression: {} is worse by more than {:.1} % at 95 %\n",
                row.name,
                limit * 100.0
            ));
            true
        })
    });
    Ok(if regressed { FAILED } else { 0 })
}

fn refuse_unlike(what: &str, a: &Run, others: &[Run], across: &[String]) -> Result<(), Problem> {
    let Some(found) = others
        .iter()
        .map(|b| unlike(a, b, across))
        .find(|found| !found.is_empty())
    else {
        return Ok(());
    };
    let lines: Vec<String> = found
        .iter()
        .map(|one| format!("  {}: {} against {}", one.field, one.a, one.b))
        .collect();
    let fields: Vec<&str> = found.iter().map(|one| one.field).collect();
    Err(Problem::Usage(format!(
        "compare refused: {what}\n{}\nhint: measure both the same way; if the difference is what you study, name it: --across {}",
        lines.join("\n"),
        fields.join(","),
    )))
}

fn read(paths: &str) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    for path in paths.split(',') {
        let wrong = |why: String| Problem::Usage(format!("{path}: {why}"));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let file: ResultFile = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("not a result of hearth load --json: {error}")))?;
        if file.schema != SCHEMA {
            return Err(wrong(format!(
                "its schema is {:?}; this program reads {SCHEMA:?}: use the version of hearth that wrote it",
                file.schema
            )));
        }
        runs.extend(file.runs);
    }
    if runs.is_empty() {
        return Err(Problem::Usage(format!("{paths}: the file contains no run")));
    }
    Ok(runs)
}
