//! The user's own site, as it is, under each server, and what changes to its configuration are worth.

use super::{Arm, Around, Requests, Scenario, Shape, Work};
use crate::apps::Content;
use crate::lists::STRATEGIES;
use crate::problem::{Problem, Result};
use crate::runtimes::{Form, Runtime};
use report::{Advice, Cell, CellKey};
use std::path::{Path, PathBuf};

pub(crate) const NAME: &str = "app";

/// What the figures of a site are kept under.
pub(crate) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Your app",
    shows: "your own site under each server, and what changes to its configuration are worth",
    varies: true,
    ..Scenario::NEW
};

/// What was given on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The document root.
    pub(crate) root: PathBuf,
    /// A script that returns a handler, for the resident modes.
    pub(crate) resident: Option<PathBuf>,
    pub(crate) requests: Option<Requests>,
    /// Preload lists made from its requests, or why there are none.
    pub(crate) lists: std::result::Result<PathBuf, String>,
    /// Paths to compare between servers: the first few of the requests.
    pub(crate) paths: Vec<String>,
}

/// How many pages are looked at before they are measured.
const COMPARED: usize = 10;

impl Site {
    /// Finds the document root of a project, and reads what is to be asked for.
    pub(crate) fn of(
        directory: &Path,
        urls: Option<&Path>,
        resident: Option<&Path>,
    ) -> Result<Self> {
        let usage = |what: String| Problem::Usage(what);
        let directory = std::fs::canonicalize(directory)
            .map_err(|e| usage(format!("--app {}: {e}", directory.display())))?;
        if !directory.is_dir() {
            return Err(usage(format!(
                "--app {} is no directory: give the project or its document root",
                directory.display()
            )));
        }
        let is_root =
            |path: &PathBuf| path.join("index.php").is_file() || path.join("index.html").is_file();
        let candidates = [
            directory.join("public"),
            directory.join("web"),
            directory.join("htdocs"),
            directory.clone(),
        ];
        let root = candidates.into_iter().find(is_root);
        let root = root.ok_or_else(|| {
            usage(format!(
                "no index.php in {0}, {0}/public, {0}/web or {0}/htdocs",
                directory.display()
            ))
        })?;
        let requests = urls.map(requests_of).transpose()?;
        let paths = match &requests {
            Some(requests) => paths_of(requests)?,
            None => vec!["/".to_owned()],
        };
        let resident = resident
            .map(|script| {
                std::fs::canonicalize(script)
                    .map_err(|e| usage(format!("--resident {}: {e}", script.display())))
            })
            .transpose()?;
        Ok(Self {
            root,
            resident,
            requests,
            lists: Err("no list was made".to_owned()),
            paths,
        })
    }

    /// Each server as it would be run, and some with one thing changed.
    pub(crate) fn arms(&self, around: &Around<'_>) -> Vec<Arm> {
        let mut arms = Vec::new();
        for runtime in around
            .runtimes
            .iter()
            .filter(|one| !one.is_for_development())
        {
            let base = self.base(*runtime, around);
            let changes = base.impossible.is_none() && runtime.form() == Form::Classic;
            arms.push(base.clone());
            if changes {
                let possible = changes_of(runtime.id());
                arms.extend(possible.map(|change| change.apply(&base)));
                arms.extend(
                    STRATEGIES
                        .iter()
                        .map(|strategy| self.preloaded(&base, strategy)),
                );
            }
        }
        arms
    }

    fn base(&self, runtime: &'static dyn Runtime, around: &Around<'_>) -> Arm {
        let mut arm = Arm::fair(runtime, Work::Queries, around, Content::default());
        arm.front_controller = true;
        arm.site = Some(self.root.clone());
        // The machine's own settings, as the site has them today.
        arm.ini = Vec::new();
        let kept = Shape {
            requests: self.requests.clone(),
            ..arm.loads[0].clone()
        };
        arm.loads = vec![kept];
        match (runtime.form(), &self.resident) {
            (Form::Classic, _) => {
                let closed = Shape {
                    variant: CLOSED.to_owned(),
                    keep_alive: false,
                    ..arm.loads[0].clone()
                };
                arm.loads.push(closed);
            }
            (Form::Hearth, Some(script)) => arm.script = Some(script.clone()),
            (Form::Hearth, None) => {
                arm.impossible = Some("say which script returns the handler: --resident SCRIPT (hearth check says whether it does)".to_owned());
            }
            _ => arm.impossible = Some("a site of one's own has to be written for it".to_owned()),
        }
        arm
    }

    /// The same with a preload list.
    fn preloaded(&self, base: &Arm, strategy: &str) -> Arm {
        let mut arm = base.clone();
        arm.variant = preload_variant(strategy);
        arm.loads.truncate(1);
        match &self.lists {
            Ok(lists) => {
                let file = lists.join(format!("{strategy}.php")).display().to_string();
                arm.ini.push(("opcache.preload".to_owned(), file));
            }
            Err(why) => arm.impossible = Some(why.clone()),
        }
        arm
    }

    /// What was learned: pairs of cells that both have figures.
    pub(crate) fn advice(&self, cells: &[Cell]) -> Vec<Advice> {
        let measured = |(runtime, variant): &(&str, String)| {
            cells.iter().find(|cell| {
                cell.runtime == *runtime && cell.variant == *variant && !cell.repeats.is_empty()
            })
        };
        let changes = self.modes().into_iter().chain(
            ["hearth-classic", "fpm", "apache"]
                .into_iter()
                .flat_map(settings),
        );
        let learned = |step: Step| {
            Some(Advice {
                scenario: NAME.to_owned(),
                base: key(measured(&step.base)?),
                with: key(measured(&step.with)?),
                title: step.title,
                change: step.change,
            })
        };
        changes.filter_map(learned).collect()
    }

    /// Other servers and modes.
    fn modes(&self) -> Vec<Step> {
        let root = self.root.display();
        let mut all: Vec<Step> = ["fpm", "apache"]
            .map(|other| Step {
                title: format!("Serve it with Hearth instead of {other}"),
                change: format!("hearth serve {root}"),
                base: (other, String::new()),
                with: ("hearth-classic", String::new()),
            })
            .into();
        let Some(script) = &self.resident else {
            return all;
        };
        let script = script.display();
        all.push(Step {
            title: "Keep it in memory, one request at a time".into(),
            change: format!("hearth serve {script} --concurrency 1"),
            base: ("hearth-classic", String::new()),
            with: ("hearth-one", String::new()),
        });
        all.push(Step {
            title: "Keep it in memory, requests at the same time".into(),
            change: format!("hearth serve {script}"),
            base: ("hearth-one", String::new()),
            with: ("hearth", String::new()),
        });
        all
    }
}

/// One step from a cell to another, each by runtime and variant.
struct Step {
    title: String,
    change: String,
    base: (&'static str, String),
    with: (&'static str, String),
}

/// What can be changed under one server.
fn settings(runtime: &'static str) -> Vec<Step> {
    let step = |title: String, change: String, base: &str, with: String| Step {
        title: format!("{title} ({runtime})"),
        change,
        base: (runtime, base.to_owned()),
        with: (runtime, with),
    };
    let mut all: Vec<Step> = changes_of(runtime)
        .map(|one| step(one.title.into(), one.line.into(), "", one.variant.into()))
        .collect();
    all.extend(STRATEGIES.iter().map(|strategy| {
        step(
            format!("Preload, list {strategy}"),
            format!(
                "opcache.preload: hearth preload record, then hearth preload build --strategy {strategy}"
            ),
            "",
            preload_variant(strategy),
        )
    }));
    all.push(step(
        "Let clients keep their connections".into(),
        "keep-alive on, in the server and any proxy before it".into(),
        CLOSED,
        String::new(),
    ));
    all
}

fn preload_variant(strategy: &str) -> String {
    format!("preload {strategy}")
}

const CLOSED: &str = "no keep-alive";

/// One thing changed.
struct Change {
    variant: &'static str,
    title: &'static str,
    line: &'static str,
    /// PHP's settings; none: twice the processes.
    ini: &'static [(&'static str, &'static str)],
    /// The one server that can do that; none: all.
    only: Option<&'static str>,
}

const CHANGES: &[Change] = &[
    Change {
        variant: "files not looked at",
        title: "Do not look whether PHP files have changed",
        line: "opcache.validate_timestamps = 0 (and restart to deploy)",
        ini: &[("opcache.validate_timestamps", "0")],
        only: None,
    },
    Change {
        variant: "JIT",
        title: "Switch the JIT on",
        line: "opcache.jit = tracing, opcache.jit_buffer_size = 64M",
        ini: &[
            ("opcache.jit", "tracing"),
            ("opcache.jit_buffer_size", "64M"),
        ],
        only: None,
    },
    Change {
        variant: "twice the workers",
        title: "Run twice as many processes",
        line: "workers.count, pm.max_children",
        ini: &[],
        only: None,
    },
    Change {
        variant: "sessions in the cache",
        title: "Keep sessions in the cache that all workers share",
        line: "session.save_handler = hearth",
        ini: &[("session.save_handler", "hearth")],
        only: Some("hearth-classic"),
    },
];

/// What that server can do.
fn changes_of(runtime: &str) -> impl Iterator<Item = &'static Change> {
    CHANGES
        .iter()
        .filter(move |change| change.only.is_none_or(|only| only == runtime))
}

impl Change {
    fn apply(&self, base: &Arm) -> Arm {
        let mut arm = base.clone();
        self.variant.clone_into(&mut arm.variant);
        arm.loads.truncate(1);
        arm.ini.extend(
            self.ini
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        if self.ini.is_empty() {
            arm.workers *= 2;
            if arm.runtime.id() == "apache" {
                arm.impossible = Some("it has a process for each connection already".to_owned());
            }
        }
        arm
    }
}

fn key(cell: &Cell) -> CellKey {
    CellKey {
        runtime: cell.runtime.clone(),
        variant: cell.variant.clone(),
        column: cell.column,
        x: cell.x,
        connections: cell.connections,
    }
}

/// A list of paths, or an access log in the format that nginx and Apache call combined.
fn requests_of(file: &Path) -> Result<Requests> {
    let text = read(file)?;
    let file = std::path::absolute(file).map_err(Problem::failed)?;
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    match first {
        None => Err(Problem::Usage(format!(
            "--urls {}: no line",
            file.display()
        ))),
        Some(line) if line.contains("] \"") => Ok(Requests::AccessLog(file)),
        Some(line) if line.split_whitespace().any(|word| word.starts_with('/')) => {
            Ok(Requests::Mix(file))
        }
        Some(line) => Err(Problem::Usage(format!(
            "--urls {}: neither a path nor a line of an access log: {line}",
            file.display()
        ))),
    }
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|e| Problem::Usage(format!("--urls {}: {e}", file.display())))
}

/// The first few different paths that are asked for with GET.
fn paths_of(requests: &Requests) -> Result<Vec<String>> {
    let mut paths: Vec<String> = Vec::new();
    let text = match requests {
        Requests::Mix(file) | Requests::AccessLog(file) => read(file)?,
        Requests::Lines(lines) => lines.to_string(),
    };
    for line in text.lines() {
        let path = match requests {
            Requests::AccessLog(_) => line
                .split_once("\"GET ")
                .and_then(|(_, rest)| rest.split(' ').next()),
            Requests::Mix(_) | Requests::Lines(_)
                if ["POST", "PUT", "PATCH", "DELETE"]
                    .iter()
                    .any(|method| line.contains(method)) =>
            {
                None
            }
            Requests::Mix(_) | Requests::Lines(_) => {
                line.split_whitespace().find(|word| word.starts_with('/'))
            }
        };
        if let Some(path) = path.filter(|path| !paths.iter().any(|known| known == path)) {
            paths.push(path.to_owned());
        }
        if paths.len() == COMPARED {
            break;
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_log_is_told_from_a_list() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("urls");
        let read = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            requests_of(&file).and_then(|requests| {
                Ok((
                    matches!(requests, Requests::AccessLog(_)),
                    paths_of(&requests)?,
                ))
            })
        };
        assert_eq!(
            read("/\n10 GET /shop?a=1\n/\nPOST /cart x\n"),
            Ok((false, vec!["/".to_owned(), "/shop?a=1".to_owned()]))
        );
        let log =
            "1.2.3.4 - - [24/Nov/2026:04:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\"\n";
        assert_eq!(read(log), Ok((true, vec!["/a".to_owned()])));
        assert!(read("nonsense\n").is_err_and(|e| e.to_string().contains("nonsense")));
        assert!(read("").is_err());
    }
}
