//! The user's own site under each server, and the effect of changes to its configuration.

mod advice;
mod changes;
mod urls;

use super::{Arm, Around, Requests, Scenario, Shape, Work};
use crate::apps::Content;
use crate::preload_lists::STRATEGIES;
use crate::problem::{Problem, Result};
use crate::runtimes::{Form, Runtime};
use changes::{CLOSED, changes_of, preload_variant, with_variable};
use std::path::{Path, PathBuf};
use urls::{paths_of, requests_of};

pub(crate) const NAME: &str = "app";

/// The scenario of a site's figures.
pub(crate) const SCENARIO: Scenario = Scenario {
    name: NAME,
    title: "Your app",
    shows: "your own site under each server, and what changes to its configuration are worth",
    varies: true,
    ..Scenario::NEW
};

/// A site, as given on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The document root.
    pub(crate) root: PathBuf,
    /// A script that returns a handler, for the resident modes.
    pub(crate) resident: Option<PathBuf>,
    pub(crate) requests: Option<Requests>,
    /// The folder of preload lists made from its requests, or why there are none.
    pub(crate) lists: std::result::Result<PathBuf, String>,
    /// Paths that are compared between servers: the first few of the requests.
    pub(crate) paths: Vec<String>,
    /// Variables that switch something in the app, each tried on its own.
    pub(crate) variables: Vec<(String, String)>,
}

/// Returns the document root of a project: the first of the usual folders that contains a page.
fn root_of(project: &Path) -> Result<PathBuf> {
    let project = std::fs::canonicalize(project)
        .map_err(|e| Problem::Usage(format!("--app {}: {e}", project.display())))?;
    let name = project.display();
    if !project.is_dir() {
        return Err(Problem::Usage(format!(
            "--app {name} is no directory: give the project or its document root"
        )));
    }
    let is_root =
        |path: &PathBuf| path.join("index.php").is_file() || path.join("index.html").is_file();
    let folders = ["public", "web", "htdocs"].map(|folder| project.join(folder));
    let mut folders = folders.into_iter().chain([project.clone()]);
    folders.find(is_root).ok_or_else(|| {
        Problem::Usage(format!(
            "no index.php in {name}, {name}/public, {name}/web or {name}/htdocs"
        ))
    })
}

impl Site {
    /// Finds the document root of a project, and reads the requests.
    pub(crate) fn of(
        directory: &Path,
        urls: Option<&Path>,
        resident: Option<&Path>,
        variables: &[(String, String)],
    ) -> Result<Self> {
        let root = root_of(directory)?;
        let requests = urls.map(requests_of).transpose()?;
        let paths = match &requests {
            Some(requests) => paths_of(requests)?,
            None => vec!["/".to_owned()],
        };
        let resident = resident
            .map(|script| {
                std::fs::canonicalize(script)
                    .map_err(|e| Problem::Usage(format!("--resident {}: {e}", script.display())))
            })
            .transpose()?;
        Ok(Self {
            root,
            resident,
            requests,
            lists: Err("no list was made".to_owned()),
            paths,
            variables: variables.to_vec(),
        })
    }

    /// Returns each server as it would be run, and some with one thing changed.
    pub(crate) fn arms(&self, around: &Around<'_>) -> Vec<Arm> {
        let mut arms = Vec::new();
        for runtime in around
            .runtimes
            .iter()
            .filter(|one| !one.is_for_development())
        {
            let base = self.base(*runtime, around);
            arms.push(base.clone());
            if base.impossible.is_some() {
                continue;
            }
            if runtime.form() == Form::Classic {
                let possible = changes_of(runtime.id());
                arms.extend(possible.map(|change| change.apply(&base)));
                let preloaded = |strategy: &&str| self.preloaded(&base, strategy);
                arms.extend(STRATEGIES.iter().map(preloaded));
            }
            let variables = self.variables.iter();
            arms.extend(variables.map(|variable| with_variable(&base, variable)));
        }
        arms
    }

    fn base(&self, runtime: &'static dyn Runtime, around: &Around<'_>) -> Arm {
        let mut arm = Arm::fair(runtime, Work::Queries, around, Content::default());
        arm.front_controller = true;
        arm.site = Some(self.root.clone());
        arm.decides = true;
        // The machine's own settings, which the site has today.
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
                arm.impossible = Some("give the script that returns the handler: --resident SCRIPT (hearth check tells whether a script does)".to_owned());
            }
            _ => arm.impossible = Some("the site has to be written for it".to_owned()),
        }
        arm
    }

    /// Returns the arm with a preload list.
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
}
