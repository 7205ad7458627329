//! A bare epoll loop in C that sends the same bytes: the least that a request can cost, shown once beside the servers.

use super::{
    About, Form, Found, Launch, Manner, Runtime, START, Server, Tools, setting, version_of,
};
use crate::problem::Result;
use crate::process::{Process, complete};
use crate::run_dir::RunDir;
use report::Role;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Copy, Debug)]
pub(super) struct Epoll;

const SOURCE: &str = include_str!("../../../../bench/epoll.c");

impl Runtime for Epoll {
    fn about(&self) -> About {
        About {
            id: "epoll",
            name: "epoll loop in C",
            form: Form::Native,
            manner: Manner::Concurrent,
        }
    }

    fn is_for_development(&self) -> bool {
        true
    }

    fn find(&self, tools: &Tools) -> Found {
        let compiler = tools.program("cc", &["cc"]);
        match compiler.and_then(|path| Some((version_of(&path, &["--version"])?, path))) {
            Some((version, path)) => Found::Here { version, path },
            None => Found::missing("no cc", "apt install gcc libc6-dev"),
        }
    }

    fn start(&self, compiler: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let program = dir.path().join("epoll");
        if !program.exists() {
            let source = own.join("epoll.c");
            dir.write(&source, SOURCE)?;
            let mut compile = Command::new(compiler);
            complete("cc", compile.args(["-O2", "-o"]).arg(&program).arg(&source))?;
        }
        let command = launch.command(&program, dir)?;
        let mut process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let port: u16 = process.until(START, |process| process.log().trim_end().parse().ok())?;
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("compiled with", "cc -O2")],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}
