//! The main function of the supervisor: opens everything, handles events, ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use config::{Dispatch, Settings, control_candidates, control_directories};
use rustix::process::{Resource, Rlimit, WaitOptions};
use socket2::Socket;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;

use super::{Server, Shared};
use crate::error::Error;
use crate::event::{Event, Events, Timer};
use crate::inherited::Inherited;
use crate::signal::{Signal, Signals};
use crate::sockets::Sockets;
use crate::{admin, boot, control, systemd};

/// Programs such as `timeout` send a signal to their child and to its group, so it arrives twice. Within this time it counts
/// as one.
const SAME_SIGNAL: Duration = Duration::from_millis(250);

/// Reads the settings again, for a reload.
pub type ReloadSettings = Box<dyn Fn() -> Result<Settings, String>>;

/// Serves until told to stop. `build` is the build id of this program.
///
/// # Errors
/// If the server cannot start; then nothing is left running.
pub fn run(
    settings: Settings,
    reload_settings: ReloadSettings,
    build: &'static str,
) -> Result<(), Error> {
    logging::set_process("supervisor");
    logging::set_level(settings.log_level);
    boot::check_app(&settings)?;
    check_user(&settings)?;
    check_logs(&settings)?;
    raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(settings, reload_settings, build))
}

/// Refuses root, because PHP runs as the user of this process.
fn check_user(settings: &Settings) -> Result<(), Error> {
    if settings.allow_root || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    if systemd::is_parent() {
        return Err(Error::Root);
    }
    logging::warning!(
        "php runs as root, so a vulnerability of the app gives access to the whole machine; start hearth as another user, or allow this with --allow-root"
    );
    Ok(())
}

/// Checks that the other processes will be able to write the logs.
pub(super) fn check_logs(settings: &Settings) -> Result<(), Error> {
    if let Some(target) = &settings.access_log {
        ::server::access::check(target).map_err(|source| Error::AccessLog {
            target: target.to_string(),
            source,
        })?;
    }
    if let Some(path) = &settings.slow_file {
        ::server::log_file::open(path).map_err(|source| Error::SlowLog {
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
}

async fn serve(
    settings: Settings,
    reload_settings: ReloadSettings,
    build: &'static str,
) -> Result<(), Error> {
    let (sender, mut happened) = unbounded_channel();
    let events = Events(sender);
    watch_signals(&events)?;
    watch_children(&events)?;
    let slots = settings
        .workers
        .number(settings.concurrency.unwrap_or(ipc::CONCURRENT));
    let inherited = Inherited::take()?;
    let sockets = sockets(inherited.sockets, &settings, slots)?;
    let control = control::open(settings.control.as_deref(), &default_control(&settings))?;
    control::serve(&control, events.clone())?;
    let admin = match admin_listener(inherited.admin, settings.admin).await? {
        Some(listener) => Some(admin::start(listener, events.clone())?),
        None => None,
    };
    let _watcher = match settings.watch {
        true => watch(&settings.app, &events),
        false => None,
    };
    logging::debug!("control socket path={}", control.path.display());
    let shared = Shared::new(&settings)?;
    let mut server = Server::new(
        settings,
        reload_settings,
        build,
        sockets,
        slots,
        events,
        shared,
    );
    server.start()?;
    if let Some(address) = admin {
        server.announce_later(format!("hearth: admin on http://{address}"));
    }
    while server.ended.is_none() {
        let Some(event) = happened.recv().await else {
            break;
        };
        server.handle(event);
    }
    let result = server.ended.take().unwrap_or(Ok(()));
    drop(server);
    // Gives the answers to `hearth stop` time to be sent.
    tokio::time::sleep(Duration::from_millis(1)).await;
    result
}

/// Returns the sockets of the service manager, or opens the addresses of `listen`.
fn sockets(inherited: Vec<Socket>, settings: &Settings, slots: u32) -> Result<Sockets, Error> {
    if inherited.is_empty() {
        return Sockets::open(settings, accepting(settings, slots));
    }
    logging::info!("listening on the sockets of the service manager, in place of listen");
    Ok(Sockets::inherited(inherited))
}

async fn admin_listener(
    inherited: Option<std::net::TcpListener>,
    address: Option<SocketAddr>,
) -> Result<Option<TcpListener>, Error> {
    Ok(match (inherited, address) {
        (Some(listener), _) => {
            listener.set_nonblocking(true)?;
            Some(TcpListener::from_std(listener)?)
        }
        (None, Some(address)) => Some(admin::open(address).await?),
        (None, None) => None,
    })
}

/// The number of processes that will accept. Several only if direct dispatch is set: by default it is for a single worker.
fn accepting(settings: &Settings, slots: u32) -> u32 {
    match settings.dispatch {
        Some(Dispatch::Direct) => slots,
        Some(Dispatch::Balanced) | None => 1,
    }
}

/// Starts the watcher. A server that cannot watch still serves.
fn watch(app: &Path, events: &Events) -> Option<notify::RecommendedWatcher> {
    let watcher = crate::watch::start(app, events.clone());
    watcher
        .inspect_err(|e| {
            logging::error!("cannot watch for changes: {e}; for \"too many watches\" raise fs.inotify.max_user_watches");
        })
        .ok()
}

fn default_control(settings: &Settings) -> Vec<PathBuf> {
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let directories = control_directories(runtime_dir, rustix::process::geteuid().as_raw());
    control_candidates(&settings.app, &directories)
}

fn watch_signals(events: &Events) -> Result<(), Error> {
    let (mut signals, events) = (Signals::install()?, events.clone());
    tokio::spawn(async move {
        let mut last: Option<Instant> = None;
        loop {
            let signal = signals.next().await;
            let is_repeated = last.is_some_and(|last| last.elapsed() < SAME_SIGNAL);
            if signal == Signal::Stop && !is_repeated {
                last = Some(Instant::now());
            }
            if signal != Signal::Stop || !is_repeated {
                events.send(Event::Signal(signal));
            }
        }
    });
    Ok(())
}

/// Reaps every child, and every process that this process adopts when its parent dies: so the end of the workers of a lost
/// zygote is still reported.
fn watch_children(events: &Events) -> Result<(), Error> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(std::io::Error::from)?;
    let (mut ended, events) = (signal(SignalKind::child())?, events.clone());
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
                let pid = pid.as_raw_nonzero().get().unsigned_abs();
                events.send(Event::Reaped {
                    pid,
                    status: status.as_raw(),
                });
            }
        }
    });
    Ok(())
}

/// Raises the soft limit of descriptors, which is low for the sake of programs that use `select`; each socket needs one.
fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(e) = rustix::process::setrlimit(Resource::Nofile, raised) {
        logging::warning!("cannot raise the limit of open files: {e}");
    }
}

impl Server {
    /// Prints the addresses when the server serves for the first time.
    pub(super) fn announce(&mut self) {
        for address in &self.addresses {
            print_line(&format!("hearth: listening on {address}"));
        }
        for line in std::mem::take(&mut self.announcements) {
            print_line(&line);
        }
        self.notify_service_manager();
        self.watchdog();
        self.schedule_saturation_check();
    }

    /// Notifies the service manager that the server serves; `systemctl status` shows the text.
    pub(super) fn notify_service_manager(&self) {
        let status = self.status();
        let what = format!(
            "{} worker{} on {}; generation {}",
            status.slots,
            if status.slots == 1 { "" } else { "s" },
            self.addresses.join(", "),
            status.generation
        );
        systemd::notify(&format!("READY=1\nSTATUS=Serving: {what}"));
    }

    /// Keeps the service manager from killing this process (`WatchdogSec=`), as long as events are handled.
    pub(super) fn watchdog(&self) {
        if let Some(interval) = systemd::watchdog() {
            systemd::notify("WATCHDOG=1");
            self.events.later(interval, Timer::Watchdog);
        }
    }

    fn announce_later(&mut self, line: String) {
        self.announcements.push(line);
    }
}

/// Prints a line for people, and for tests that wait for it.
fn print_line(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
