//! A private SSH server.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Daemon, directory, free_port, program, run};

/// An SSH server that logs in its own user by a key, with SFTP.
#[derive(Debug)]
pub struct Ssh {
    /// The port on 127.0.0.1.
    pub port: u16,
    place: PathBuf,
    _daemon: Daemon,
}

impl Ssh {
    /// Starts the server.
    pub fn start() -> Self {
        let (place, port) = (directory("ssh", None), free_port());
        // What libssh2 of Debian 12 reads and agrees to.
        make_key(&place.join("key"), "rsa");
        make_key(&place.join("host"), "ecdsa");
        if rustix::process::geteuid().is_root() {
            std::fs::create_dir_all("/run/sshd").expect("root may make it");
        }
        let mut server = program("/usr/sbin/sshd", None);
        server.args(["-D", "-e", "-f", "/dev/null", "-p", &port.to_string(), "-h"]);
        server.arg(place.join("host"));
        let keys = format!("AuthorizedKeysFile={}", place.join("key.pub").display());
        for option in [
            "ListenAddress=127.0.0.1",
            "StrictModes=no",
            "PermitRootLogin=yes",
            "PubkeyAcceptedAlgorithms=+ssh-rsa",
            "Subsystem=sftp internal-sftp",
            "PidFile=none",
            &keys,
        ] {
            server.args(["-o", option]);
        }
        let daemon = Daemon::start(server, &place, "Server listening");
        Self {
            port,
            place,
            _daemon: daemon,
        }
    }

    /// Returns the private key that is let in; the public one has `.pub` behind its name.
    pub fn key(&self) -> PathBuf {
        self.place.join("key")
    }
}

fn make_key(path: &Path, kind: &str) {
    let mut keygen = Command::new("ssh-keygen");
    run(keygen
        .args(["-q", "-t", kind, "-m", "PEM", "-N", "", "-f"])
        .arg(path));
}
