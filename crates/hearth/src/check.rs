//! `hearth check`: reads the app's code and recommends options that fit it, after a trial boot with them.

pub(crate) mod leaks;
mod preloading;
mod recommend;
mod scan;
mod trial;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::ArgMatches;
use config::{Mode, Settings};
use supervisor::{BootFailure, BootOutput, Error};

use self::recommend::Advice;
use self::scan::Scan;
use self::trial::{Booted, Failed};
use crate::client::print;
use crate::exposure::Exposure;
use crate::fail;
use crate::serve::{settings, warn};

pub(crate) fn check(matches: &ArgMatches) -> ExitCode {
    let (settings, warnings) = match settings(matches) {
        Ok(settings) => settings,
        Err(problems) => return fail(2, problems),
    };
    if matches.get_flag("leaks") {
        return leaks::check(matches, &settings);
    }
    warn(&warnings);
    let evidence = Scan::of(&settings.app);
    match settings.mode {
        Mode::Resident => check_script(&settings, &evidence),
        Mode::Classic => check_site(&settings, &evidence),
    }
}

/// Boots a script that is to be resident; what it returns decides.
fn check_script(settings: &Settings, evidence: &Scan) -> ExitCode {
    let mut printed = BootOutput::default();
    let booted = supervisor::check(settings, build_id::BUILD_ID, &mut printed);
    print_output(&settings.app.display(), &printed);
    match booted {
        Ok(booted) => {
            let what = booted.described().unwrap_or_default();
            let advice = recommend::of_script(&settings.app, &booted.handler, what, evidence);
            content(&settings.app.display(), &booted, &advice, evidence)
        }
        Err(e) => {
            let code = fail(e.exit_code(), &e);
            // That is no mistake in the script: it belongs to a classic site.
            if let Error::Boot(BootFailure::NoHandler(_)) = e {
                let advice = recommend::of_site(&settings.app, evidence);
                let _ = write!(io::stderr(), "{advice}");
            }
            code
        }
    }
}

/// Finds what to recommend for the folder of a site, or for its front controller, and tries it.
fn check_site(settings: &Settings, evidence: &Scan) -> ExitCode {
    let advice = recommend::of_site(&settings.app, evidence);
    let mut printed = BootOutput::default();
    let tried = trial::boot(&advice, settings, &mut printed);
    print_output(&advice.app.display(), &printed);
    match tried {
        Ok(Booted::Site(booted)) => {
            let exposure = Exposure::of(&settings.app, &settings.site);
            match content(&settings.app.display(), &booted, &advice, evidence) {
                ExitCode::SUCCESS if !exposure.is_empty() => print(&exposure.to_string()),
                code => code,
            }
        }
        Ok(Booted::Script(booted)) => content(&advice.app.display(), &booted, &advice, evidence),
        Err(Failed { code, why }) => {
            let code = fail(
                code,
                format_args!("the recommended way to serve this app does not work yet: {why}"),
            );
            let _ = write!(io::stderr(), "{advice}");
            code
        }
    }
}

fn content(
    what: &dyn Display,
    booted: &supervisor::Booted,
    advice: &Advice,
    evidence: &Scan,
) -> ExitCode {
    let cold = booted.cold.as_ref().map_or(String::new(), |why| {
        format!("; each worker boots it for itself: {why}")
    });
    let ran = match advice.is_resident() {
        true => "",
        false => "; none of its scripts was run",
    };
    print(&format!(
        "ok: {what} boots on PHP {}{cold}{ran}\n{advice}{}",
        booted.php,
        preloading::preloading(advice.way, evidence)
    ))
}

fn print_output(what: &dyn Display, printed: &BootOutput) {
    if !printed.is_empty() {
        let _ = writeln!(
            io::stderr(),
            "hearth: {what} printed {printed}, which no client sees"
        );
    }
}
