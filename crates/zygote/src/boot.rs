//! Boot of the engine and the app, and the answer to the supervisor.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use config::Mode;
use ipc::{Boot, BootFailure, Booted, Channel};

use crate::boot_files::BootFiles;
use crate::descriptors;

pub(crate) fn booted(boot: &Boot, cold: Option<String>) -> Booted {
    let is_classic = boot.settings.mode == Mode::Classic;
    Booted {
        php: php::version(),
        cold,
        concurrency: boot.settings.concurrency.unwrap_or(1),
        handler: boot.handler.clone(),
        // A script of a classic site runs even if the body is too large, but without it; and its folder may set another
        // limit.
        post_limit: if is_classic { 0 } else { php::post_max_size() },
        revalidates: is_classic && php::validates_timestamps(),
        app: boot.settings.app.clone(),
        root: boot.settings.site.root.clone(),
    }
}

pub(crate) fn same_build(boot: &Boot, build: &str) -> Result<(), BootFailure> {
    if boot.build == build {
        return Ok(());
    }
    Err(BootFailure::OtherBuild(format!(
        "hearth (build {}) and hearth-php (build {build}) were built from different sources: install both from the same release; \
         after an upgrade, restart the server",
        boot.build
    )))
}

/// Converts the error to the message for the supervisor.
fn failure(error: php::BootError) -> BootFailure {
    match error {
        php::BootError::NoHandler(message) => BootFailure::NoHandler(message),
        php::BootError::Failed(message) => BootFailure::Failed(message),
    }
}

/// Starts the engine and, unless the boot is cold, the app. Returns the files that the app left open.
pub(crate) fn prepare(
    channel: &Channel,
    boot: &mut Boot,
    shared: &[OwnedFd],
    cold: Option<&str>,
) -> Result<BootFiles, BootFailure> {
    boot.settings.app = followed(boot).map_err(|error| {
        BootFailure::Failed(format!("{}: {error}", boot.settings.app.display()))
    })?;
    follow_folders(boot)?;
    if boot.settings.mode == Mode::Classic {
        return prepare_classic(boot).map(|()| BootFiles::default());
    }
    enter_folder(boot)?;
    php::boot(&php::Boot {
        ini: ini(boot),
        ..php::Boot::default()
    })
    .map_err(failure)?;
    if cold.is_none() {
        warn_unknown_settings(boot);
    }
    if cold.is_some() {
        php::refuse_persistent(boot.settings.concurrency.is_some_and(|number| number > 1));
        return Ok(BootFiles::default());
    }
    php::refuse_persistent(boot.settings.concurrency.is_some_and(|number| number > 1));
    let before = descriptors::open();
    php::run_entry(&boot.settings.app).map_err(failure)?;
    php::refuse_persistent(settle_concurrency(boot)? > 1);
    if let Some(reason) = descriptors::unshareable(&before) {
        return Err(descriptors::start_again(channel, boot, shared, &reason));
    }
    php::seal();
    Ok(BootFiles::opened_since(&before))
}

/// Resolves a link such as `current`, here and nowhere else: workers of this generation stay with that release. The front
/// controller of a classic site may be a link itself; the directory that contains the link is the document root all the
/// same.
fn followed(boot: &Boot) -> io::Result<PathBuf> {
    match (boot.settings.app.parent(), boot.settings.app.file_name()) {
        (Some(folder), Some(name))
            if boot.settings.mode == Mode::Classic && boot.settings.app.is_file() =>
        {
            Ok(folder.canonicalize()?.join(name))
        }
        _ => boot.settings.app.canonicalize(),
    }
}

/// Resolves the folders of the site's files in the same way.
fn follow_folders(boot: &mut Boot) -> Result<(), BootFailure> {
    let site = &mut boot.settings.site;
    let root = site.root.iter_mut().map(|root| ("site.root", root));
    let others = site.sendfile.iter_mut();
    let others = others.map(|(_, folder)| ("site.sendfile", folder));
    for (option, folder) in root.chain(others) {
        *folder = folder.canonicalize().map_err(|error| {
            BootFailure::Failed(format!("{option}: {}: {error}", folder.display()))
        })?;
    }
    Ok(())
}

/// Returns the configured concurrency, or the one that fits the kind of handler.
fn settle_concurrency(boot: &mut Boot) -> Result<u32, BootFailure> {
    boot.handler = php::handler_kind();
    let fitting = match boot.handler.as_str() {
        "callable" => ipc::CONCURRENT,
        _ => 1,
    };
    let concurrency = *boot.settings.concurrency.get_or_insert(fitting);
    if boot.handler == "frankenphp" && concurrency > 1 {
        return Err(BootFailure::Failed(format!(
            "{} asks for its requests with frankenphp_handle_request(), one after the other, so a worker cannot have {concurrency} in flight.\n\
             hint: leave workers.concurrency out, and raise workers.count instead",
            boot.settings.app.display()
        )));
    }
    Ok(concurrency)
}

/// Makes the app's folder the working directory.
#[expect(clippy::disallowed_methods, reason = "one thread, before any work")]
fn enter_folder(boot: &Boot) -> Result<(), BootFailure> {
    let folder = match boot.settings.app.is_dir() {
        true => &boot.settings.app,
        false => boot.settings.app.parent().unwrap_or(Path::new("/")),
    };
    std::env::set_current_dir(folder)
        .map_err(|error| BootFailure::Failed(format!("{}: {error}", folder.display())))
}

/// Starts the engine for a classic site, which has no app to boot.
fn prepare_classic(boot: &mut Boot) -> Result<(), BootFailure> {
    enter_folder(boot)?;
    boot.settings.concurrency = Some(1);
    php::boot(&php::Boot {
        ini: ini(boot),
        mode: php::Mode::Classic,
        ..php::Boot::default()
    })
    .map_err(failure)?;
    warn_unknown_settings(boot);
    Ok(())
}

/// Whether the name is a setting of Hearth, or a line of php.ini that loads an extension.
fn is_own_setting(name: &str) -> bool {
    name.starts_with("hearth.") || ["extension", "zend_extension"].contains(&name)
}

/// Warns about settings that PHP does not know: it accepts any name, so a mistyped one would have no effect unnoticed.
fn warn_unknown_settings(boot: &Boot) {
    let given = boot.settings.ini.iter().map(|(name, _)| name);
    for name in given.filter(|name| !is_own_setting(name) && !php::has_setting(name)) {
        // To standard error, as PHP's own messages at startup.
        let _ = writeln!(
            io::stderr(),
            "hearth: php.ini: neither PHP nor a loaded extension has the setting {name}: is it mistyped, or its extension missing?"
        );
    }
}

fn ini(boot: &Boot) -> Vec<(OsString, OsString)> {
    let mut ini: Vec<_> = boot
        .settings
        .ini
        .iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    if boot.settings.display_errors {
        ini.push(("display_errors".into(), "1".into()));
    }
    ini
}
