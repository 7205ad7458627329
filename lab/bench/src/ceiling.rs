//! The highest rate of the load generator on this machine, measured against a server that only answers. A rate near it
//! says more about the generator than about a server.

use crate::load::{Generator, Load};
use crate::problem::Result;
use crate::process::Process;
use crate::run_dir::RunDir;
use crate::runtimes::Tools;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const CONNECTIONS: u32 = 100;
const START_TIMEOUT: Duration = Duration::from_secs(10);
const LISTENING: &str = "listening on ";

/// Loads the server of `hearth load --bare-server`, on the servers' processors, for `seconds`.
pub(crate) fn measure(tools: &Tools, dir: &RunDir, seconds: f64, stop: &AtomicBool) -> Result<f64> {
    let mut command = dir.own_command(&tools.hearth);
    command.args(["load", "--bare-server", "127.0.0.1:0"]);
    let log = dir.path().join("bare-server.log");
    let mut server = Process::start("bare server", command, &log, &dir.guard)?;
    let address = server.until(START_TIMEOUT, |server| address(&server.log()))?;
    let generator = Generator {
        program: tools.hearth.clone(),
        processors: dir.processors.clone(),
    };
    let load = Load::closed(format!("http://{address}/"), CONNECTIONS, seconds);
    let result = dir.path().join("ceiling.json");
    let run = generator.run(&load, &[], &result, stop)?;
    Ok(run.rates.goodput)
}

/// Returns the address in the server's first line, once that line is complete.
fn address(log: &str) -> Option<String> {
    let (line, _) = log.split_once('\n')?;
    line.strip_prefix(LISTENING).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_address_is_read_from_a_whole_line() {
        assert_eq!(address("listening on 127.0.0.1:80"), None);
        let whole = address("listening on 127.0.0.1:8080\n");
        assert_eq!(whole.as_deref(), Some("127.0.0.1:8080"));
    }
}
