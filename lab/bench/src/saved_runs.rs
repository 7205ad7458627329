//! Commands on saved results: compare two, render one again, put one into a README.

use crate::output::write;
use crate::problem::{Problem, Result};
use clap::Parser;
use report::Run;
use report::compare::{Gate, compare};
use report::terminal::Style;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare the cells that two saved results have in common, each change with its interval
#[derive(Debug, Parser)]
#[command(name = "hearth bench compare")]
struct Compare {
    /// Before: a file written by --json or --output
    before: PathBuf,
    /// After: likewise
    after: PathBuf,
    /// Exit with 1 if a rate has fallen by more than this with 95 % confidence, as in 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    max_regress: Option<f64>,
    /// Compare although the machines differ
    #[arg(long)]
    across_machines: bool,
    /// Print Markdown, for a pull request
    #[arg(long)]
    markdown: bool,
}

/// Print the summary of a saved result, or write its report to a file
#[derive(Debug, Parser)]
#[command(name = "hearth bench show")]
struct Show {
    /// A file written by --json or --output
    result: PathBuf,
    /// Write the report as HTML to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the report as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Write the figures of a saved result between the markers of a README
#[derive(Debug, Parser)]
#[command(name = "hearth bench readme")]
struct Readme {
    /// A file written by --json or --output
    result: PathBuf,
    /// The file with the markers
    #[arg(default_value = "README.md")]
    readme: PathBuf,
}

/// Runs the command that the arguments begin with; returns `None` if they begin with none.
pub(crate) fn run(words: &[OsString]) -> Option<ExitCode> {
    let done = match words.first()?.to_str()? {
        "compare" => parsed(words, compare_files),
        "show" => parsed(words, show),
        "readme" => parsed(words, readme),
        _ => return None,
    };
    Some(done)
}

fn parsed<Args: Parser>(words: &[OsString], verb: fn(&Args) -> Result<u8>) -> ExitCode {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match verb(&args) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "hearth bench: {problem}");
            ExitCode::from(if matches!(problem, Problem::Usage(_)) {
                2
            } else {
                1
            })
        }
    }
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    let number = text.trim_end_matches('%').trim();
    match number.parse::<f64>() {
        Ok(value) if (0.0..100.0).contains(&value) => Ok(value / 100.0),
        _ => Err(format!("{text:?} is not a percentage; write 5%")),
    }
}

fn compare_files(args: &Compare) -> Result<u8> {
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let gate = Gate {
        across_machines: args.across_machines,
        max_regress: args.max_regress,
    };
    let found = compare(&before, &after, gate);
    print_text(&if args.markdown {
        found.markdown()
    } else {
        found.text(Style::detect())
    });
    Ok(found.exit_code())
}

fn show(args: &Show) -> Result<u8> {
    let run = read(&args.result)?;
    if let Some(path) = &args.html {
        write(path, &report::html(&run))?;
    }
    if let Some(path) = &args.markdown {
        write(path, &report::markdown(&run))?;
    }
    if args.html.is_none() && args.markdown.is_none() {
        print_text(&report::terminal::summary(&run, Style::detect()));
    }
    Ok(0)
}

fn readme(args: &Readme) -> Result<u8> {
    let run = read(&args.result)?;
    let text = read_text(&args.readme)?;
    let new = report::readme::replace(&text, &report::readme::section(&run))
        .map_err(|why| Problem::Usage(format!("{}: {why}", args.readme.display())))?;
    write(&args.readme, &new)?;
    Ok(0)
}

fn read(path: &Path) -> Result<Run> {
    Run::read(&read_text(path)?)
        .map_err(|error| Problem::Usage(format!("{}: {error}", path.display())))
}

fn read_text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Problem::Usage(format!("cannot read {}: {error}", path.display())))
}

/// Prints to standard output; ignores a reader that has closed it.
fn print_text(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
