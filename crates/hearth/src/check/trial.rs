//! Trial of a recommendation: booted as by `hearth serve`, or parsed without being run.
//!
//! A recommended script that does not exist yet is written elsewhere: nothing is written into the project.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use build_id::BUILD_ID;
use config::{Mode, Settings};
use supervisor::{BootOutput, Program};

use super::recommend::Advice;

pub(super) enum Booted {
    /// PHP and the settings work; a classic site has no app to boot.
    Site(supervisor::Booted),
    /// The script has booted, and the kind of its handler is known.
    Script(supervisor::Booted),
}

/// Why the recommendation does not work, and the exit code.
pub(super) struct Failed {
    pub(super) code: u8,
    pub(super) why: String,
}

impl From<supervisor::Error> for Failed {
    fn from(e: supervisor::Error) -> Failed {
        Failed {
            code: e.exit_code(),
            why: e.to_string(),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Failed {
        Failed {
            code: 1,
            why: e.to_string(),
        }
    }
}

pub(super) fn boot(
    advice: &Advice,
    settings: &Settings,
    printed: &mut BootOutput,
) -> Result<Booted, Failed> {
    if !advice.is_resident() {
        syntax(settings)?;
        return Ok(Booted::Site(supervisor::check(
            settings, BUILD_ID, printed,
        )?));
    }
    let place = tempfile::tempdir()?;
    let settings = Settings {
        app: script(advice, place.path())?,
        mode: Mode::Resident,
        concurrency: Some(1),
        ..settings.clone()
    };
    Ok(Booted::Script(supervisor::check(
        &settings, BUILD_ID, printed,
    )?))
}

/// Returns the recommended script, or writes its text to `place`, where `__DIR__` is still the project's folder.
fn script(advice: &Advice, place: &Path) -> io::Result<PathBuf> {
    let Some(text) = advice.script.filter(|_| !advice.app.exists()) else {
        return Ok(advice.app.clone());
    };
    let folder = advice.app.parent().unwrap_or(Path::new("/"));
    let folder = folder.display().to_string();
    let quoted = folder.replace('\\', "\\\\").replace('\'', "\\'");
    let path = place.join("app.php");
    std::fs::write(&path, text.replace("__DIR__", &format!("'{quoted}'")))?;
    Ok(path)
}

/// Lets PHP parse a front controller. The script is not run, because that may change the data of the site.
fn syntax(settings: &Settings) -> Result<(), Failed> {
    const READ: &str = "try { token_get_all(file_get_contents($argv[1]), TOKEN_PARSE); } \
        catch (ParseError $e) { echo $e->getMessage(), ' on line ', $e->getLine(); }";
    let script = match settings.app.is_dir() {
        true => settings.app.join("index.php"),
        false => settings.app.clone(),
    };
    if !script.is_file() {
        return Ok(());
    }
    let program = Program::find(settings.php.as_deref())?;
    let output = Command::new(&program.path)
        .args(["run", "-r", READ, "--"])
        .arg(&script)
        .output()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Ok(()),
        mistake => Err(Failed {
            code: 1,
            why: format!("{}: {mistake}", script.display()),
        }),
    }
}
