//! Gin, in Go: the reference outside PHP that webman's guide compares itself with.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting, version_of};
use crate::problem::{Problem, Result};
use crate::process::{Process, complete};
use crate::run_dir::{RunDir, free_port};
use report::Role;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gin;

const SOURCE: &str = include_str!("../../../../bench/runtimes/gin/main.go");
const MODULE: &str = include_str!("../../../../bench/runtimes/gin/go.mod.txt");

impl Runtime for Gin {
    fn about(&self) -> About {
        About {
            id: "gin",
            name: "Gin (Go)",
            form: Form::Native,
            manner: Manner::Concurrent,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        if let Some(given) = tools.given.get("gin") {
            return match version_of(given, &["version"]) {
                Some(version) => Found::Here {
                    version,
                    path: given.clone(),
                },
                None => Found::missing(
                    format!("{} does not run", given.display()),
                    "--with gin=PROGRAM, built from bench/runtimes/gin",
                ),
            };
        }
        let how = "install Go 1.23 or later (go.dev/dl); with the network once: `hearth bench doctor --build gin`";
        let missing = |why: &str| Found::missing(why, how);
        let built = program();
        match version_of(&built, &["version"]) {
            Some(version) => Found::Here {
                version,
                path: built,
            },
            None if tools.program("go", &["go"]).is_some() => {
                missing("it has not been built here yet")
            }
            None => missing("no go"),
        }
    }

    fn start(&self, program: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let port = free_port()?;
        // A copy, because the web user may have no access to the cache.
        let copy = dir.path().join("gin");
        if !copy.exists() {
            std::fs::copy(program, &copy).map_err(Problem::failed)?;
        }
        let mut command = launch.command(&copy, dir)?;
        let scenario =
            std::fs::read_to_string(launch.app.join("scenario")).map_err(Problem::failed)?;
        command.args(["serve", scenario.trim(), &format!("127.0.0.1:{port}")]);
        command
            .env("GOMAXPROCS", launch.workers.to_string())
            .env("GIN_MODE", "release")
            .env("BENCH_APP", &launch.app);
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("GOMAXPROCS", launch.workers)],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

/// Returns the folder in which the built program is kept between runs.
fn cache() -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        std::env::var_os("XDG_CACHE_HOME")
            .map_or_else(|| home.join(".cache"), PathBuf::from)
            .join("hearth/bench")
    })
}

/// Returns the path of the program built from this source; a program from another source lacks scenarios.
fn program() -> PathBuf {
    let digest = Sha256::digest([SOURCE, MODULE].concat());
    let digits: String = digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    cache().join(format!("gin-{digits}"))
}

/// Builds the program with the machine's Go; fetches Gin from the Go module proxy if it is missing.
pub(crate) fn build(tools: &Tools) -> Result<PathBuf> {
    let go = tools
        .program("go", &["go"])
        .ok_or_else(|| Problem::failed("no go: install Go 1.23 or later (go.dev/dl)"))?;
    let source = cache().join("gin-source");
    let write = |name: &str, text: &str| std::fs::write(source.join(name), text);
    std::fs::create_dir_all(&source)
        .and_then(|()| write("main.go", SOURCE))
        .and_then(|()| write("go.mod", MODULE))
        .map_err(|e| Problem::failed(format!("{}: {e}", source.display())))?;
    let output = program().display().to_string();
    for words in [&["mod", "tidy"][..], &["build", "-o", &output, "."][..]] {
        let mut build = Command::new(&go);
        build.args(words).current_dir(&source);
        complete(&format!("go {}", words.join(" ")), &mut build)?;
    }
    Ok(program())
}
