//! `hearth-php`: the process that PHP runs in. Started by `hearth`, which it serves as a zygote, or for `hearth run`.
#![forbid(unsafe_code)]

mod body;
mod clock;
mod connection;
mod descriptors;
mod handler;
mod host;
mod log;
mod run;
mod waiter;
mod watchdog;
mod worker;

use std::process::ExitCode;

const USAGE: &str = "hearth-php is started by hearth: use `hearth serve` or `hearth run`.";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("zygote") => {
            let cold = args
                .next()
                .filter(|flag| flag == "--cold")
                .and_then(|_| args.next());
            zygote::run(zygote::inherited_channel(), cold, worker::main)
        }
        Some("run") => run::main(&args.collect::<Vec<_>>()),
        Some("--version") => {
            println!(
                "hearth-php {} (protocol {}), PHP {}, built for PHP {}",
                ipc::BUILD,
                ipc::PROTOCOL,
                php::version(),
                php::series()
            );
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
