//! `hearth check --leaks`: what an app's requests leave in their worker, seen by running some.
//!
//! The app is served by a private server with one worker. Between its requests come some of this command's own, which
//! `Hearth\Internal\Leaks` answers there.

mod report;
mod server;

use std::process::ExitCode;

use clap::ArgMatches;
use config::{Mode, Settings};
use serde::de::DeserializeOwned;

use self::report::{Changes, Mark, Report};
use self::server::Server;
use crate::client::print;
use crate::fail;
use crate::failed::Failed;

/// What fills caches, in requests of each target.
const FIRST: usize = 20;
/// What grows must do so in two rounds of as many.
const ROUND: usize = 40;

pub(crate) fn arguments() -> [clap::Arg; 3] {
    let flag = |name: &'static str| clap::Arg::new(name).long(name);
    [
        flag("leaks")
            .help("Run requests of a resident app, and say what they leave behind in their worker")
            .action(clap::ArgAction::SetTrue),
        flag("request")
            .value_name("TARGET")
            .help("With --leaks: a path to request, with its query [default: /]")
            .requires("leaks")
            .action(clap::ArgAction::Append),
        flag(server::ARGUMENT)
            .value_name("DIRECTORY")
            .requires("leaks")
            .hide(true),
    ]
}

pub(super) fn check(matches: &ArgMatches, settings: &Settings) -> ExitCode {
    if let Some(directory) = matches.get_one::<String>(server::ARGUMENT) {
        return server::serve(settings, directory.as_ref());
    }
    if settings.mode == Mode::Classic {
        return fail(
            2,
            "--leaks is for an app that is resident: in classic mode PHP ends with each request, and nothing is left",
        );
    }
    let targets: Vec<String> = matches
        .get_many("request")
        .map_or(vec!["/".to_owned()], |given| given.cloned().collect());
    if let Some(target) = targets.iter().find(|target| !is_target(target)) {
        return fail(
            2,
            format_args!("--request {target:?}: a path begins with /, and has no space"),
        );
    }
    match run(&targets) {
        Ok(report) if report.is_empty() => print(&report.to_string()),
        Ok(report) => {
            let _ = print(&report.to_string());
            ExitCode::from(1)
        }
        Err(Failed { code, why }) => fail(code, why),
    }
}

fn is_target(target: &str) -> bool {
    target.starts_with('/') && target.chars().all(|one| one.is_ascii_graphic())
}

fn run(targets: &[String]) -> Result<Report, Failed> {
    let mut server = Server::start()?;
    let begin: Begun = ask(&mut server, "begin")?;
    let requests = |server: &mut Server, count: usize| -> Result<(), Failed> {
        for target in targets.iter().flat_map(|target| vec![target; count]) {
            let status = server.get(target)?.status;
            if status >= 500 {
                return Err(format!(
                    "GET {target} was answered {status}: name requests that work{}",
                    server.said()
                )
                .into());
            }
        }
        Ok(())
    };
    requests(&mut server, FIRST)?;
    let changes: Changes = ask(&mut server, "changes")?;
    let mut marks = Vec::new();
    for round in 0..3 {
        if round > 0 {
            requests(&mut server, ROUND)?;
        }
        let mark: Mark = ask(&mut server, "mark")?;
        if mark.worker != begin.worker {
            return Err(format!(
                "the worker was replaced meanwhile: a request has ended it{}",
                server.said()
            )
            .into());
        }
        marks.push(mark);
    }
    let per_round = ROUND * targets.len();
    Ok(Report::new(changes, &marks[1], &marks[2], per_round))
}

#[derive(serde::Deserialize)]
struct Begun {
    worker: u32,
}

fn ask<T: DeserializeOwned>(server: &mut Server, step: &str) -> Result<T, Failed> {
    let answer = server.get(&format!("/hearth-check-leaks?step={step}"))?;
    serde_json::from_slice(&answer.body).map_err(|_| Failed {
        code: 1,
        why: format!(
            "the worker did not answer the check: an app whose script runs a loop of its own cannot be looked at{}",
            server.said()
        ),
    })
}
