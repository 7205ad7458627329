//! Advice from a site's figures: each change as a pair of cells.

use super::changes::{CLOSED, changes_of, preload_variant, variable_variant};
use super::{NAME, Site};
use crate::preload_lists::STRATEGIES;
use report::{Advice, Cell};

impl Site {
    /// Returns the advice: pairs of cells that both have figures.
    pub(crate) fn advice(&self, cells: &[Cell]) -> Vec<Advice> {
        let measured = |(runtime, variant): &(&str, String)| {
            cells.iter().find(|cell| {
                cell.runtime == *runtime && cell.variant == *variant && !cell.repeats.is_empty()
            })
        };
        let classic = ["hearth-classic", "fpm", "apache"].into_iter();
        let changes = self.modes().into_iter().chain(classic.flat_map(settings));
        let changes = changes.chain(self.of_variables());
        let learned = |step: Step| {
            Some(Advice {
                scenario: NAME.to_owned(),
                base: measured(&step.base)?.key(),
                with: measured(&step.with)?.key(),
                title: step.title,
                change: step.change,
            })
        };
        changes.filter_map(learned).collect()
    }

    /// Returns the steps of the variables that switch something in the app.
    fn of_variables(&self) -> Vec<Step> {
        let mut all = Vec::new();
        for runtime in ["hearth", "hearth-one", "hearth-classic", "fpm", "apache"] {
            all.extend(self.variables.iter().map(|variable| Step {
                title: format!("Set {} ({runtime})", variable_variant(variable)),
                change: format!(
                    "in the server's environment: {} (systemd), env[{}] (php-fpm)",
                    format_args!("Environment={}", variable_variant(variable)),
                    variable.0
                ),
                base: (runtime, String::new()),
                with: (runtime, variable_variant(variable)),
            }));
        }
        all
    }

    /// Returns the steps to other servers and modes.
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

/// A step from one cell to another, each by runtime and variant.
struct Step {
    title: String,
    change: String,
    base: (&'static str, String),
    with: (&'static str, String),
}

/// Returns the steps that change a setting of one server.
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
