//! PHP's built-in server: for development, without keep-alive; included so that its figure is shown once.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting, version_of};
use crate::problem::Result;
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::Role;
use rustix::process::Signal;
use std::path::Path;

#[derive(Clone, Copy, Debug)]
pub(super) struct PhpServer;

impl Runtime for PhpServer {
    fn about(&self) -> About {
        About {
            id: "php-s",
            name: "php -S (development)",
            form: Form::Classic,
            manner: Manner::OneAtATime,
        }
    }

    fn is_for_development(&self) -> bool {
        true
    }

    fn closes_connections(&self) -> bool {
        true
    }

    fn find(&self, tools: &Tools) -> Found {
        match tools.program("php", &["php"]) {
            Some(path) => Found::Here {
                version: version_of(&path, &["-v"]).unwrap_or_default(),
                path,
            },
            None => Found::missing("no php", "apt install php-cli"),
        }
    }

    fn start(&self, program: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let port = free_port()?;
        let mut command = launch.command(program, dir)?;
        command.env("PHP_CLI_SERVER_WORKERS", launch.workers.to_string());
        command
            .args(["-q", "-S", &format!("127.0.0.1:{port}"), "-t"])
            .arg(&launch.app);
        if launch.front_controller {
            command.arg(launch.app.join(launch.front_script()));
        }
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?
            .ended_by(Signal::KILL);
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("PHP_CLI_SERVER_WORKERS", launch.workers)],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}
