//! The preload list of a generation: what PHP is told, which files it leaves out, and what is said of that.

use std::fmt;
use std::path::Path;

use config::Settings;
use preload::{List, beside};
use serde::{Deserialize, Serialize};

/// What became of `php.preload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreloadStatus {
    pub file: String,
    /// Files that are preloaded; `None` where the script is none of `hearth preload build`.
    pub files: Option<u64>,
    /// Files of the list that are not.
    pub left_out: u64,
    /// The first of them and why, or why there are none.
    pub reason: Option<String>,
    /// The release of PHP that the list is for.
    #[serde(skip)]
    release: Option<String>,
}

impl PreloadStatus {
    /// Of the settings, with a look at each file of the list. The log says what is left out.
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

    /// Nothing is preloaded.
    pub(crate) fn without(mut self, why: &str) -> PreloadStatus {
        self.left_out += self.files.unwrap_or_default();
        self.files = Some(0);
        self.reason = Some(why.into());
        logging::warning!("nothing is preloaded file={} reason={why:?}", self.file);
        self
    }

    /// Once it is known which PHP it is.
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

fn list(script: &Path) -> Option<List> {
    List::parse(&std::fs::read(beside(script)).ok()?).ok()
}

/// The settings with what opcache is told.
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
    // PHP that may run as root may preload as root, and wants to be told.
    if rustix::process::geteuid().is_root() && !named {
        settings
            .ini
            .push(("opcache.preload_user".into(), "root".into()));
    }
    settings
}
