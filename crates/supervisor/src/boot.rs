//! The boot message and the answer of a zygote, and `hearth check`.

use std::fs::File;
use std::io::{PipeReader, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::Instant;

use config::{Mode, Settings};
use ipc::{Boot, BootFailure, Booted, Channel, FromZygote, ToZygote};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::boot_output::BootOutput;
use crate::error::Error;
use crate::preload;
use crate::program::Program;
use crate::signal::describe;

pub(crate) fn message(settings: &Settings, build: &str) -> ToZygote {
    let mut settings = preload::applied(settings);
    settings.cache.redis = None;
    ToZygote::Boot(Box::new(Boot {
        build: build.into(),
        handler: String::new(),
        settings,
    }))
}

/// Checks the first answer of a zygote: whether the two programs fit and the app has booted.
pub(crate) fn handshake(
    program: &Program,
    settings: &Settings,
    own: &str,
    answer: FromZygote,
) -> Result<Booted, BootFailure> {
    match answer {
        FromZygote::Booted { build, .. } if build != own => Err(BootFailure::OtherBuild(format!(
            "hearth (build {own}) and {} (build {build}) were built from different sources: install both from the same \
                 release; after an upgrade, restart the server",
            program.path.display()
        ))),
        FromZygote::Booted { app, .. } => {
            Program::check_version(settings.php.as_deref(), &app.php)
                .map_err(BootFailure::Failed)?;
            Ok(app)
        }
        FromZygote::BootFailed(failure) => Err(failure),
        other => Err(BootFailure::Failed(format!(
            "{} answered {other:?} before it had booted",
            program.path.display()
        ))),
    }
}

/// The failure of a zygote that ended without an answer, with what it most likely lacks.
pub(crate) fn ended(program: &Program, status: i32) -> BootFailure {
    let hint = match status >> 8 & 0xff {
        127 => {
            "; its message is above: is the PHP library it needs installed (libphp8.2-embed, libphp8.4-embed)?"
        }
        _ => "; its output is above",
    };
    BootFailure::Failed(format!(
        "{} {} before the app was up{hint}",
        program.path.display(),
        describe(status)
    ))
}

pub(crate) fn too_slow(settings: &Settings) -> BootFailure {
    let seconds = settings.boot_timeout.as_secs_f64();
    BootFailure::Failed(format!(
        "the app was not up after {seconds} s (boot.timeout): {}",
        settings.app.display()
    ))
}

/// Bytes of a script that are searched for PHP's opening tag.
const START: u64 = 1 << 20;

/// Checks that the app exists and may be read: a script, or in classic mode the folder of a site.
pub fn check_app(settings: &Settings) -> Result<(), Error> {
    let app = &settings.app;
    let unreadable = |source| Error::Unreadable {
        path: app.clone(),
        source,
    };
    if settings.mode == Mode::Classic && app.is_dir() {
        return app.join(".").metadata().map(drop).map_err(unreadable);
    }
    if !app.is_file() {
        return Err(Error::NoApp(app.clone()));
    }
    let mut start = Vec::new();
    let file = File::open(app).map_err(unreadable)?;
    file.take(START)
        .read_to_end(&mut start)
        .map_err(unreadable)?;
    match start.windows(2).any(|bytes| bytes == b"<?") {
        true => Ok(()),
        false => Err(Error::NoScript(app.clone())),
    }
}

/// Boots the app once, returns how that went, and leaves nothing running. `build` is the build id of this program. What the
/// app prints is kept from standard output and added to `printed`.
pub fn check(settings: &Settings, build: &str, printed: &mut BootOutput) -> Result<Booted, Error> {
    check_app(settings)?;
    let program = Program::find(settings.php.as_deref())?;
    let (reader, writer) = std::io::pipe()?;
    // In the process group of this process, so that Ctrl-C ends both.
    let (mut child, channel) = program.start_zygote(false, writer.into(), &settings.env)?;
    let answer = request_boot(&channel, settings, build, &reader, printed);
    drop(channel);
    if matches!(answer, Ok(None)) || answer.is_err() {
        // The zygote hangs, or has ended already.
        let _ = child.kill();
    }
    printed.drain(&reader)?;
    // Nothing reads what the zygote prints while it ends.
    drop(reader);
    let status = child.wait()?;
    match answer? {
        Some(answer) => handshake(&program, settings, build, answer).map_err(Error::Boot),
        None if status.code().is_some() => Err(Error::Boot(ended(
            &program,
            std::os::unix::process::ExitStatusExt::into_raw(status),
        ))),
        None => Err(Error::Boot(too_slow(settings))),
    }
}

/// Sends the boot message and returns the answer; `None` if there was none in time.
fn request_boot(
    channel: &Channel,
    settings: &Settings,
    build: &str,
    output: &PipeReader,
    printed: &mut BootOutput,
) -> Result<Option<FromZygote>, Error> {
    match channel.send(&message(settings, build), &[]) {
        Err(e) if e.is_closed() => return Ok(None),
        sent => sent.map_err(std::io::Error::from)?,
    }
    let end = (!settings.boot_timeout.is_zero()).then(|| Instant::now() + settings.boot_timeout);
    loop {
        match readable([channel.as_fd(), output.as_fd()], end)? {
            [true, _] => break,
            [false, true] if printed.take(output)? => {}
            // The zygote has closed its standard output.
            [false, true] => match readable([channel.as_fd()], end)? {
                [true] => break,
                [false] => return Ok(None),
            },
            [false, false] => return Ok(None),
        }
    }
    let answer = channel.recv().map_err(std::io::Error::from)?;
    Ok(answer.map(|(message, _)| message))
}

/// Waits until a descriptor is readable or the time is over. Returns which are readable.
fn readable<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    end: Option<Instant>,
) -> Result<[bool; N], Error> {
    let mut polled = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    loop {
        let left = end.map(|end| {
            let left = end.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            }
        });
        match rustix::event::poll(&mut polled, left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(Error::Io(e.into())),
            Ok(_) => return Ok(polled.map(|fd| !fd.revents().is_empty())),
        }
    }
}
