//! `hearth preload check`: whether PHP starts with the list, the app answers the same, and the list pays off.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ::preload::{Entry, Gain, List};
use clap::ArgMatches;
use measure::text;

use super::php::Php;
use super::replay::{Comparison, Expected};
use super::serve_trial::{app, serve};
use super::start_trial::StartedPhp;
use super::{
    Failed, build, given_path, measure as timing, read_list, start_trial, usage, write_list,
};
use crate::client::{print, printable};

pub(super) fn check(given: &ArgMatches) -> Result<ExitCode, Failed> {
    let script = given_path(given, "file").unwrap_or(Path::new("preload.php"));
    let seconds = given.get_one::<f64>("seconds").copied().unwrap_or(10.0);
    if !(0.0..=3600.0).contains(&seconds) {
        return Err(usage("--seconds must be from 0 to 3600"));
    }
    let mut list = read_list(script)?;
    let real = script.canonicalize().map_err(super::on("find", script))?;
    let php = Php::new(
        given.get_one::<String>("php").map(String::as_str),
        Some(&list.settings),
    )?;
    let mut text = String::new();
    let works = starts(&php, &list, &real, &mut text)?;
    let wins = match works && !given.get_flag("no-replay") {
        true => pays(
            &php,
            &mut list,
            &real,
            Duration::from_secs_f64(seconds),
            given_path(given, "config"),
            &mut text,
        )?,
        false => works,
    };
    if let Some(target) = given_path(given, "install") {
        let pays = wins && list.gain.is_some();
        if pays {
            build::install(&list, target)?;
        }
        let not = if pays { "" } else { "not " };
        let _ = writeln!(text, "{not}installed as {}", target.display());
    }
    match print(&printable(&text)) {
        ExitCode::SUCCESS if !wins => Ok(ExitCode::FAILURE),
        code => Ok(code),
    }
}

/// Starts PHP with the list. Returns whether there is no warning, no missing class and no changed file.
fn starts(php: &Php, list: &List, script: &Path, text: &mut String) -> Result<bool, Failed> {
    let stale = list.stale_now();
    for one in stale.iter().take(5) {
        let _ = writeln!(text, "left out: {}, because {}", one.file, one.why);
    }
    let is_stale = |entry: &&Entry| stale.iter().any(|one| one.file == entry.file);
    let fresh: Vec<_> = list
        .entries
        .iter()
        .filter(|entry| !is_stale(entry))
        .cloned()
        .collect();
    let booted = match start_trial::boot(php, &script.display().to_string(), &fresh)? {
        Ok(booted) => booted,
        Err(ended) => {
            let _ = writeln!(
                text,
                "PHP {} does not start with it: {}",
                php.release,
                super::classify::last_message(&ended.errors)
            );
            return Ok(false);
        }
    };
    let is_clean = report(php, &booted, text);
    if !stale.is_empty() {
        let _ = writeln!(
            text,
            "{} of {} files have changed since; build the list again",
            stale.len(),
            list.entries.len()
        );
    }
    let _ = write!(text, "{}", advice(list, &booted));
    Ok(is_clean && stale.is_empty())
}

/// Reports the start. Returns false if PHP warned, or a class or function is missing.
fn report(php: &Php, booted: &StartedPhp, text: &mut String) -> bool {
    let _ = writeln!(text, "{}", started(php, booted));
    // An outdated app causes deprecations whenever PHP compiles a file.
    let (deprecated, warnings): (Vec<&String>, Vec<&String>) = booted
        .warnings
        .iter()
        .partition(|warning| warning.contains("Deprecated: "));
    for warning in &warnings {
        let _ = writeln!(text, "  {warning}");
    }
    if let Some(first) = deprecated.first() {
        let _ = writeln!(text, "  {} deprecations, first {first}", deprecated.len());
    }
    for name in booted.missing() {
        let _ = writeln!(text, "  {name} is not defined");
    }
    warnings.is_empty() && booted.missing().is_empty()
}

pub(super) fn started(php: &Php, booted: &StartedPhp) -> String {
    format!(
        "PHP {} starts with it: {} classes, {} functions, {} scripts, {} of memory",
        php.release,
        booted.classes,
        booted.functions,
        booted.scripts,
        text::bytes(booted.memory as f64)
    )
}

/// Returns advice on opcache's sizes.
fn advice(list: &List, booted: &StartedPhp) -> String {
    let mut text = String::new();
    let used = booted.used_memory as f64;
    let size = used + booted.free_memory as f64;
    let _ = writeln!(
        text,
        "opcache's memory: {} of {} used when PHP has started{}",
        text::bytes(used),
        text::bytes(size),
        if used > size / 2.0 {
            "; raise opcache.memory_consumption, for what is not preloaded is cached there too"
        } else {
            ""
        }
    );
    if booted.strings_size > 0 && booted.strings_used * 10 > booted.strings_size * 8 {
        let _ = writeln!(
            text,
            "interned strings fill {} of {}: raise opcache.interned_strings_buffer",
            text::bytes(booted.strings_used as f64),
            text::bytes(booted.strings_size as f64)
        );
    }
    let files: usize = list
        .settings
        .opcache
        .get("max_accelerated_files")
        .and_then(|text| text.parse().ok())
        .unwrap_or(10_000);
    let all = list.entries.len() + list.spare.len() + list.left.len();
    if all * 10 > files * 8 {
        let _ = writeln!(
            text,
            "{all} files of the app are known, and opcache.max_accelerated_files is {files}: raise it"
        );
    }
    text
}

fn pays(
    php: &Php,
    list: &mut List,
    script: &Path,
    time: Duration,
    config: Option<&Path>,
    text: &mut String,
) -> Result<bool, Failed> {
    let app = app(list).filter(|_| !list.replays.is_empty());
    let Some(app) = app else {
        let _ = writeln!(
            text,
            "no recorded path can be requested, so it is not known whether the list pays"
        );
        return Ok(false);
    };
    let without = serve(php, "without", &app, None, config)?;
    let with = serve(php, "with", &app, Some(script), config)?;
    let cold = [
        timing::cold(&without, &list.replays)?,
        timing::cold(&with, &list.replays)?,
    ];
    let expected = Expected::of(&without, &list.replays)?;
    let compared = expected.compare(&with)?;
    text.push_str(&same(&compared, expected.failing()));
    if !compared.differences.is_empty() {
        return Ok(false);
    }
    let gain = timing::gain(&without, &with, &list.replays, time, cold)?;
    let _ = write!(
        text,
        "{}",
        verdict(&gain, without.worker_memory(), with.worker_memory())
    );
    let wins = gain.wins();
    list.gain = Some(gain);
    write_list(list, script)?;
    Ok(wins)
}

/// Describes the comparison, and the paths for which it means nothing.
pub(super) fn same(compared: &Comparison, failing: Option<(usize, String)>) -> String {
    let mut text = String::new();
    if let Some((count, first)) = failing {
        let _ = writeln!(
            text,
            "{count} of {} recorded paths fail without the list too, first {first}; are the database and the environment of the app here?",
            compared.paths
        );
    }
    for difference in &compared.differences {
        let _ = writeln!(text, "with the list: {}", difference.what);
    }
    let varying = match compared.varying {
        0 => String::new(),
        n => {
            format!(
                " ({n} differ from request to request anyway: only the lines that do not were compared)"
            )
        }
    };
    if compared.differences.is_empty() {
        let _ = writeln!(
            text,
            "{} recorded paths are answered the same with and without it{varying}",
            compared.paths
        );
    }
    text
}

fn verdict(gain: &Gain, memory_without: u64, memory_with: u64) -> String {
    let interval = format!(
        "{:.1} % {}, 95 % interval of what is saved {:.1} to {:.1} %",
        gain.share.abs() * 100.0,
        if gain.share < 0.0 { "more" } else { "less" },
        gain.low * 100.0,
        gain.high * 100.0
    );
    let advice = match gain.wins() {
        true => {
            "it pays: set opcache.preload to it and restart PHP (as root, PHP needs opcache.preload_user too)"
        }
        false => "it does not pay: leave opcache.preload empty",
    };
    format!(
        "processor time per request  {:.0} µs without, {:.0} µs with: {interval} ({} requests to {} paths, in turn)\n\
         first request               {:.1} ms without, {:.1} ms with\n\
         first 100 requests          p50 {:.1} ms, p99 {:.1} ms without; p50 {:.1} ms, p99 {:.1} ms with\n\
         start of the server         {:.0} ms without, {:.0} ms with\n\
         memory of a worker          {} without, {} with\n{advice}\n",
        gain.without,
        gain.with,
        gain.requests,
        gain.paths,
        gain.cold_without.first,
        gain.cold_with.first,
        gain.cold_without.p50,
        gain.cold_without.p99,
        gain.cold_with.p50,
        gain.cold_with.p99,
        gain.boot_without,
        gain.boot_with,
        text::bytes(memory_without as f64),
        text::bytes(memory_with as f64)
    )
}
