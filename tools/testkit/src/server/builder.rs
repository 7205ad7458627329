//! The arguments, the environment and the files of one test's server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{LISTENING, START, Server, Stopped, shared_memory};
use crate::guard::Guard;
use crate::log::Log;
use crate::processes::descriptors;

/// A builder of a server.
#[derive(Debug)]
pub struct ServerBuilder {
    app: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    files: Vec<(String, String)>,
    links: Vec<(String, PathBuf)>,
    wrapper: Vec<String>,
}

impl ServerBuilder {
    pub(super) fn new(app: PathBuf) -> Self {
        Self {
            app,
            arguments: Vec::new(),
            environment: Vec::new(),
            files: Vec::new(),
            links: Vec::new(),
            wrapper: Vec::new(),
        }
    }

    /// Adds an argument to the command line.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds arguments to the command line.
    #[must_use]
    pub fn args<const N: usize>(mut self, arguments: [&str; N]) -> Self {
        self.arguments.extend(arguments.map(str::to_owned));
        self
    }

    /// Sets an environment variable for server and app.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a file beside the app, and creates its directories.
    #[must_use]
    pub fn file(mut self, name: &str, content: impl Into<String>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }

    /// Adds a symbolic link beside the app.
    #[must_use]
    pub fn link(mut self, name: &str, target: impl Into<PathBuf>) -> Self {
        self.links.push((name.to_owned(), target.into()));
        self
    }

    /// Starts the server through another program, which must replace itself with the server (`exec`).
    #[must_use]
    pub fn inside(mut self, wrapper: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
        self
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Panics
    /// If the server does not listen; with its log.
    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(stopped) => panic!(
                "the server did not start ({})\n{}",
                stopped.status, stopped.log
            ),
        }
    }

    /// Starts a server that may refuse to start.
    ///
    /// # Errors
    /// If the server ended before it listened; with its status and log.
    pub fn try_start(self) -> Result<Server, Stopped> {
        let mut server = self.spawn();
        match server.log.wait(LISTENING, START) {
            Some(_) => {
                server.await_workers();
                server.descriptors = descriptors(server.pid());
                Ok(server)
            }
            None => Err(server.give_up()),
        }
    }

    fn spawn(self) -> Server {
        let directory = tempfile::Builder::new()
            .prefix("hearth-it-")
            .tempdir()
            .expect("a temporary directory")
            .keep();
        for (name, content) in &self.files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().expect("a file has a directory"))
                .expect("directories beside the app can be made");
            fs::write(path, content).expect("files beside the app can be written");
        }
        for (name, target) in &self.links {
            std::os::unix::fs::symlink(target, directory.join(name))
                .expect("links beside the app can be made");
        }
        let shared_memory = shared_memory();
        let mut child = self
            .command(&directory)
            .spawn()
            .expect("setsid (util-linux) starts");
        let log = Log::collect(child.stderr.take().expect("stderr is piped"));
        let guard = Guard::new(child.id(), &directory);
        Server {
            child,
            log,
            guard: Some(guard),
            directory,
            descriptors: Vec::new(),
            shared_memory,
        }
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("setsid");
        command.args(&self.wrapper);
        command
            .arg(crate::hearth())
            .arg("serve")
            .arg(directory.join(&self.app));
        if !self
            .arguments
            .iter()
            .any(|word| word == "--listen" || word == "--config")
        {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(&self.arguments);
        // The tests may run inside a service; their servers must not notify its manager.
        command.env_remove("NOTIFY_SOCKET");
        command.env_remove("INVOCATION_ID");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
            .env("XDG_RUNTIME_DIR", directory)
            .env("TMPDIR", directory)
            .current_dir(directory);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}
