//! Changes to the configuration of a site's server, one at a time.

use crate::scenarios::Arm;

/// The variant of the load without kept connections.
pub(super) const CLOSED: &str = "no keep-alive";

pub(super) fn preload_variant(strategy: &str) -> String {
    format!("preload {strategy}")
}

/// Returns the name of a variable's variant, as the user types it.
pub(super) fn variable_variant((name, value): &(String, String)) -> String {
    format!("{name}={value}")
}

/// Returns the arm with an environment variable by which the app switches something: a pool, persistent connections,
/// another cache.
pub(super) fn with_variable(base: &Arm, variable: &(String, String)) -> Arm {
    let mut arm = base.clone();
    arm.variant = variable_variant(variable);
    arm.loads.truncate(1);
    arm.environment.push(variable.clone());
    arm
}

/// A change of one setting.
pub(super) struct Change {
    pub(super) variant: &'static str,
    pub(super) title: &'static str,
    pub(super) line: &'static str,
    /// The settings of PHP; none: twice the processes.
    ini: &'static [(&'static str, &'static str)],
    /// The only server that has the setting; none: all have it.
    only: Option<&'static str>,
}

const CHANGES: &[Change] = &[
    Change {
        variant: "files not checked",
        title: "Do not check whether PHP files have changed",
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

/// Returns the changes that a server has.
pub(super) fn changes_of(runtime: &str) -> impl Iterator<Item = &'static Change> {
    CHANGES
        .iter()
        .filter(move |change| change.only.is_none_or(|only| only == runtime))
}

impl Change {
    pub(super) fn apply(&self, base: &Arm) -> Arm {
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
