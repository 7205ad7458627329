//! `hearth check --leaks`: runs requests of an app and finds what they leave behind in their worker.
//!
//! A private server with one worker serves the app. Between the app's requests this command sends some of its own, which
//! `Hearth\Internal\Leaks` answers there.

mod report;
mod request_argument;
mod server;

use std::process::ExitCode;

use clap::ArgMatches;
use config::{Mode, Settings};
use serde::de::DeserializeOwned;

use self::report::{Changes, Mark, Report};
use self::request_argument::RequestArgument;
use self::server::Server;
use crate::client::print;
use crate::fail;
use crate::failed::Failed;

/// Requests of each target that fill caches before the measurement.
const FIRST: usize = 20;
/// Requests of each target in a round. What grows must do so in two rounds.
const ROUND: usize = 40;
/// The most requests of the second half of a round that are sent at the same time, if the app takes as many.
const AT_ONCE: u32 = 4;

pub(crate) fn arguments() -> [clap::Arg; 3] {
    let flag = |name: &'static str| clap::Arg::new(name).long(name);
    [
        flag("leaks")
            .help("Run requests of a resident app, and report what they leave behind in their worker")
            .action(clap::ArgAction::SetTrue),
        flag("request")
            .value_name("REQUEST")
            .help("With --leaks: a path to request, with its query, such as /cart or 'POST /cart item=7' [default: /]")
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
    let named: Vec<String> = matches
        .get_many("request")
        .map_or(vec!["/".to_owned()], |given| given.cloned().collect());
    let mut all = Vec::new();
    for text in &named {
        match RequestArgument::parse(text) {
            Some(request) => all.push(request),
            None => {
                return fail(
                    2,
                    format_args!(
                        "--request {text:?}: it is a path that begins with / and has no space, a method before it and a form behind it if \
                         need be, as in \"POST /cart item=7\""
                    ),
                );
            }
        }
    }
    let together = settings
        .concurrency
        .map_or(AT_ONCE, |most| most.min(AT_ONCE));
    match run(&all, together as usize) {
        Ok(report) if report.is_empty() => print(&report.to_string()),
        Ok(report) => {
            let _ = print(&report.to_string());
            ExitCode::from(1)
        }
        Err(Failed { code, why }) => fail(code, why),
    }
}

/// `count` requests of each target: the first half one after the other, the second half `together` at a time, mixed.
fn round(all: &[RequestArgument], count: usize, together: usize) -> Vec<Vec<&RequestArgument>> {
    let half = count / 2;
    let alone = all.iter().flat_map(|request| vec![vec![request]; half]);
    let beside: Vec<&RequestArgument> = (half..count).flat_map(|_| all).collect();
    let beside = beside.chunks(together).map(<[&RequestArgument]>::to_vec);
    alone.chain(beside).collect()
}

fn run(all: &[RequestArgument], together: usize) -> Result<Report, Failed> {
    let mut server = Server::start()?;
    let begin: Begun = run_step(&mut server, "begin")?;
    let requests = |server: &mut Server, count: usize| -> Result<(), Failed> {
        for some in round(all, count, together) {
            for (request, answer) in some.iter().zip(server.at_once(&some)?) {
                if answer.status >= 500 {
                    return Err(format!(
                        "{request} was answered {}: name requests that work{}",
                        answer.status,
                        server.log_end()
                    )
                    .into());
                }
            }
        }
        Ok(())
    };
    requests(&mut server, FIRST)?;
    let changes: Changes = run_step(&mut server, "changes")?;
    let mut marks = Vec::new();
    for round in 0..3 {
        if round > 0 {
            requests(&mut server, ROUND)?;
        }
        let mark: Mark = run_step(&mut server, "mark")?;
        if mark.worker != begin.worker {
            return Err(format!(
                "the worker was replaced meanwhile: a request has ended it{}",
                server.log_end()
            )
            .into());
        }
        marks.push(mark);
    }
    let per_round = ROUND * all.len();
    Ok(Report::new(changes, &marks[1], &marks[2], per_round))
}

#[derive(serde::Deserialize)]
struct Begun {
    worker: u32,
}

fn run_step<T: DeserializeOwned>(server: &mut Server, step: &str) -> Result<T, Failed> {
    let answer = server.get(&format!("/hearth-check-leaks?step={step}"))?;
    serde_json::from_slice(&answer.body).map_err(|_| Failed {
        code: 1,
        why: format!(
            "the worker did not answer the check: an app whose script runs a loop of its own cannot be checked{}",
            server.log_end()
        ),
    })
}
