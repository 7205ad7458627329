//! FrankenPHP: PHP in Caddy, one request at a time per thread, with or without a worker script.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting, version_of};
use crate::problem::Result;
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::Role;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Worker,
    Classic,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FrankenPhp(Mode);

pub(super) const WORKER: FrankenPhp = FrankenPhp(Mode::Worker);
pub(super) const CLASSIC: FrankenPhp = FrankenPhp(Mode::Classic);

impl Runtime for FrankenPhp {
    fn about(&self) -> About {
        let (id, name, form) = match self.0 {
            Mode::Worker => ("frankenphp-worker", "FrankenPHP, worker", Form::FrankenPhp),
            Mode::Classic => ("frankenphp-classic", "FrankenPHP, classic", Form::Classic),
        };
        About {
            id,
            name,
            form,
            manner: Manner::OneAtATime,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = "download it from frankenphp.dev, then --with frankenphp=/path/to/frankenphp";
        let missing = |why: &str| Found::missing(why, how);
        let Some(path) = tools.program("frankenphp", &["frankenphp"]) else {
            return missing("no frankenphp");
        };
        match version_of(&path, &["version"]) {
            Some(version) if version.contains("FrankenPHP") => Found::Here { version, path },
            _ => missing("frankenphp does not say its version"),
        }
    }

    fn start(&self, program: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let port = free_port()?;
        dir.write(&own.join("Caddyfile"), &self.configuration(launch, port))?;
        let mut command = launch.command(program, dir)?;
        command
            .env("XDG_CONFIG_HOME", &own)
            .env("XDG_DATA_HOME", &own)
            .env("HOME", &own);
        command
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(own.join("Caddyfile"));
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("num_threads", self.threads(launch))],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

impl FrankenPhp {
    /// Returns the number of threads: FrankenPHP needs more threads than workers, because one must be left for other
    /// scripts.
    fn threads(self, launch: &Launch) -> u32 {
        launch.workers + u32::from(self.0 == Mode::Worker)
    }

    fn configuration(self, launch: &Launch, port: u16) -> String {
        let (root, threads) = (launch.app.display(), self.threads(launch));
        let worker = if self.0 == Mode::Worker {
            format!("worker {root}/app.php {}\n", launch.workers)
        } else {
            String::new()
        };
        let script = if self.0 == Mode::Worker {
            "app.php"
        } else {
            launch.front_script()
        };
        let rewrite = if self.0 == Mode::Worker || launch.front_controller {
            format!("try_files {{path}} {script}\n")
        } else {
            String::new()
        };
        format!(
            "{{\nadmin off\nauto_https off\nfrankenphp {{\nnum_threads {threads}\n{worker}}}\n}}\nhttp://127.0.0.1:{port} {{\nroot * {root}\nroute {{\n\
             {rewrite}@php path *.php\nphp @php\nfile_server\n}}\n}}\n"
        )
    }
}
