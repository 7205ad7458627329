//! `hearth-php`: how it is found and started.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use command_fds::{CommandFdExt, FdMapping};
use ipc::Channel;

use crate::error::Error;
use crate::systemd;

/// The descriptor at which a zygote expects its channel.
const CHANNEL: i32 = 3;

/// A `hearth-php` program beside `hearth`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    /// The version from the name `hearth-php-8.4`; a plain `hearth-php` reports its version only when it runs.
    pub version: Option<String>,
}

/// Lists the programs of this directory, the preferred one first: the highest version, the plain one last.
pub fn programs(directory: &Path) -> Vec<Program> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut found: Vec<Program> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let rest = name.strip_prefix("hearth-php")?;
            let version = match rest.strip_prefix('-') {
                Some(version) => Some(number(version).map(|_| version.to_owned())?),
                None if rest.is_empty() => None,
                None => return None,
            };
            Some(Program {
                path: directory.join(&name),
                version,
            })
        })
        .collect();
    found.sort_by_key(|program| std::cmp::Reverse(program.version.as_deref().and_then(number)));
    found
}

fn number(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

impl Program {
    /// Finds the program for this PHP version, or the preferred one that starts.
    pub fn find(version: Option<&str>) -> Result<Program, Error> {
        let own = std::env::current_exe()?;
        let directory = own.parent().unwrap_or(Path::new("/"));
        Program::find_in(directory, version)
    }

    fn find_in(directory: &Path, version: Option<&str>) -> Result<Program, Error> {
        let found = programs(directory);
        let chosen = match (version, found.as_slice()) {
            (Some(version), all) => {
                let named = all
                    .iter()
                    .find(|program| program.version.as_deref() == Some(version));
                named.or_else(|| all.iter().find(|program| program.version.is_none()))
            }
            (None, [only]) => Some(only),
            (None, all) => all.iter().find(|program| program.starts()).or(all.first()),
        };
        chosen.cloned().ok_or_else(|| Error::NoProgram {
            version: version.map(str::to_owned),
            directory: directory.into(),
            found: found
                .iter()
                .filter_map(|p| p.path.file_name()?.to_str().map(str::to_owned))
                .collect(),
        })
    }

    /// Whether the program's libphp loads.
    fn starts(&self) -> bool {
        let command = &mut Command::new(&self.path);
        command
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// The first line that `--version` prints, or why the program does not start.
    pub fn describe(&self) -> String {
        let output = Command::new(&self.path)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        match output {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()
                .unwrap_or("")
                .to_owned(),
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr);
                format!(
                    "does not start: {}",
                    text.lines().next().unwrap_or(&output.status.to_string())
                )
            }
            Err(e) => format!("does not start: {e}"),
        }
    }

    /// Starts a zygote with these variables added to this process's environment. With `own_group`, signals of the terminal
    /// do not reach it.
    pub(crate) fn start_zygote(
        &self,
        own_group: bool,
        output: Stdio,
        env: &[(String, String)],
    ) -> Result<(Child, Channel), Error> {
        let failed = |source: io::Error| Error::Spawn {
            program: self.path.clone(),
            source,
        };
        let (ours, theirs) = Channel::pair().map_err(failed)?;
        let mut command = Command::new(&self.path);
        systemd::hide(&mut command)
            .arg("zygote")
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output);
        if own_group {
            command.process_group(0);
        }
        let mapping = FdMapping {
            parent_fd: OwnedFd::from(theirs),
            child_fd: CHANNEL,
        };
        command
            .fd_mappings(vec![mapping])
            .map_err(|e| failed(io::Error::other(e)))?;
        Ok((command.spawn().map_err(failed)?, ours))
    }

    /// Checks that the running PHP is the version that was asked for.
    pub(crate) fn check_version(wanted: Option<&str>, php: &str) -> Result<(), String> {
        match wanted {
            Some(wanted) if php != wanted && !php.starts_with(&format!("{wanted}.")) => {
                Err(format!(
                    "PHP {wanted} was asked for (--php), but hearth-php has PHP {php}; install hearth-php-{wanted} beside hearth"
                ))
            }
            _ => Ok(()),
        }
    }
}

use std::os::unix::process::CommandExt;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_sorted_by_version_and_chosen_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "hearth-php-8.2",
            "hearth-php-8.10",
            "hearth-php",
            "hearth-php-8.4",
            "hearth-php-8.4.d",
            "hearth-phpx",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let versions: Vec<_> = programs(dir.path())
            .into_iter()
            .map(|p| p.version)
            .collect();
        let some = |v: &str| Some(v.to_owned());
        assert_eq!(versions, [some("8.10"), some("8.4"), some("8.2"), None]);
        let find = |v| Program::find_in(dir.path(), v).unwrap().version;
        assert_eq!(find(Some("8.2")), some("8.2"));
        assert_eq!(find(Some("8.3")), None);
        let empty = tempfile::tempdir().unwrap();
        std::fs::write(empty.path().join("hearth-php-8.2"), "").unwrap();
        let error = Program::find_in(empty.path(), Some("8.4"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("no hearth-php-8.4 beside "), "{error}");
        assert!(error.ends_with("; found: hearth-php-8.2"), "{error}");
    }

    #[test]
    fn the_php_that_answers_must_be_the_one_asked_for() {
        assert!(Program::check_version(None, "8.2.36").is_ok());
        assert!(Program::check_version(Some("8.2"), "8.2.36").is_ok());
        assert!(Program::check_version(Some("8.2"), "8.20.1").is_err());
    }
}
