//! The environment variables `HEARTH_…`.

use super::{Given, Raw, Source, nearest, unknown};
use crate::options::{Kind, OPTIONS, Opt};
use crate::problem::Problem;
use crate::replaced::successors;

/// The most letters by which a mistyped name differs from an option's.
const SLIP: usize = 2;

impl Raw {
    pub(super) fn take_environment(
        &mut self,
        environment: impl IntoIterator<Item = (String, String)>,
    ) {
        for (name, value) in environment {
            let Some(rest) = name.strip_prefix("HEARTH_") else {
                continue;
            };
            let Some(option) = OPTIONS.iter().find(|option| option.env() == name) else {
                if !from_kubernetes(rest, &value) {
                    self.take_unknown_variable(name);
                }
                continue;
            };
            let separator = match option.kind {
                Kind::Listen | Kind::Proxies | Kind::Routes => ',',
                Kind::Directories | Kind::UrlPaths => ':',
                Kind::Ini | Kind::Env | Kind::Headers | Kind::Folders | Kind::Rewrites => ';',
                _ => '\0',
            };
            for text in value.split(separator).map(str::trim) {
                self.add(
                    option,
                    Given {
                        text: text.into(),
                        source: Source::Env(name.clone()),
                    },
                );
            }
        }
    }

    /// Reports an unknown variable. A mistyped name is a mistake, so that no option is silently ignored. Any other may
    /// belong to another program: an image may set `HEARTH_VERSION`, for example.
    fn take_unknown_variable(&mut self, name: String) {
        let known = || OPTIONS.iter().map(Opt::env);
        let is_slip = known().any(|other| strsim::damerau_levenshtein(&name, &other) <= SLIP);
        if is_slip || successors(&name).is_some() {
            let what = unknown("environment variable", &name, known());
            return self.problem(name, what);
        }
        let rest = |name: &str| name.trim_start_matches("HEARTH_").to_owned();
        let longer = known().find(|other| other.starts_with(&name));
        let near = longer.or_else(|| {
            nearest(&rest(&name), known().map(|other| rest(&other)))
                .map(|near| format!("HEARTH_{near}"))
        });
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        let what = format!("is set, but Hearth has no such option{hint}");
        self.ignored.push(Problem { place: name, what });
    }
}

/// Whether Kubernetes has set the variable: it gives every pod variables for each service, and those of a service called
/// "hearth" or "hearth-web" are no options. `rest` is what follows `HEARTH_`.
fn from_kubernetes(rest: &str, value: &str) -> bool {
    let is_address = |value: &str| value.starts_with("tcp://") || value.starts_with("udp://");
    let rest = format!("_{rest}");
    let port = rest.split("_PORT_").nth(1);
    rest.contains("_SERVICE_HOST")
        || rest.contains("_SERVICE_PORT")
        || port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
        || (rest.ends_with("_PORT") && (rest == "_PORT" || is_address(value)))
}
