//! A private Redis.

use std::sync::OnceLock;

use super::{Daemon, directory, free_port, program};

/// Without a password and without a file on disk.
#[derive(Debug)]
pub struct Redis {
    /// Its port on 127.0.0.1.
    pub port: u16,
    _daemon: Daemon,
}

impl Redis {
    /// The one of this test process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts another.
    pub fn start() -> Self {
        let place = directory("redis", None);
        let port = free_port();
        let mut server = program("redis-server", None);
        server.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        server.arg("--dir").arg(&place);
        let daemon = Daemon::start(server, &place, "Ready to accept connections");
        Self {
            port,
            _daemon: daemon,
        }
    }
}
