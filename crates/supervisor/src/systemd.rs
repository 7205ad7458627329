//! systemd's protocols for services (`Type=notify`, watchdog), used if `NOTIFY_SOCKET` is set.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::time::Duration;

/// Variables that are meant for this process only, not for those that it starts.
const VARIABLES: [&str; 6] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
];

/// Removes the variables from the environment of a process to be started.
pub(crate) fn hide(command: &mut Command) -> &mut Command {
    let hidden = VARIABLES.iter();
    hidden.fold(command, |command, name| command.env_remove(name))
}

/// Whether this process runs in a unit.
pub(crate) fn is_parent() -> bool {
    ["NOTIFY_SOCKET", "INVOCATION_ID"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

/// Sends a state to systemd. An error is only logged.
pub(crate) fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(e) = sent {
        logging::warning!("cannot tell the service manager \"{state}\": {e}");
    }
}

/// The interval of watchdog messages, half of the time after which systemd acts; `None` without a watchdog.
pub(crate) fn watchdog() -> Option<Duration> {
    let number = |name| std::env::var(name).ok()?.parse::<u64>().ok();
    let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
    let micros = number("WATCHDOG_USEC").filter(|micros| is_ours && *micros > 0)?;
    Some(Duration::from_micros(micros / 2))
}

/// Reports a reload, with the time of its begin, as systemd requires.
pub(crate) fn reloading() {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let micros = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
    notify(&format!(
        "RELOADING=1\nMONOTONIC_USEC={micros}\nSTATUS=Reloading: the new workers start"
    ));
}
