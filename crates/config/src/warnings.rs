//! Options that were set and have no effect: they do not keep the server from starting, but their author expects something
//! from them.

use crate::problem::Problem;
use crate::raw::Raw;
use crate::settings::{Dispatch, Listen, Mode, Settings};

/// Lists unknown variables, and options that have no effect in combination with the others.
pub fn warnings(raw: &Raw, settings: &Settings) -> Vec<Problem> {
    let idle = idle(settings).into_iter();
    let idle = idle.filter(|(_, is_idle, _)| *is_idle);
    let idle = idle.filter_map(|(key, _, why)| {
        let given = raw.winner(key)?;
        Some(Problem {
            place: given.source.to_string(),
            what: format!("{key} has no effect: {why}"),
        })
    });
    raw.ignored.iter().cloned().chain(idle).collect()
}

/// Lists options, whether these settings leave them without effect, and why.
fn idle(settings: &Settings) -> Vec<(&'static str, bool, &'static str)> {
    let is_resident = settings.mode == Mode::Resident;
    let sends_no_files = is_resident && settings.site.root.is_none();
    let site =
        "this resident app answers every path itself; name the folder of its files with site.root";
    let is_unix = |listen: &Listen| matches!(listen, Listen::Unix(_));
    let has_no_unix = !settings.listen.iter().any(is_unix);
    let unix = "the server listens on no Unix socket; --listen unix:PATH adds one";
    vec![
        ("socket.mode", has_no_unix, unix),
        ("socket.owner", has_no_unix, unix),
        ("socket.group", has_no_unix, unix),
        (
            "site.root",
            !is_resident,
            "in classic mode APP is the document root",
        ),
        ("site.follow", sends_no_files, site),
        ("site.deny", sends_no_files, site),
        (
            "site.rewrite",
            is_resident,
            "a resident app answers every path itself; rules are for classic mode",
        ),
        ("site.fallback", sends_no_files, site),
        ("site.dynamic", sends_no_files, site),
        (
            "site.dynamic",
            !is_resident && settings.site.fallback.is_none(),
            "index.php answers paths that do not exist; the option is for sites with a site.fallback",
        ),
        ("site.cache_control", sends_no_files, site),
        ("site.precompressed", sends_no_files, site),
        (
            "workers.idle_timeout",
            !settings.is_elastic(),
            "the number of workers is fixed; set workers.max to let it follow the load",
        ),
        (
            "front.threads",
            settings.dispatch == Some(Dispatch::Direct),
            "with direct dispatch there is no front",
        ),
        (
            "log.access_format",
            settings.access_log.is_none(),
            "there is no access log; set log.access",
        ),
        (
            "log.slow_file",
            settings.slow_after.is_zero(),
            "no request is logged as slow; set log.slow_after",
        ),
    ]
}
