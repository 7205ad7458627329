//! `hearth run`: runs a script or code in place of the php command.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use php::{Boot, Cli, Run};

use crate::host::ProcessHost;
use crate::script_cache;

const USAGE: &str = "\
Usage: hearth run [options] SCRIPT [ARG…]
       hearth run [options] -r CODE [--] [ARG…]
       hearth run [options] < SCRIPT

  --app APP        before all other options: use the cache of the server of that app
  -d NAME[=VALUE]  set a php.ini setting; the value is an expression of php.ini
  -c PATH          look for php.ini there
  -n               read no php.ini
  -f FILE          run FILE
  -r CODE          run CODE, without <?php
  -l FILE          check the syntax only
  -v, -m, -i       print version, modules, phpinfo()
";

/// A parsed command line.
#[derive(Debug, Default, PartialEq)]
struct Command {
    boot: Settings,
    run: Option<Run>,
    args: Vec<OsString>,
    /// The app whose server's cache the script uses.
    app: Option<OsString>,
}

#[derive(Debug, Default, PartialEq)]
struct Settings {
    ini: Vec<(OsString, OsString)>,
    ini_path: Option<OsString>,
    no_ini: bool,
}

/// Returns the rest of a word behind `-x` or `-x=`.
fn attached(word: &[u8]) -> &OsStr {
    OsStr::from_bytes(word.strip_prefix(b"=").unwrap_or(word))
}

/// Parses a setting of `-d` as the php command does.
fn setting(word: &OsStr) -> Result<(OsString, OsString), String> {
    let (name, value) = php::ini_setting(word);
    match php::ini_mistake(&name, &value) {
        None => Ok((name, value)),
        Some(mistake) => Err(format!("-d: {mistake}")),
    }
}

/// Parses the arguments as the php command does: options up to the script or `--`; `-dKEY=VALUE` and `-d KEY=VALUE` are the
/// same. File names and values are bytes: they need not be UTF-8.
fn parse(args: &[OsString]) -> Result<Command, String> {
    let mut command = Command::default();
    let mut lint = false;
    let mut rest = args.iter();
    if let [flag, app, ..] = args
        && flag == "--app"
    {
        command.app = Some(app.clone());
        rest = args[2..].iter();
    }
    while let Some(arg) = rest.next() {
        let (letter, tail) = match arg.as_bytes() {
            b"--" => {
                command.args.extend(rest.cloned());
                break;
            }
            [b'-', letter, tail @ ..] => (char::from(*letter), tail),
            _ if command.run.is_none() => {
                command.run = Some(Run::File(arg.clone()));
                // As with the php command, `--` directly behind the script belongs to the script.
                command.args.extend(rest.cloned());
                break;
            }
            _ => {
                command.args.push(arg.clone());
                command.args.extend(rest.cloned());
                break;
            }
        };
        let mut value = || {
            if !tail.is_empty() {
                return Ok(attached(tail).to_owned());
            }
            rest.next()
                .cloned()
                .ok_or_else(|| format!("-{letter} needs a value"))
        };
        match letter {
            'd' => command.boot.ini.push(setting(&value()?)?),
            'c' => command.boot.ini_path = Some(value()?),
            'n' => command.boot.no_ini = true,
            'f' => command.run = Some(Run::File(value()?)),
            'r' => command.run = Some(Run::Code(value()?)),
            'l' => lint = true,
            'q' | 'C' | 'H' => {}
            'v' | 'm' | 'i' => command.run = Some(Run::Info(letter)),
            _ => return Err(format!("unknown option {}", arg.display())),
        }
    }
    if let (true, Some(Run::File(path))) = (lint, &command.run) {
        command.run = Some(Run::Lint(path.clone()));
    }
    Ok(command)
}

pub(crate) fn main(args: &[OsString]) -> ExitCode {
    hook::keep_inherited();
    if args
        .first()
        .is_some_and(|arg| arg == "-h" || arg == "--help")
    {
        let _ = write!(io::stdout(), "{USAGE}");
        return ExitCode::SUCCESS;
    }
    let command = match parse(args) {
        Ok(command) => command,
        Err(message) => {
            let _ = writeln!(io::stderr(), "hearth run: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let Settings {
        ini,
        ini_path,
        no_ini,
    } = command.boot;
    if let Err(error) = php::boot(&Boot {
        ini,
        ini_path,
        no_ini,
        mode: php::Mode::CommandLine,
    }) {
        // Without a message, PHP itself has printed why it does not start.
        if !error.message().is_empty() {
            let _ = writeln!(io::stderr(), "hearth run: {}", error.message());
        }
        return ExitCode::FAILURE;
    }
    script_cache::find_by(command.app.as_deref());
    match command.run.unwrap_or(Run::Stdin) {
        Run::Info(what) => exit(php::info(what)),
        run => exit(execute(&run, command.args)),
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(255))
}

fn execute(run: &Run, args: Vec<OsString>) -> i32 {
    let runtime = match crate::worker::runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(io::stderr(), "hearth run: {error}");
            return 1;
        }
    };
    let name = match run {
        Run::File(path) | Run::Lint(path) => path.clone(),
        _ => "Standard input code".into(),
    };
    let argv: Vec<OsString> = std::iter::once(name).chain(args).collect();
    ProcessHost::install(
        None,
        (std::time::Duration::ZERO, std::time::Duration::ZERO),
        crate::slow_log::SlowLog::new(std::time::Duration::ZERO, None),
        true,
        true,
    );
    crate::io::waiter::interruptible();
    let mut script = match Cli::start(run, &argv) {
        Ok(script) => script,
        Err(error) => {
            let _ = writeln!(io::stderr(), "hearth run: {}", error.message());
            return 1;
        }
    };
    runtime.block_on(&mut script);
    let code = script.finish();
    // Dropping the runtime would wait for threads that still wait, and in a forked child it would take down what belongs to
    // the parent.
    #[expect(clippy::mem_forget, reason = "the process ends here")]
    std::mem::forget(runtime);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Command, String> {
        parse(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_end_at_the_script() {
        let command = parsed(&["-n", "-d", "a=b", "-dc=d", "x.php", "-d", "--", "y"]).unwrap();
        assert_eq!(
            command.boot.ini,
            [("a".into(), "b".into()), ("c".into(), "d".into())]
        );
        assert!(command.boot.no_ini);
        assert_eq!(command.run, Some(Run::File("x.php".into())));
        assert_eq!(command.args, ["-d", "--", "y"]);
    }

    #[test]
    fn code_takes_arguments_behind_two_dashes() {
        let command = parsed(&["-r", "echo 1;", "--", "-x"]).unwrap();
        assert_eq!(command.run, Some(Run::Code("echo 1;".into())));
        assert_eq!(command.args, ["-x"]);
    }

    #[test]
    fn a_setting_without_value_is_on() {
        assert_eq!(
            parsed(&["-d", "foo"]).unwrap().boot.ini,
            [("foo".into(), "1".into())]
        );
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        assert_eq!(parsed(&["-d"]).unwrap_err(), "-d needs a value");
        assert_eq!(parsed(&["-y"]).unwrap_err(), "unknown option -y");
        assert_eq!(
            parsed(&["-d", "a=1\nb=2"]).unwrap_err(),
            "-d: the setting \"a\" has more than one line; put the value in quotes"
        );
    }
}
