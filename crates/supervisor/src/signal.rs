//! Signals that this process handles, and names of the signals that kill other processes.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// The action that a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: the first drains, the second ends at once.
    Stop,
    /// SIGHUP.
    Reload,
    /// SIGUSR1.
    ReopenLogs,
}

/// The stream of signals to this process.
#[derive(Debug)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
    user1: tokio::signal::unix::Signal,
}

impl Signals {
    /// Installs the handlers. Needs a running tokio runtime.
    pub fn install() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.user1.recv() => Signal::ReopenLogs,
        }
    }
}

/// Describes for people how a process ended, from its raw wait status.
pub(crate) fn describe(status: i32) -> String {
    match (status & 0x7f, status >> 8 & 0xff) {
        (0, code) => format!("exited with status {code}"),
        (signal, _) if status & 0x80 != 0 => {
            format!("was killed by {} (core dumped)", name(signal))
        }
        (signal, _) => format!("was killed by {}", name(signal)),
    }
}

/// A signal that killed a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FatalSignal(i32);

/// Returns the signal in a raw wait status.
pub(crate) fn fatal_signal(status: i32) -> Option<FatalSignal> {
    Some(status & 0x7f)
        .filter(|signal| *signal != 0)
        .map(FatalSignal)
}

impl FatalSignal {
    /// Whether a process, or the kernel when memory runs out, sends this signal. A fault in PHP or an extension raises
    /// another one.
    pub(crate) fn is_sent(self) -> bool {
        ![4, 5, 6, 7, 8, 11, 31].contains(&self.0)
    }

    pub(crate) fn name(self) -> String {
        name(self.0)
    }
}

fn name(signal: i32) -> String {
    let known = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_faults_are_told_from_those_that_are_sent() {
        assert_eq!(fatal_signal(3 << 8), None);
        let segv = fatal_signal(11 | 0x80).expect("a signal");
        let kill = fatal_signal(9).expect("a signal");
        assert_eq!((segv.is_sent(), kill.is_sent()), (false, true));
        assert_eq!(segv.name(), "SIGSEGV");
    }

    #[test]
    fn ends_are_described() {
        assert_eq!(describe(0), "exited with status 0");
        assert_eq!(describe(255 << 8), "exited with status 255");
        assert_eq!(describe(9), "was killed by SIGKILL");
        assert_eq!(describe(11 | 0x80), "was killed by SIGSEGV (core dumped)");
        assert_eq!(describe(40), "was killed by signal 40");
    }
}
