//! Preload lists for the user's own site: the site's requests are recorded under one of the servers, and `hearth preload`
//! makes the lists.

use crate::load::{Amount, Generator, Load};
use crate::problem::{Problem, Result};
use crate::process::complete;
use crate::run_dir::RunDir;
use crate::runtimes::{Form, Found, Launch, Runtime, Tools, Tuning};
use crate::scenarios::Around;
use crate::scenarios::app::Site;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Strategies of `hearth preload build` that are compared with no list.
pub(crate) const STRATEGIES: [&str; 3] = ["naive", "optimised", "traffic"];
/// Seconds for which the site's requests are recorded.
const RECORDED_S: f64 = 2.0;

/// Records the site and makes a list by each strategy; returns the folder with `STRATEGY.php`.
pub(crate) fn make(
    site: &Site,
    around: &Around<'_>,
    tools: &Tools,
    dir: &RunDir,
    stop: &AtomicBool,
) -> Result<PathBuf> {
    let own = dir.fresh("lists")?;
    let recording = own.join("recording");
    let mut record = dir.command_of(&tools.hearth);
    record
        .args(["preload", "record"])
        .arg(&recording)
        .args(["--every", "0"]);
    complete("hearth preload record", &mut record)?;
    serve_recorded(site, around, tools, dir, &recording, stop)?;
    for strategy in STRATEGIES {
        let mut build = dir.command_of(&tools.hearth);
        build
            .args(["preload", "build"])
            .arg(&recording)
            .args(["--strategy", strategy, "-o"]);
        build.arg(own.join(format!("{strategy}.php")));
        complete("hearth preload build", &mut build)?;
    }
    Ok(own)
}

/// Returns the first server that runs the site's files as they are.
fn classic_server(around: &Around<'_>, tools: &Tools) -> Option<(&'static dyn Runtime, PathBuf)> {
    let mut fit = around
        .runtimes
        .iter()
        .filter(|one| one.form() == Form::Classic && !one.is_for_development());
    fit.find_map(|one| match tools.find(*one) {
        Found::Here { path, .. } => Some((*one, path)),
        Found::Missing { .. } => None,
    })
}

/// Serves the site under the first server that runs it as it is, with the recorder before each request, and loads it.
fn serve_recorded(
    site: &Site,
    around: &Around<'_>,
    tools: &Tools,
    dir: &RunDir,
    recording: &Path,
    stop: &AtomicBool,
) -> Result<()> {
    let (runtime, program) = classic_server(around, tools)
        .ok_or_else(|| Problem::failed("no server runs the site as it is"))?;
    let launch = Launch {
        app: site.root.clone(),
        script: None,
        workers: 2,
        connections: 4,
        tuning: Tuning::Fair,
        front_controller: true,
        tls: None,
        compress: false,
        ini: vec![(
            "auto_prepend_file".to_owned(),
            recording.join("recorder.php").display().to_string(),
        )],
        environment: Vec::new(),
        name: "recorded".to_owned(),
    };
    let server = runtime.start(&program, tools, &launch, dir)?;
    let load = Load {
        amount: Amount::Seconds(RECORDED_S),
        requests: site.requests.clone(),
        ..Load::closed(format!("{}/", server.base), 2, RECORDED_S)
    };
    let generator = Generator {
        program: tools.hearth.clone(),
        processors: dir.processors.clone(),
    };
    generator
        .run(&load, &[], &dir.path().join("load.json"), stop)
        .map(|_| ())
}
