//! Swoole's HTTP server, in its two modes.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting, version_of};
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::Role;
use std::path::{Path, PathBuf};

/// The part of Swoole that accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Each worker.
    Base,
    /// Threads of a master process, which pass requests on: the mode of the write-ups of 2019.
    Process,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Swoole(Mode);

pub(super) const BASE: Swoole = Swoole(Mode::Base);
pub(super) const PROCESS: Swoole = Swoole(Mode::Process);

impl Runtime for Swoole {
    fn about(&self) -> About {
        let (id, name) = match self.0 {
            Mode::Base => ("swoole-base", "Swoole, base"),
            Mode::Process => ("swoole-process", "Swoole, process"),
        };
        About {
            id,
            name,
            form: Form::Swoole,
            manner: Manner::Concurrent,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = "pecl install swoole, then `extension=swoole` in php.ini or --with swoole=/path/to/swoole.so";
        let missing = |why: &str| Found::missing(why, how);
        let Some(php) = tools.program("php", &["php"]) else {
            return missing("no php");
        };
        match version(&php, tools) {
            Some(version) => Found::Here {
                version: format!("Swoole {version}"),
                path: php,
            },
            None => missing("php has no extension swoole"),
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
        let port = free_port()?;
        let mode = if self.0 == Mode::Base {
            "base"
        } else {
            "process"
        };
        let mut command = launch.command(program, dir)?;
        command.args(extension(tools).map(|file| format!("-dextension={}", file.display())));
        command.arg(launch.app.join("app.php"));
        command
            .env("BENCH_PORT", port.to_string())
            .env("BENCH_WORKERS", launch.workers.to_string())
            .env("BENCH_MODE", mode);
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![
                setting("worker_num", launch.workers),
                setting("mode", mode),
                setting("hook_flags", "SWOOLE_HOOK_ALL"),
            ],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

/// Returns the extension's file, if it is not in php.ini.
fn extension(tools: &Tools) -> Option<&PathBuf> {
    tools.given.get("swoole")
}

fn version(php: &Path, tools: &Tools) -> Option<String> {
    let mut words: Vec<String> = extension(tools)
        .map(|file| format!("-dextension={}", file.display()))
        .into_iter()
        .collect();
    words.extend(["-r", "echo phpversion('swoole') ?: 'none';"].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let version = version_of(php, &words)
        .ok_or_else(|| Problem::failed("php does not run"))
        .ok()?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}
