//! Hearth itself: this program's own `serve`, in each of its modes.

use super::{
    About, Form, Found, Launch, Manner, Runtime, START, Server, Tools, setting, version_of,
};
use crate::problem::Result;
use crate::process::Process;
use crate::request_count::Counter;
use crate::run_dir::RunDir;
use report::Role;
use std::path::Path;

#[derive(Clone, Copy, Debug)]
pub(super) struct Hearth(Mode);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Resident,
    OneAtATime,
    Classic,
}

pub(super) const RESIDENT: Hearth = Hearth(Mode::Resident);
pub(super) const ONE_AT_A_TIME: Hearth = Hearth(Mode::OneAtATime);
pub(super) const CLASSIC: Hearth = Hearth(Mode::Classic);

/// The options that PHP and Hearth need to run as root.
const AS_ROOT: [&str; 3] = ["--allow-root", "--ini", "opcache.preload_user=root"];

impl Runtime for Hearth {
    fn about(&self) -> About {
        let (id, name, form, manner) = match self.0 {
            Mode::Resident => (
                "hearth",
                "Hearth, resident",
                Form::Hearth,
                Manner::Concurrent,
            ),
            Mode::OneAtATime => (
                "hearth-one",
                "Hearth, one at a time",
                Form::Hearth,
                Manner::OneAtATime,
            ),
            Mode::Classic => (
                "hearth-classic",
                "Hearth, classic",
                Form::Classic,
                Manner::OneAtATime,
            ),
        };
        About {
            id,
            name,
            form,
            manner,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let beside = tools.hearth.with_file_name("hearth-php");
        match version_of(&tools.hearth, &["--version"]) {
            Some(version) if beside.exists() || version.contains("hearth-php") => Found::Here {
                version,
                path: tools.hearth.clone(),
            },
            _ => Found::missing(
                format!("no hearth-php beside {}", tools.hearth.display()),
                "./dev build, or install the package",
            ),
        }
    }

    fn start(&self, program: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let mut words = self.words(launch, &own);
        let mut command = if dir.may_run(program) {
            launch.command(program, dir)?
        } else {
            // The program is below a home directory that the web user may not enter: only root can run it.
            words.extend(AS_ROOT.map(str::to_owned));
            launch.own_command(program, dir)?
        };
        command.args(&words);
        let mut process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?;
        let base = process.until(START, |process| listening(&process.log()))?;
        let shown = words.iter().skip(2).cloned().collect::<Vec<_>>().join(" ");
        let mut server = Server {
            base,
            processes: vec![(Role::Server, process)],
            settings: vec![setting("hearth serve", shown)],
            counter: Some(Counter::Hearth {
                program: program.to_owned(),
                control: own.join("control"),
            }),
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

impl Hearth {
    fn words(self, launch: &Launch, own: &Path) -> Vec<String> {
        let own_script = || launch.app.join("app.php");
        let script = launch.script.clone().unwrap_or_else(own_script);
        let is_front = launch.front_controller && script.exists();
        let app = match self.0 {
            Mode::Classic if is_front => script.display().to_string(),
            Mode::Classic => launch.app.display().to_string(),
            _ => script.display().to_string(),
        };
        let mut words = vec![
            "serve".to_owned(),
            app,
            "--workers".to_owned(),
            launch.workers.to_string(),
        ];
        if self.0 == Mode::Classic && is_front {
            words.extend(["--mode".to_owned(), "classic".to_owned()]);
        }
        if self.0 == Mode::OneAtATime {
            words.extend(["--concurrency".to_owned(), "1".to_owned()]);
        }
        words.extend([
            "--listen".to_owned(),
            "127.0.0.1:0".to_owned(),
            "--control".to_owned(),
            own.join("control").display().to_string(),
        ]);
        words
    }
}

fn listening(log: &str) -> Option<String> {
    let at = log.find("listening on http")?;
    let url = log
        .get(at + "listening on ".len()..)?
        .split_whitespace()
        .next()?;
    // A line that is still being written may end without its port.
    let ends = log.get(at..)?.contains('\n');
    ends.then(|| url.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_a_whole_line() {
        assert_eq!(
            listening("x listening on http://127.0.0.1:4711\n").as_deref(),
            Some("http://127.0.0.1:4711")
        );
        assert_eq!(listening("x listening on http://127.0.0.1:47"), None);
    }
}
