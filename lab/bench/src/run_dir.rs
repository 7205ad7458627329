//! The private directory of a run, and the user and processors of its servers.

use crate::guard::Guard;
use crate::problem::{Problem, Result};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The users that servers run as if this process is root: Debian's web servers use the first, and databases refuse root.
const WEB_USERS: [&str; 2] = ["www-data", "nobody"];

/// A user to switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    uid: u32,
    gid: u32,
}

impl User {
    /// Returns the web user if this process is root, else none: servers run as the calling user.
    pub(crate) fn to_become() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        WEB_USERS
            .iter()
            .find_map(|name| Self::in_passwd(&passwd, name))
    }

    fn in_passwd(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let fields: Vec<&str> = line.split(':').collect();
        Some(Self {
            name: name.to_owned(),
            uid: fields.get(2)?.parse().ok()?,
            gid: fields.get(3)?.parse().ok()?,
        })
    }
}

/// The processors of the load generator and of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) load: Vec<usize>,
    pub(crate) servers: Vec<usize>,
}

impl Processors {
    /// Assigns a quarter to the load and the rest to the servers; with one processor, or unpinned, both have all.
    pub(crate) fn of(all: &[usize], pin: bool) -> Self {
        if !pin || all.len() < 2 {
            return Self {
                load: all.to_vec(),
                servers: all.to_vec(),
            };
        }
        let load = (all.len() / 4).max(1);
        let (servers, load) = all.split_at(all.len() - load);
        Self {
            load: load.to_vec(),
            servers: servers.to_vec(),
        }
    }

    /// Returns whether load and servers have different processors.
    pub(crate) fn are_divided(&self) -> bool {
        self.load != self.servers
    }

    /// Returns the list as `taskset` reads it.
    pub(crate) fn list(of: &[usize]) -> String {
        of.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// Returns the processors that this process may use.
pub(crate) fn allowed_processors() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None);
    allowed.map_or_else(
        |_| vec![0],
        |set| (0..1024).filter(|n| set.is_set(*n)).collect(),
    )
}

/// The folder for servers' temporary files, such as uploaded bodies.
const TEMPORARY: &str = "tmp";

/// The private directory of a run, removed with it.
#[derive(Debug)]
pub(crate) struct RunDir {
    directory: tempfile::TempDir,
    pub(crate) user: Option<User>,
    pub(crate) processors: Processors,
    pub(crate) guard: Guard,
}

impl RunDir {
    /// Creates the directory, readable for the servers' user.
    pub(crate) fn new(guard: Guard, processors: Processors) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("hearth-bench-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir()
            .map_err(|e| Problem::failed(format!("cannot make a temporary directory: {e}")))?;
        guard.directory(directory.path());
        let dir = Self {
            directory,
            user: User::to_become(),
            processors,
            guard,
        };
        dir.fresh(TEMPORARY)?;
        Ok(dir)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the folder for servers' temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.path().join(TEMPORARY)
    }

    /// Returns an empty directory of that name, owned by the servers' user.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let path = self.path().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)
            .and_then(|()| self.give(&path))
            .map_err(|e| Problem::failed(format!("{}: {e}", path.display())))?;
        Ok(path)
    }

    /// Makes the servers' user the owner of a file or directory.
    pub(crate) fn give(&self, path: &Path) -> std::io::Result<()> {
        match &self.user {
            Some(user) => chown(path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        }
    }

    /// Writes a file that the servers' user owns.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<()> {
        std::fs::write(path, text)
            .and_then(|()| self.give(path))
            .map_err(|e| Problem::failed(format!("{}: {e}", path.display())))
    }

    /// Returns a server's command: in a session of its own, as the servers' user, on the servers' processors.
    pub(crate) fn command(&self, program: &Path) -> Command {
        self.command_as(self.user.as_ref(), program)
    }

    /// Returns the same as [`Self::command`], but as the user of this process.
    pub(crate) fn own_command(&self, program: &Path) -> Command {
        self.command_as(None, program)
    }

    /// Returns the command as the servers' user if that user may run the program, else as the user of this process.
    pub(crate) fn command_of(&self, program: &Path) -> Command {
        match self.may_run(program) {
            true => self.command(program),
            false => self.own_command(program),
        }
    }

    fn command_as(&self, user: Option<&User>, program: &Path) -> Command {
        let mut command = Command::new("setsid");
        if let Some(user) = user {
            command.args([
                "setpriv",
                "--reuid",
                &user.uid.to_string(),
                "--regid",
                &user.gid.to_string(),
            ]);
            command.args(["--clear-groups", "--"]);
        }
        if self.processors.are_divided() {
            command.args(["taskset", "-c", &Processors::list(&self.processors.servers)]);
        }
        command
            .arg(program)
            .env("TMPDIR", self.temporary())
            .current_dir(self.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("HEARTH_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Returns whether the servers' user may run that program.
    pub(crate) fn may_run(&self, program: &Path) -> bool {
        let Some(user) = &self.user else { return true };
        Command::new("setpriv")
            .args([
                "--reuid",
                &user.uid.to_string(),
                "--regid",
                &user.gid.to_string(),
                "--clear-groups",
                "--",
                "test",
                "-x",
            ])
            .arg(program)
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// Returns the file with a self-signed certificate of this run, and its key.
pub(crate) fn certificate(dir: &RunDir) -> Result<PathBuf> {
    let path = dir.path().join("certificate.pem");
    if !path.exists() {
        let made =
            rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])
                .map_err(Problem::failed)?;
        dir.write(
            &path,
            &format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem()),
        )?;
    }
    Ok(path)
}

/// Returns a port of 127.0.0.1 that nothing listens on.
pub(crate) fn free_port() -> Result<u16> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|e| Problem::failed(format!("no free port on 127.0.0.1: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_divided_as_the_rules_say() {
        let of = |n: usize| Processors::of(&(0..n).collect::<Vec<_>>(), true);
        let sizes = |n: usize| (of(n).load.len(), of(n).servers.len());
        assert_eq!(
            [sizes(1), sizes(2), sizes(4), sizes(8), sizes(16)],
            [(1, 1), (1, 1), (1, 3), (2, 6), (4, 12)]
        );
        assert!(!of(1).are_divided() && of(2).are_divided());
        assert!(!Processors::of(&[0, 1], false).are_divided());
    }

    #[test]
    fn users_are_found_by_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nwww-data:x:33:34:www:/var/www:/x\n";
        let found = User::in_passwd(passwd, "www-data").expect("it stands there");
        assert_eq!((found.uid, found.gid), (33, 34));
        assert_eq!(User::in_passwd(passwd, "www"), None);
    }
}
