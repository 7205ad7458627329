//! Options that were replaced, for the message about one that is not there.
//!
//! By likeness of names the message would propose another option: `--stop-timeout` for `--stall-timeout`.

use crate::options::{Opt, option};

struct Replaced {
    key: &'static str,
    flag: &'static str,
    env: &'static str,
    /// Keys.
    by: &'static [&'static str],
}

const REPLACED: &[Replaced] = &[Replaced {
    key: "http.stall_timeout",
    flag: "--stall-timeout",
    env: "HEARTH_HTTP_STALL_TIMEOUT",
    by: &["http.body_timeout", "http.send_timeout"],
}];

/// What stands in place of the option with this flag, key or environment variable, in the same form.
pub fn successors(name: &str) -> Option<String> {
    let replaced = REPLACED
        .iter()
        .find(|old| [old.key, old.flag, old.env].contains(&name))?;
    let names = replaced.by.iter().map(|key| match name {
        _ if name == replaced.flag => format!("--{}", option(key).flag.unwrap_or_default()),
        _ if name == replaced.env => Opt::env(option(key)),
        _ => (*key).to_owned(),
    });
    Some(format!(
        "\"{name}\" is now {}",
        names.collect::<Vec<_>>().join(" and ")
    ))
}

/// Flags of other servers, and what they are here.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        &["--port", "-p", "--host", "--bind", "-b", "--address", "-S"],
        "the address and the port are one option: --listen 127.0.0.1:8080",
    ),
    (
        &["--docroot", "--document-root", "-t"],
        "the folder of a site is named without a flag: `hearth serve /srv/www/blog`",
    ),
];

/// The tip for a flag that other servers have.
pub fn elsewhere(flag: &str) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(flags, _)| flags.contains(&flag))?;
    Some(known.1)
}
