//! `hearth-php`: the process in which PHP runs. `hearth` starts it as zygote or for `hearth run`.
#![forbid(unsafe_code)]

mod balance;
mod classic;
mod cli;
mod collector;
mod connection;
mod front_link;
mod host;
mod io;
mod lifecycle;
mod pools;
mod request;
mod response;
mod script_cache;
mod slow_log;
mod tick;
mod waiting;
mod watchdog;
mod worker;

use std::ffi::OsString;
use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

use build_id::BUILD_ID;

const USAGE: &str = "\
hearth-php is started by hearth: use `hearth serve` or `hearth run`.
It also takes the options of the php command: `hearth-php [php options] SCRIPT [ARG…]`.";

/// What the hooks ask in a forked copy of this process.
static FORKING: hook::Forking = hook::Forking {
    goes_on: php::forks_for_itself,
    handed_on: php::handed_on,
    own_children: php::own_children,
    child_ended: php::child_ended,
};

/// Runs as zygote, as `hearth run` or as the php command. PHP scripts start more PHP by the constant PHP_BINARY, which names
/// this program. So arguments that are not words of `hearth` are those of the php command, and under the name `php` all are.
fn main() -> ExitCode {
    logging::set_process("worker");
    hook::when_forked(&FORKING);
    let mut args = std::env::args_os();
    let is_php = args
        .next()
        .is_some_and(|own| std::path::Path::new(&own).file_name() == Some("php".as_ref()));
    let args: Vec<OsString> = args.collect();
    let word = args.first().and_then(|word| word.to_str());
    match word.filter(|_| !is_php) {
        Some("zygote") => {
            let cold = args
                .get(1)
                .filter(|flag| *flag == "--cold")
                .and_then(|_| args.get(2)?.to_str());
            zygote::run(
                zygote::inherited_channel(),
                cold.map(str::to_owned),
                BUILD_ID,
                worker::main,
            )
        }
        Some("run") => cli::main(&args[1..]),
        Some("--version") => {
            let _ = writeln!(
                std::io::stdout(),
                "hearth-php {} with PHP {}, built for PHP {}",
                BUILD_ID,
                php::version(),
                php::series()
            );
            ExitCode::SUCCESS
        }
        None if args.is_empty() && !is_php && std::io::stdin().is_terminal() => {
            let _ = writeln!(std::io::stderr(), "{USAGE}");
            ExitCode::from(2)
        }
        _ => cli::main(&args),
    }
}
