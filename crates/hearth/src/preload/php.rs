//! PHP in a child process, which code under trial cannot leave.

use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ::preload::Settings;
use supervisor::Program;
use tempfile::TempDir;

use super::{Failed, on};

/// The time after which a child counts as hanging.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The PHP of a recording, with its settings.
#[derive(Debug)]
pub(super) struct Php {
    program: PathBuf,
    pub(super) release: String,
    environment: Vec<(&'static str, String)>,
    /// Temporary files, removed when this is dropped.
    pub(super) folder: TempDir,
}

/// The end of a child.
#[derive(Debug)]
pub(super) struct ChildExit {
    pub(super) ok: bool,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Php {
    /// Finds the release that was asked for or that recorded, and uses its php.ini and further ini files if they exist on
    /// this machine.
    pub(super) fn new(version: Option<&str>, settings: Option<&Settings>) -> Result<Php, Failed> {
        let recorded = settings.map(|settings| release(&settings.php));
        let wanted = version.or(recorded.filter(|release| !release.is_empty()));
        let program = Program::find(wanted).map_err(|error| Failed {
            code: error.exit_code(),
            why: error.to_string(),
        })?;
        let mut php = Php {
            program: program.path,
            release: String::new(),
            environment: settings.map(environment).unwrap_or_default(),
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        };
        let version = php.run(&["-r", "echo PHP_VERSION;"], &[])?;
        php.release = version.output.trim().to_owned();
        match wanted {
            Some(wanted) if release(&php.release) != release(wanted) => Err(format!(
                "the list is to be for PHP {wanted}, and {} has PHP {}; install hearth-php-{wanted} beside hearth, or name another with --php",
                php.program.display(),
                php.release
            )
            .into()),
            _ if !version.ok => Err(format!("{} does not run: {}", php.program.display(), version.errors.trim()).into()),
            _ => Ok(php),
        }
    }

    /// Variables that choose the php.ini, for a server, too.
    pub(super) fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// The version for `--php`, such as `8.2`.
    pub(super) fn version(&self) -> &str {
        release(&self.release)
    }

    /// Writes a script of this program to the folder.
    pub(super) fn script(&self, name: &str, text: &str) -> Result<PathBuf, Failed> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).map_err(on("write", &path))?;
        Ok(path)
    }

    fn command(&self, words: &[&str], settings: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("run")
            .args(["-d", "memory_limit=-1", "-d", "auto_prepend_file="]);
        for (name, value) in settings {
            command.arg("-d").arg(format!("{name}={value}"));
        }
        command
            .args(words.iter().map(OsString::from))
            .envs(self.environment.iter().cloned());
        command
    }

    pub(super) fn run(
        &self,
        words: &[&str],
        settings: &[(&str, &str)],
    ) -> Result<ChildExit, Failed> {
        self.run_with(words, settings, "")
    }

    /// Runs PHP with this text on standard input.
    pub(super) fn run_with(
        &self,
        words: &[&str],
        settings: &[(&str, &str)],
        input: &str,
    ) -> Result<ChildExit, Failed> {
        let mut command = self.command(words, settings);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(on("start", &self.program))?;
        let (mut stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            // A child that ends early reads no more; its exit status shows that.
            scope.spawn(move || {
                stdin
                    .take()
                    .map(|mut stdin| stdin.write_all(input.as_bytes()))
            });
            let output = scope.spawn(move || read(stdout));
            let errors = scope.spawn(move || read(stderr));
            let status = wait(&mut child)?;
            let text = |thread: std::thread::ScopedJoinHandle<'_, String>| {
                thread.join().unwrap_or_default()
            };
            let (output, mut errors) = (text(output), text(errors));
            match status {
                None => errors.push_str("it did not end"),
                Some(status) if errors.is_empty() && !status.success() => {
                    errors = status.to_string()
                }
                Some(_) => {}
            }
            Ok(ChildExit {
                ok: status.is_some_and(|status| status.success()),
                output,
                errors,
            })
        })
    }
}

/// Returns what the stream gives up to its end, or up to an error.
fn read(stream: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits for the child; `None` if it had to be killed.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>, Failed> {
    let end = Instant::now() + TIMEOUT;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() > end => {
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// Returns `8.2` of `8.2.36`.
fn release(version: &str) -> &str {
    let mut dots = version.match_indices('.').map(|(place, _)| place);
    dots.nth(1).map_or(version, |end| &version[..end])
}

/// Returns variables for the ini files of the recording: php-fpm and Apache read other files than Hearth.
fn environment(settings: &Settings) -> Vec<(&'static str, String)> {
    let ini = Path::new(&settings.ini);
    let folder = ini.parent().filter(|_| ini.is_file());
    let scanned = Some(&settings.scanned).filter(|folder| Path::new(folder).is_dir());
    let main = folder.map(|folder| ("PHPRC", folder.display().to_string()));
    main.into_iter()
        .chain(scanned.map(|folder| ("PHP_INI_SCAN_DIR", folder.clone())))
        .collect()
}

/// As root, PHP preloads only as the user of this setting; the trial runs as the user of the command.
pub(super) fn preload_user() -> Option<(&'static str, &'static str)> {
    rustix::process::geteuid()
        .is_root()
        .then_some(("opcache.preload_user", "root"))
}
