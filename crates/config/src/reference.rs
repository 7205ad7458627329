//! The reference page, made from the table of options.

use std::fmt::Write;

use crate::options::{Group, Kind, OPTIONS, Opt};

/// Returns Markdown with every option.
pub fn reference() -> String {
    let mut page = String::from(
        "# Options\n\nEvery option has a dotted key. It is the same in `hearth.toml`, as a flag and in the environment; \
         a flag overrides the environment, and the environment overrides the file. `hearth config` shows each value and its \
source. This page is made from the program's own table (`hearth config --reference`).\n",
    );
    for group in Group::ALL {
        let _ = writeln!(page, "\n## {}", group.title());
        for option in OPTIONS.iter().filter(|option| option.group == group) {
            entry(&mut page, option);
        }
    }
    page
}

fn entry(page: &mut String, option: &Opt) {
    let flag = match (option.flag, option.kind) {
        (None, _) => "the first argument".to_owned(),
        (Some(flag), Kind::Switch) => format!("`--{flag}`"),
        (Some(flag), _) => format!("`--{flag} {}`", option.value),
    };
    let default = if option.default.is_empty() {
        "none".to_owned()
    } else {
        format!("`{}`", option.default)
    };
    let _ = write!(
        page,
        "\n### `{}`\n\n{}. {}\n\n- flag: {flag}\n- environment: `{}`\n- default: {default}\n- value: {}\n",
        option.key,
        option.short,
        option.long,
        option.env(),
        value(option.kind),
    );
}

fn value(kind: Kind) -> String {
    match kind {
        Kind::Path => "a path".into(),
        Kind::Directories => "a path, any number".into(),
        Kind::UrlPaths => "a path that begins with `/`, or `~ EXPRESSION`, any number".into(),
        Kind::UrlPath => "a path that begins with `/`".into(),
        Kind::Switch => "`true` or `false`".into(),
        Kind::Choice(words) => words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", "),
        Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Workers => "a whole number from 1 to 1024, or `auto`".into(),
        Kind::Seconds { zero: Some(zero) } => format!("seconds, fractions allowed; 0: {zero}"),
        Kind::Seconds { zero: None } => "seconds above 0, fractions allowed".into(),
        Kind::Listen => "`ADDR:PORT` or `unix:PATH`, any number".into(),
        Kind::Proxies => {
            "an address, a network such as `10.0.0.0/8`, `private` or `unix`, any number".into()
        }
        Kind::Mode => "octal digits such as `0660`".into(),
        Kind::Name => "a name or a number".into(),
        Kind::Address => "`ADDR:PORT`".into(),
        Kind::Redis => "the URL of a Redis".into(),
        Kind::Prefix => "printable characters".into(),
        Kind::Routes => "a pattern such as `/blog/{slug}`, any number up to 31".into(),
        Kind::LogTarget => "`off`, `stderr`, `syslog`, `syslog:PATH`, or the path of a file".into(),
        Kind::Ini => "`KEY=VALUE`, any number".into(),
        Kind::Env => "`NAME=VALUE`, any number".into(),
        Kind::Headers => "`PATTERN=VALUE`, any number".into(),
        Kind::Folders => "`PREFIX=DIR`, any number".into(),
        Kind::Rewrites => "`LOCATION=WORDS`, any number".into(),
        Kind::Bytes => "a number of bytes; `K`, `M` or `G` may follow it".into(),
        Kind::Version => "a version such as `8.4`, or `auto`".into(),
    }
}
