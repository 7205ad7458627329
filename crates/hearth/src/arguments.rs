//! The command line for clap. Options come from the table of `config`.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 the command ran and failed, 2 wrong usage or configuration.";

pub(crate) fn command() -> Command {
    Command::new("hearth")
        .about("An application server for PHP: warm, concurrent, from one command")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .arg(
            Arg::new("version")
                .short('V')
                .long("version")
                .help("Version of hearth and of each hearth-php beside it")
                .action(ArgAction::SetTrue),
        )
        .subcommands([
            serve(),
            run(),
            check(),
            reload(),
            stop(),
            status(),
            crate::cache::command(),
            crate::preload::command(),
            config(),
            load(),
            bench(),
            completions(),
            man(),
        ])
}

/// Adds the right tip for a flag that was replaced or belongs to another server: its successors, not the flag with the most
/// similar name.
pub(crate) fn name_successors(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let elsewhere = config::elsewhere(flag).map(str::to_owned);
    let Some(tip) = config::successors(flag).or(elsewhere) else {
        if error.get(ContextKind::SuggestedArg).is_none() {
            // Removes "to pass it as a value, use --": no command takes such a value.
            error.remove(ContextKind::Suggested);
        }
        return error;
    };
    // The usage contains the suggested flag, too.
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Usage);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

fn serve() -> Command {
    Command::new("serve")
        .about("Serve an app, a script that runs once and returns a handler, or the folder of any PHP site")
        .after_help(
            "SIGTERM or Ctrl-C: finish the requests in flight and stop; a second one stops at once.\n\
             SIGHUP: like `hearth reload`.\n\
             Each option is also a key in hearth.toml and a variable HEARTH_KEY; `hearth config` shows them.",
        )
        .arg(config::app_argument())
        .args(config::flags(None))
}

/// For `--help`, completions and the manual only: the words of `hearth run` are passed on before clap sees them.
fn run() -> Command {
    let flag = |short: char, help: &'static str| {
        Arg::new(help)
            .short(short)
            .help(help)
            .action(ArgAction::SetTrue)
    };
    let option = |short: char, value: &'static str, help: &'static str| {
        Arg::new(help).short(short).value_name(value).help(help)
    };
    Command::new("run")
        .about("Run a PHP command-line script as `php` does, with async(), pools and waits that let others run")
        .override_usage("hearth run [--app APP] [PHP OPTION…] SCRIPT [ARG…]")
        .args([
            Arg::new("app")
                .long("app")
                .value_name("APP")
                .help("Before all other options: use the cache of the server of that app"),
            option('d', "NAME[=VALUE]", "Set a php.ini setting"),
            option('c', "PATH", "Look for php.ini there"),
            flag('n', "Read no php.ini"),
            option('f', "FILE", "Run FILE"),
            option('r', "CODE", "Run CODE, without <?php"),
            option('l', "FILE", "Check the syntax only"),
            flag('v', "Print the version"),
            flag('m', "Print the modules"),
            flag('i', "Print phpinfo()"),
        ])
        .arg(Arg::new("script").value_name("SCRIPT"))
        .arg(Arg::new("arguments").value_name("ARG").num_args(0..))
}

/// For `--help`, completions and the manual only: `hearth load` parses its own words.
fn load() -> Command {
    load::command().name("load").disable_version_flag(true)
}

/// For `--help`, completions and the manual only: `hearth bench` parses its own words.
fn bench() -> Command {
    bench::command().name("bench").disable_version_flag(true)
}

fn check() -> Command {
    Command::new("check")
        .about("Read the configuration, boot the app once, and report what is wrong")
        .arg(config::app_argument())
        .args(crate::check::leaks::arguments())
        .args(config::flags(None))
}

fn reload() -> Command {
    client("reload")
        .about("Boot the app again beside the running one, then replace that; no request is lost")
}

fn stop() -> Command {
    client("stop")
        .about("Stop a running server when its requests in flight have finished; return when it has stopped")
}

fn status() -> Command {
    let json = Arg::new("json")
        .long("json")
        .help("As JSON")
        .action(ArgAction::SetTrue);
    let pools = Arg::new("pools")
        .long("pools")
        .help("Also show which task has which connection of the pools, and since when")
        .action(ArgAction::SetTrue);
    let watch = Arg::new("live")
        .long("watch")
        .help("Repeat every second, with the rates since the last time; Ctrl-C ends it")
        .conflicts_with_all(["json", "pools"])
        .action(ArgAction::SetTrue);
    client("status")
        .about("Show a running server, its workers and its connection pools; without an app, all servers of this machine")
        .arg(json)
        .arg(pools)
        .arg(watch)
}

pub(crate) fn client(name: &'static str) -> Command {
    Command::new(name)
        .arg(config::app_argument())
        .args(config::flags(Some(&["config", "control"])))
}

fn config() -> Command {
    let reference = Arg::new("reference")
        .long("reference")
        .help("Print the reference page as Markdown")
        .action(ArgAction::SetTrue);
    Command::new("config")
        .about("Show every option, its value and the source of the value")
        .arg(config::app_argument())
        .args(config::flags(None))
        .arg(reference)
}

fn completions() -> Command {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(clap::value_parser!(clap_complete::Shell));
    Command::new("completions")
        .about("Print completions for a shell, as the package installs them")
        .arg(shell)
}

/// For makers of packages.
fn man() -> Command {
    let directory = Arg::new("directory").value_name("DIRECTORY").required(true);
    Command::new("man")
        .about("Write the manual pages to a directory")
        .hide(true)
        .arg(directory)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
