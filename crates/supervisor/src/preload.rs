//! The preload list of a generation: the settings for PHP, the files that are left out, and the status.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use config::Settings;
use preload::{List, beside};
use serde::{Deserialize, Serialize};

/// The status of `php.preload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreloadStatus {
    pub file: String,
    /// The number of preloaded files; `None` if `hearth preload build` has not made the script.
    pub files: Option<u64>,
    /// The number of the list's files that are not preloaded.
    pub left_out: u64,
    /// The first file that is left out and why, or why none is preloaded.
    pub reason: Option<String>,
    /// The release of PHP that the list is for.
    #[serde(skip)]
    release: Option<String>,
}

impl PreloadStatus {
    /// Returns the status for these settings, after a check of each file of the list. Logs what is left out.
    pub(crate) fn of(settings: &Settings) -> Option<PreloadStatus> {
        let script = settings.preload.as_deref()?;
        let mut status = PreloadStatus {
            file: script.display().to_string(),
            files: None,
            left_out: 0,
            reason: None,
            release: None,
        };
        if let Some(list) = list(script) {
            let stale = list.stale_now();
            status.left_out = stale.len() as u64;
            status.files = Some((list.entries.len() - stale.len()) as u64);
            status.reason = stale
                .first()
                .map(|one| format!("{}: {}", one.file, one.why));
            status.release = Some(list.php_release().to_owned());
        }
        if let Err(error) = std::fs::File::open(script) {
            status = status.without(&format!("the script cannot be read: {error}"));
        } else if let Some(reason) = &status.reason {
            logging::warning!(
                "files of the preload list are left out; build it again left_out={} file={} first={reason:?}",
                status.left_out,
                status.file
            );
        }
        Some(status)
    }

    /// Marks that nothing is preloaded.
    pub(crate) fn without(mut self, why: &str) -> PreloadStatus {
        self.left_out += self.files.unwrap_or_default();
        self.files = Some(0);
        self.reason = Some(why.into());
        logging::warning!("nothing is preloaded file={} reason={why:?}", self.file);
        self
    }

    /// Compares the PHP release of the list with the one that runs, once that is known.
    pub(crate) fn for_php(self, php: &str) -> PreloadStatus {
        match &self.release {
            Some(release) if self.files != Some(0) && !php.starts_with(&format!("{release}.")) => {
                let why = format!("the list is for PHP {release}, and this is {php}");
                self.without(&why)
            }
            _ => self,
        }
    }
}

impl fmt::Display for PreloadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            Some(files) => write!(f, "{files} files of {}", self.file)?,
            None => f.write_str(&self.file)?,
        }
        match (&self.reason, self.files) {
            (Some(reason), Some(0)) => write!(f, "; {reason}"),
            (Some(reason), _) => write!(f, "; {} left out, first {reason}", self.left_out),
            (None, _) => Ok(()),
        }
    }
}

/// The files of a generation's list, with their state when the generation was started.
#[derive(Debug, Default)]
pub(crate) struct PreloadedFiles {
    files: Vec<(PathBuf, Written)>,
    /// The changes that the last check found, as long as they have not caused a reload.
    found: Vec<(usize, Written)>,
}

/// Size and time of the last change of a file; `None` if it does not exist.
type Written = Option<(u64, SystemTime)>;

impl PreloadedFiles {
    /// Empty without a list of `hearth preload build`.
    pub(crate) fn of(settings: &Settings) -> PreloadedFiles {
        let Some(list) = settings.preload.as_deref().and_then(list) else {
            return PreloadedFiles::default();
        };
        let root = Path::new(&list.root);
        let paths = list.entries.iter().map(|entry| root.join(&entry.file));
        let files = paths.map(|path| (written(&path), path));
        PreloadedFiles {
            files: files.map(|(written, path)| (path, written)).collect(),
            found: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the first changed file, when two checks in a row have found the same: copying a release takes a while. Changes
    /// that were returned count as seen, so that a failed reload is not tried again for the same change.
    pub(crate) fn settled_change(&mut self) -> Option<&Path> {
        let found = self.changed();
        if found != self.found {
            self.found = found;
            return None;
        }
        let first = self.found.first()?.0;
        for (place, now) in std::mem::take(&mut self.found) {
            self.files[place].1 = now;
        }
        Some(&self.files[first].0)
    }

    fn changed(&self) -> Vec<(usize, Written)> {
        let now = self
            .files
            .iter()
            .map(|(path, before)| (written(path), before));
        let changed = now.enumerate().filter(|(_, (now, before))| now != *before);
        changed.map(|(place, (now, _))| (place, now)).collect()
    }
}

fn written(path: &Path) -> Written {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn list(script: &Path) -> Option<List> {
    List::parse(&std::fs::read(beside(script)).ok()?).ok()
}

/// Returns the settings with those of opcache for the list.
pub(crate) fn applied(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    let readable = |script: &&Path| std::fs::File::open(script).is_ok();
    let Some(script) = settings.preload.as_deref().filter(readable) else {
        return settings;
    };
    let script = script.display().to_string();
    settings.ini.push(("opcache.preload".into(), script));
    let named = settings
        .ini
        .iter()
        .any(|(name, _)| name == "opcache.preload_user");
    // PHP that may run as root may preload as root, but then opcache requires opcache.preload_user.
    if rustix::process::geteuid().is_root() && !named {
        settings
            .ini
            .push(("opcache.preload_user".into(), "root".into()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_and_when_it_has_settled() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.php", "b.php"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], "1").unwrap();
        let files = paths.iter().map(|path| (path.clone(), written(path)));
        let mut files = PreloadedFiles {
            files: files.collect(),
            found: Vec::new(),
        };
        assert_eq!(files.settled_change(), None);
        std::fs::write(&paths[1], "12").unwrap();
        assert_eq!(files.settled_change(), None, "it may go on");
        std::fs::write(&paths[1], "123").unwrap();
        assert_eq!(files.settled_change(), None, "it has gone on");
        assert_eq!(files.settled_change(), Some(paths[1].as_path()));
        assert_eq!(files.settled_change(), None, "it was told");
        std::fs::remove_file(&paths[0]).unwrap();
        assert_eq!(files.settled_change(), None);
        assert_eq!(files.settled_change(), Some(paths[0].as_path()));
    }
}
