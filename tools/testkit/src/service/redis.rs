//! A private Redis.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{Pid, Signal, kill_process};

use super::{Daemon, directory, free_port, program};

/// A Redis without a password and without a file on disk, unless its options specify otherwise.
#[derive(Debug)]
pub struct Redis {
    /// The port on 127.0.0.1.
    pub port: u16,
    program: &'static str,
    options: Vec<String>,
    daemon: Option<Daemon>,
}

impl Redis {
    /// Returns the Redis of this test process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// Starts another Redis.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts another Redis, with options of its command line.
    pub fn with(options: &[&str]) -> Self {
        let mut redis = Self::later(options);
        redis.revive();
        redis
    }

    /// Reserves the port of a Redis that is not started yet.
    pub fn later(options: &[&str]) -> Self {
        Self {
            port: free_port(),
            program: "redis-server",
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            daemon: None,
        }
    }

    /// Starts a Valkey instead, if it is installed.
    pub fn valkey() -> Option<Self> {
        const PROGRAM: &str = "valkey-server";
        let is_there = Command::new(PROGRAM).arg("--version").output().is_ok();
        is_there.then(|| {
            let mut valkey = Self::later(&[]);
            valkey.program = PROGRAM;
            valkey.revive();
            valkey
        })
    }

    /// Starts a Redis with TLS too, on the port that is returned; the files are the certificate, its key, and the CA of
    /// clients.
    pub fn with_tls([certificate, key, clients]: [&Path; 3], options: &[&str]) -> (Self, u16) {
        let port = free_port();
        let text = |path: &Path| path.display().to_string();
        let port_text = port.to_string();
        let files = [text(certificate), text(key), text(clients)];
        let tls = ["--tls-port", &port_text, "--tls-cert-file", &files[0]];
        let more = ["--tls-key-file", &files[1], "--tls-ca-cert-file", &files[2]];
        (Self::with(&[&tls[..], &more, options].concat()), port)
    }

    /// Starts the server on the same port, with an empty database.
    pub fn revive(&mut self) {
        let place = directory("redis", None);
        let mut server = program(self.program, None);
        server.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        server.args(["--port", &self.port.to_string()]);
        server.args(&self.options).arg("--dir").arg(&place);
        let daemon = Daemon::start(server, &place, "Ready to accept connections");
        self.daemon = Some(daemon);
    }

    /// Kills the server at once; its data is lost.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    /// Stops the process until [`Redis::resume`]: connections stay open.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let daemon = self.daemon.as_ref().expect("it runs");
        let pid = i32::try_from(daemon.child.id()).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("it runs");
    }

    /// Returns the output of `redis-cli` for this command.
    pub fn cli(&self, command: &[&str]) -> String {
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        let output = cli.args(command).output().expect("redis-cli");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }
}
