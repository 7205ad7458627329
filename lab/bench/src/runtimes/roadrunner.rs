//! RoadRunner: a Go server that passes requests to PHP workers over pipes.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting, version_of};
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::Role;
use std::path::Path;

#[derive(Clone, Copy, Debug)]
pub(super) struct RoadRunner;

impl Runtime for RoadRunner {
    fn about(&self) -> About {
        About {
            id: "roadrunner",
            name: "RoadRunner",
            form: Form::RoadRunner,
            manner: Manner::OneAtATime,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = "composer require spiral/roadrunner-http, vendor/bin/rr get; then --with roadrunner=/path/to/rr --with roadrunner-vendor=DIRECTORY";
        let missing = |why: &str| Found::missing(why, how);
        let Some(rr) = tools.program("roadrunner", &["rr"]) else {
            return missing("no rr");
        };
        match version_of(&rr, &["--version"]) {
            // Debian has another program of that name.
            Some(version)
                if version.contains("rr version")
                    || version.to_lowercase().contains("roadrunner") =>
            {
                if tools
                    .given
                    .get("roadrunner-vendor")
                    .is_some_and(|d| d.join("vendor/autoload.php").exists())
                {
                    Found::Here { version, path: rr }
                } else {
                    missing(
                        "no PHP library for it: --with roadrunner-vendor=DIRECTORY (the one with vendor/)",
                    )
                }
            }
            _ => missing("rr is not RoadRunner"),
        }
    }

    fn start(
        &self,
        program: &Path,
        tools: &Tools,
        launch: &Launch,
        dir: &RunDir,
    ) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let php = tools
            .program("php", &["php"])
            .ok_or_else(|| Problem::failed("no php"))?;
        let (port, rpc) = (free_port()?, free_port()?);
        let text = format!(
            "version: '3'\nrpc:\n  listen: tcp://127.0.0.1:{rpc}\nserver:\n  command: ['{}', '{}']\nhttp:\n  address: 127.0.0.1:{port}\n  pool:\n    num_workers: {}\n\
             logs:\n  level: error\n",
            php.display(),
            launch.app.join("app.php").display(),
            launch.workers
        );
        dir.write(&own.join("rr.yaml"), &text)?;
        let mut command = launch.command(program, dir)?;
        if let Some(vendor) = tools.given.get("roadrunner-vendor") {
            command.env("BENCH_VENDOR", vendor.join("vendor/autoload.php"));
        }
        command.args(["serve", "-c"]).arg(own.join("rr.yaml"));
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("http.pool.num_workers", launch.workers)],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}
