//! Why the server did not start, or ended.

use std::io;
use std::path::PathBuf;

use ipc::BootFailure;
use rustix::io::Errno;

use crate::port_owner::PortOwner;

/// Each message contains what failed, on what, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no app at {}; name the script that returns the handler, or the folder of a site", .0.display())]
    NoApp(PathBuf),
    #[error("cannot read {}: {source}{}", .path.display(), if source.kind() == io::ErrorKind::PermissionDenied { "; this user needs permission to read it" } else { "" })]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is not a PHP script: it does not contain <?php", .0.display())]
    NoScript(PathBuf),
    #[error(
        "PHP would run as root: name another user by User= in the unit, or allow it with --allow-root"
    )]
    Root,
    #[error("cannot listen on {address}: {source}{}", hint(.address, .source))]
    Listen { address: String, source: io::Error },
    #[error(
        "cannot take a socket of the service manager (LISTEN_FDS): {0}; Hearth takes stream sockets that listen, TCP or Unix, with Accept=no"
    )]
    Inherited(io::Error),
    #[error("socket.{what}: there is no {} \"{name}\" on this machine", if *.is_group { "group" } else { "user" }, what = if *.is_group { "group" } else { "owner" })]
    NoSuchName { is_group: bool, name: String },
    #[error("cannot listen on {address}: the address is in use{}; stop that process or choose another port", held(.port_owner))]
    PortTaken {
        address: String,
        port_owner: Option<PortOwner>,
    },
    #[error("cannot listen on unix:{}: another process answers there; stop it or choose another path", .0.display())]
    SocketTaken(PathBuf),
    #[error("cannot listen on unix:{}: the file there is not a socket; remove it or choose another path", .0.display())]
    NotASocket(PathBuf),
    #[error("a server for this app is running already (it answers on {}); stop it with `hearth stop`, or give this one another control socket with --control", .0.display())]
    Running(PathBuf),
    #[error("cannot make the control socket {}: {source}; choose another place with --control", path.display())]
    Control { path: PathBuf, source: io::Error },
    #[error(
        "cannot write the access log to {target}: {source}; name another place with --access-log"
    )]
    AccessLog { target: String, source: io::Error },
    #[error("cannot write the slow log to {}: {source}; name another file with --slow-file", path.display())]
    SlowLog { path: PathBuf, source: io::Error },
    #[error("no hearth-php{} beside {}{}", version.as_ref().map(|v| format!("-{v}")).unwrap_or_default(), directory.display(), others(.found))]
    NoProgram {
        version: Option<String>,
        directory: PathBuf,
        found: Vec<String>,
    },
    #[error("cannot start {}: {source}", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error(transparent)]
    Boot(#[from] BootFailure),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// The exit code: 1 if the server ran and failed, 2 for wrong usage or configuration.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::NoApp(_)
            | Error::NoScript(_)
            | Error::Unreadable { .. }
            | Error::NoSuchName { .. }
            | Error::AccessLog { .. }
            | Error::SlowLog { .. }
            | Error::NoProgram {
                version: Some(_), ..
            } => 2,
            _ => 1,
        }
    }
}

fn hint(address: &str, error: &io::Error) -> &'static str {
    match error.kind() {
        // Only chown fails with EPERM.
        io::ErrorKind::PermissionDenied
            if error.raw_os_error() == Some(Errno::PERM.raw_os_error()) =>
        {
            "; only root may give it to another user (socket.owner) or to a group that is not its own (socket.group)"
        }
        io::ErrorKind::PermissionDenied if address.starts_with("unix:") => {
            "; this user needs write permission in its directory"
        }
        io::ErrorKind::NotFound if address.starts_with("unix:") => "; its directory must exist",
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need the capability CAP_NET_BIND_SERVICE"
        }
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        _ => "",
    }
}

fn held(port_owner: &Option<PortOwner>) -> String {
    port_owner
        .as_ref()
        .map(|port_owner| format!(" by {port_owner}"))
        .unwrap_or_default()
}

fn others(found: &[String]) -> String {
    match found {
        [] => "; install Hearth's program for your PHP version there".into(),
        found => format!("; found: {}", found.join(", ")),
    }
}
