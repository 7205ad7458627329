//! Options of every command line of the generator: safety, files, processes to watch.

use crate::plan::{Plan, Watch};
use crate::target::{Target, Url};
use measure::Place;
use std::path::PathBuf;
use std::time::Duration;

/// Options shared by the native command line and those of ab and wrk.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Common {
    /// Allow a target that is not this machine
    #[arg(long)]
    pub(crate) remote: bool,
    /// Write the whole result here (schema: docs/reference/load-result.schema.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the time series here, one line per second
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Count the processor time of these processes and their children as the server's
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub(crate) server_pid: Vec<u32>,
    /// Do not show progress on the terminal
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Common {
    /// Returns how to find the server's processes.
    pub(crate) fn watch(&self) -> Watch {
        if self.server_pid.is_empty() {
            Watch::Listener
        } else {
            Watch::Pids(self.server_pid.clone())
        }
    }

    /// Resolves the target; refuses other machines unless `--remote` was given.
    pub(crate) fn target(&self, text: &str) -> Result<(Url, Target), String> {
        let url = Url::parse(text)?;
        let target = Target::resolve(text, &url)?;
        if target.place == Place::Remote && !self.remote {
            return Err(format!(
                "{} ({}) is not this machine\nhint: if you may load that host, add --remote",
                target.host,
                target.address_words(),
            ));
        }
        Ok((url, target))
    }
}

/// Describes what a run is about to send to another machine.
pub(crate) fn announcement(plan: &Plan) -> String {
    let amount = match (plan.request_limit, plan.duration) {
        (Some(requests), None) => format!("{requests} requests"),
        (Some(requests), Some(length)) => {
            format!("at most {requests} requests in {} s", length.as_secs_f64())
        }
        (None, length) => format!(
            "requests for {} s",
            length.unwrap_or(Duration::ZERO).as_secs_f64()
        ),
    };
    let speed = match &plan.pace {
        crate::plan::Pace::Closed => "as fast as it answers".to_owned(),
        crate::plan::Pace::Open { stages, .. } => {
            format!(
                "up to {}/s",
                stages
                    .iter()
                    .fold(0.0_f64, |most, stage| most.max(stage.from).max(stage.to))
            )
        }
    };
    format!(
        "sending {amount} to {} ({}) over {} connections, {speed}",
        plan.target.host,
        plan.target.address_words(),
        plan.connections
    )
}
