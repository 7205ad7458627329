//! Messages for options that were replaced, and for flags of other servers.
//!
//! By similarity of names the message would suggest the wrong option: `--stop-timeout` for `--stall-timeout`.

use crate::options::{Opt, option};

struct Replaced {
    key: &'static str,
    flag: &'static str,
    env: &'static str,
    /// The keys of its successors.
    by: &'static [&'static str],
}

const REPLACED: &[Replaced] = &[Replaced {
    key: "http.stall_timeout",
    flag: "--stall-timeout",
    env: "HEARTH_HTTP_STALL_TIMEOUT",
    by: &["http.body_timeout", "http.send_timeout"],
}];

/// Returns the successors of the option with this flag, key or environment variable, in the same form.
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

/// Flags of other servers, and the advice for each.
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

/// Returns the advice for a flag of another server.
pub fn elsewhere(flag: &str) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(flags, _)| flags.contains(&flag))?;
    Some(known.1)
}
