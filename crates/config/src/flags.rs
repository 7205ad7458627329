//! Flags for clap, made from the table of options.

use clap::{Arg, ArgAction, ArgMatches, ValueHint};

use crate::options::{Group, Kind, OPTIONS, Opt, option};
use crate::raw::{Given, Source};

/// The positional argument APP.
pub fn app_argument() -> Arg {
    let app = option("app");
    Arg::new(app.key)
        .value_name(app.value)
        .help(app.short)
        .long_help(app.long)
        .value_hint(ValueHint::FilePath)
}

/// Flags for these keys, or for all of them.
pub fn flags(keys: Option<&[&str]>) -> Vec<Arg> {
    let wanted = |option: &&Opt| keys.is_none_or(|keys| keys.contains(&option.key));
    let grouped = Group::ALL
        .into_iter()
        .flat_map(|g| OPTIONS.iter().filter(move |o| o.group == g));
    grouped.filter(wanted).filter_map(flag).collect()
}

fn flag(option: &'static Opt) -> Option<Arg> {
    let default = match (option.kind, option.default) {
        (Kind::Switch, _) | (_, "") => String::new(),
        (_, default) => format!(" [default: {default}]"),
    };
    let arg = Arg::new(option.key)
        .long(option.flag?)
        .help(format!("{}{default}", option.short))
        .help_heading(option.group.title());
    Some(match option.kind {
        Kind::Switch => arg.action(ArgAction::SetTrue),
        // The same letter as that of the php command.
        Kind::Ini => arg
            .short('d')
            .action(ArgAction::Append)
            .value_name(option.value)
            .allow_hyphen_values(true),
        _ if option.repeatable() => arg
            .action(ArgAction::Append)
            .value_name(option.value)
            .allow_hyphen_values(true),
        _ => arg
            .action(ArgAction::Set)
            .value_name(option.value)
            .allow_hyphen_values(true),
    })
}

/// Converts what the user typed for [`crate::Raw`].
pub fn matches_to_given(matches: &ArgMatches) -> Vec<(&'static Opt, Given)> {
    let mut given = Vec::new();
    for option in OPTIONS {
        let source = match option.flag {
            Some(flag) => Source::Flag(flag),
            None => Source::Argument,
        };
        if option.kind == Kind::Switch {
            if let Ok(Some(true)) = matches.try_get_one::<bool>(option.key) {
                given.push((
                    option,
                    Given {
                        text: "true".into(),
                        source,
                    },
                ));
            }
        } else if let Ok(Some(values)) = matches.try_get_many::<String>(option.key) {
            given.extend(values.map(|text| {
                (
                    option,
                    Given {
                        text: text.clone(),
                        source: source.clone(),
                    },
                )
            }));
        }
    }
    given
}
