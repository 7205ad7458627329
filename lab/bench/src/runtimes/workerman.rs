//! Workerman, and webman on top of it: each process serves one request at a time from an event loop.

use super::{About, Form, Found, Launch, Manner, Runtime, Server, Tools, setting};
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::Role;
use rustix::process::Signal;
use std::path::{Path, PathBuf};

/// Workerman alone, or under the framework webman.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Workerman,
    Webman,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Workerman(Kind);

pub(super) const WORKERMAN: Workerman = Workerman(Kind::Workerman);
pub(super) const WEBMAN: Workerman = Workerman(Kind::Webman);

impl Runtime for Workerman {
    fn about(&self) -> About {
        let (id, name, form) = match self.0 {
            Kind::Workerman => ("workerman", "Workerman", Form::Workerman),
            Kind::Webman => ("webman", "webman", Form::Webman),
        };
        About {
            id,
            name,
            form,
            manner: Manner::OneAtATime,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = match self.0 {
            Kind::Workerman => {
                "composer require workerman/workerman, then --with workerman=DIRECTORY (the one with vendor/)"
            }
            Kind::Webman => {
                "composer create-project workerman/webman, then --with webman=DIRECTORY"
            }
        };
        let missing = |why: String| Found::missing(why, how);
        let Some(directory) = tools.given.get(self.id()) else {
            return missing(format!(
                "no directory given with --with {}=DIRECTORY",
                self.id()
            ));
        };
        if !directory.join("vendor/autoload.php").exists() {
            return missing(format!("no vendor/autoload.php in {}", directory.display()));
        }
        let version = installed(
            directory,
            &format!(
                "workerman/{}",
                if self.0 == Kind::Workerman {
                    "workerman"
                } else {
                    "webman-framework"
                }
            ),
        );
        Found::Here {
            version: format!("{} {}", self.name(), version.unwrap_or_default()),
            path: directory.clone(),
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
        let php = tools
            .program("php", &["php"])
            .ok_or_else(|| Problem::failed("no php"))?;
        let script = match self.0 {
            Kind::Workerman => launch.app.join("app.php"),
            Kind::Webman => webman_project(program, &own, launch, port, dir)?,
        };
        let mut command = launch.command(&php, dir)?;
        command
            .arg(&script)
            .arg("start")
            .current_dir(script.parent().unwrap_or(&own));
        command
            .env("BENCH_VENDOR", program.join("vendor/autoload.php"))
            .env("BENCH_OWN", &own);
        command
            .env("BENCH_PORT", port.to_string())
            .env("BENCH_WORKERS", launch.workers.to_string());
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?
            .ended_by(Signal::KILL);
        let mut server = Server {
            base: format!("http://127.0.0.1:{port}"),
            processes: vec![(Role::Server, process)],
            settings: vec![setting("count", launch.workers)],
            counter: None,
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

/// Returns the version that Composer installed.
fn installed(directory: &Path, package: &str) -> Option<String> {
    let text = std::fs::read(directory.join("vendor/composer/installed.json")).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let packages = json.get("packages").or(Some(&json))?.as_array()?;
    let one = packages.iter().find(|one| one["name"] == package)?;
    one["version"].as_str().map(str::to_owned)
}

/// Copies the user's project, with the scenario as its only route; links `vendor` instead of copying it.
fn webman_project(
    project: &Path,
    own: &Path,
    launch: &Launch,
    port: u16,
    dir: &RunDir,
) -> Result<PathBuf> {
    let copy = own.join("project");
    let words = "mkdir -p \"$2\" && cd \"$1\" && for f in *; do case $f in vendor) ln -s \"$1/vendor\" \"$2/vendor\" ;; *) cp -R \"$f\" \"$2/\" ;; esac; done";
    let done = std::process::Command::new("sh")
        .args(["-c", words, "sh"])
        .arg(project)
        .arg(&copy)
        .status();
    if !done.is_ok_and(|status| status.success()) {
        return Err(Problem::failed(format!(
            "{} cannot be copied",
            project.display()
        )));
    }
    let route = std::fs::read_to_string(launch.app.join("app.php")).map_err(Problem::failed)?;
    dir.write(&copy.join("config/route.php"), &route)?;
    let files = launch.app.join("static");
    if files.exists() {
        std::os::unix::fs::symlink(files, copy.join("public/static")).map_err(Problem::failed)?;
    }
    for file in ["config/server.php", "config/process.php"] {
        let path = copy.join(file);
        if let Ok(text) = std::fs::read_to_string(&path) {
            dir.write(&path, &listen_on(&text, port, launch.workers))?;
        }
    }
    let _ = std::process::Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(copy.join("runtime"))
        .status();
    Ok(copy.join("start.php"))
}

/// Returns webman's configuration with another address and number of processes (`'listen' => …,` and `'count' => …,` of
/// its first entry), and without the process that looks for changed files, as under `start -d`.
fn listen_on(text: &str, port: u16, workers: u32) -> String {
    let mut seen = [false; 4];
    let keys = [
        (
            "'listen'",
            format!("'listen' => 'http://127.0.0.1:{port}',"),
        ),
        ("'count'", format!("'count' => {workers},")),
        (
            "'enable_file_monitor'",
            "'enable_file_monitor' => false,".to_owned(),
        ),
        (
            "'max_package_size'",
            "'max_package_size' => 64 * 1024 * 1024,".to_owned(),
        ),
    ];
    let mut lines = Vec::new();
    for line in text.lines() {
        let key = keys
            .iter()
            .position(|(name, _)| line.trim_start().starts_with(name));
        match key {
            Some(at) if !seen[at] => {
                seen[at] = true;
                lines.push(keys[at].1.clone());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webman_is_told_where_to_listen_once() {
        let text = "return [\n    'listen' => 'http://0.0.0.0:8787',\n    'count' => cpu_count() * 4,\n    'x' => [\n        'count' => 1,\n]];";
        let done = listen_on(text, 4711, 2);
        assert!(
            done.contains("'listen' => 'http://127.0.0.1:4711',")
                && done.contains("'count' => 2,")
                && done.contains("'count' => 1,"),
            "{done}"
        );
    }
}
