//! The front process, and one thread of it, most often the only one: start, messages from the supervisor, drain.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use http1::{Connections, Response};
use ipc::{Channel, FromFront, FrontSettings, FrontStart, ToFront};
use server::{HttpServer, RequestIds, access, channel};
use shm::Writer;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::LocalOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::dispatch::{self, Workers};
use crate::files::Files;
use crate::response::ResponseBody;
use crate::shared::Thread;
use crate::{threads, tick};

/// Seconds to drain when the supervisor has exited without sending `Drain`.
const ORPHANED: f64 = 30.0;

/// Everything a thread needs to start.
pub(crate) struct Start {
    /// The channel from which the thread receives its messages.
    pub(crate) channel: Channel,
    /// The channel to the supervisor; `None` if that is `channel`.
    pub(crate) supervisor: Option<Channel>,
    pub(crate) settings: FrontSettings,
    pub(crate) board: OwnedFd,
    pub(crate) thread: Thread,
}

/// The state of one thread of the front.
pub(crate) struct Front {
    pub(crate) thread: Thread,
    pub(crate) workers: Rc<Workers>,
    pub(crate) http: HttpServer,
    /// Bytes of the largest body that the app takes (`post_max_size`); 0 is no limit.
    pub(crate) post_limit: Cell<u64>,
    files: RefCell<Option<Rc<Files>>>,
    channel: AsyncFd<Channel>,
    supervisor: Option<Channel>,
    draining: Cell<bool>,
}

/// Runs the front for the supervisor at the other end of standard input, until that sends `Drain` or exits. `build` is the
/// build id of this program.
pub fn main(build: &str) -> ExitCode {
    logging::set_process("front");
    let _ = rustix::thread::set_name(c"hearth-front");
    let Ok(input) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return misused();
    };
    let channel = Channel::from(input);
    let run = match channel.recv::<ToFront>() {
        Ok(Some((ToFront::Start(start), fds))) => begin(channel, *start, fds, build),
        Ok(None) => Ok(()),
        _ => return misused(),
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "hearth front: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Reports that standard input is not a channel to a supervisor.
fn misused() -> ExitCode {
    let _ = writeln!(
        io::stderr(),
        "hearth front: this command is for hearth itself: use `hearth serve`"
    );
    ExitCode::from(2)
}

fn begin(
    supervisor: Channel,
    start: FrontStart,
    boards: Vec<OwnedFd>,
    build: &str,
) -> Result<(), String> {
    if let Err(message) = fits(&start, &boards, build) {
        let _ = supervisor.try_send(&FromFront::Failed { message }, &[]);
        return Ok(());
    }
    let [board] = match <[OwnedFd; 1]>::try_from(boards) {
        Ok(board) => board,
        Err(boards) => return threads::run(supervisor, &start.settings, boards),
    };
    run(Start {
        channel: supervisor,
        supervisor: None,
        settings: start.settings,
        board,
        thread: Thread::all(1).remove(0),
    })
}

fn fits(start: &FrontStart, boards: &[OwnedFd], build: &str) -> Result<(), String> {
    if start.build != build {
        return Err(format!(
            "build {build} was started by build {}; restart the server",
            start.build
        ));
    }
    if boards.is_empty() || boards.len() != start.settings.settings.front_threads as usize {
        return Err(format!(
            "Start for {} threads came with {} scoreboards",
            start.settings.settings.front_threads,
            boards.len()
        ));
    }
    Ok(())
}

pub(crate) fn run(start: Start) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(|| {
            access::flush();
            with_workers(Workers::park);
        })
        .on_thread_unpark(|| with_workers(Workers::unpark))
        .build_local(LocalOptions::default())
        .map_err(text)?;
    let ended = runtime.block_on(serve(start));
    access::flush();
    ended
}

thread_local! {
    /// This thread's workers, for the runtime's park and unpark hooks, which run outside tasks.
    static WORKERS: RefCell<Option<Rc<Workers>>> = const { RefCell::new(None) };
}

fn with_workers(action: impl Fn(&Workers)) {
    let workers = WORKERS.with_borrow(Clone::clone);
    if let Some(workers) = workers {
        action(&workers);
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes the process ignore signals that all processes of a group or a unit get; the supervisor sends `Drain` instead.
fn pass_over_signals() -> io::Result<()> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::user_defined1(),
    ] {
        // The signal handler stays installed when its listener is dropped.
        drop(signal(kind)?);
    }
    Ok(())
}

async fn serve(start: Start) -> Result<(), String> {
    pass_over_signals().map_err(text)?;
    let supervisor = start.supervisor.as_ref().unwrap_or(&start.channel);
    let supervisor = supervisor.try_clone().map_err(text)?;
    let front = match Front::open(start) {
        Ok(front) => front,
        Err(error) => {
            let message = error.to_string();
            let _ = supervisor.try_send(&FromFront::Failed { message }, &[]);
            return Ok(());
        }
    };
    drop(supervisor);
    WORKERS.set(Some(Rc::clone(&front.workers)));
    spawn_local(tick::run(Rc::clone(&front)));
    spawn_local(dispatch::watch_queue(Rc::clone(&front.workers)));
    spawn_local(dispatch::report_shortages(Rc::clone(&front)));
    if front.thread.is_last_ready() {
        front.send(&FromFront::Ready);
    }
    let deadline = front.handle_messages().await?;
    front.drain(deadline).await;
    Ok(())
}

impl Front {
    fn open(start: Start) -> io::Result<Rc<Front>> {
        let board = Rc::new(Writer::attach(start.board)?);
        let thread = start.thread;
        let http = HttpServer::new(
            &start.settings.settings,
            Connections::counted_in(thread.connections()),
            RequestIds::new(thread.index(), thread.number()),
            Rc::clone(&board),
            Rc::default(),
        );
        let front = Rc::new(Front {
            workers: Workers::new(board, thread.clone())?,
            http,
            post_limit: Cell::new(0),
            files: RefCell::default(),
            channel: channel::watch(start.channel, Interest::READABLE)?,
            supervisor: start.supervisor,
            draining: Cell::new(false),
            thread,
        });
        front.change(&start.settings);
        Ok(front)
    }

    fn change(&self, new: &FrontSettings) {
        let settings = &new.settings;
        logging::set_level(settings.log_level);
        self.http.change(settings);
        self.post_limit.set(new.post_limit);
        self.workers.change(settings);
        self.workers.measure(self.http.access.has_times());
        let files = Files::of_app(settings).unwrap_or_else(|error| {
            logging::warning!(
                "cannot open the folder of the app's files: {error}; the front sends no files"
            );
            None
        });
        self.files.replace(files.map(Rc::new));
    }

    /// Returns the files that the front sends without a worker.
    pub(crate) fn files(&self) -> Option<Rc<Files>> {
        self.files.borrow().clone()
    }

    /// Counts a response of the front's own.
    pub(crate) fn answered(&self, response: Response<ResponseBody>) -> Response<ResponseBody> {
        self.http.board.answered(response.head.status);
        response
    }

    /// Sends a message to the supervisor. An error is ignored, because there is no other process to notify.
    pub(crate) fn send(&self, message: &FromFront) {
        let supervisor = self.supervisor.as_ref();
        let supervisor = supervisor.unwrap_or(self.channel.get_ref());
        let _ = supervisor.try_send(message, &[]);
    }

    // ---- the supervisor ----

    /// Handles messages from the supervisor until `Drain`, and returns its deadline in seconds.
    async fn handle_messages(self: &Rc<Self>) -> Result<f64, String> {
        loop {
            let received = channel::receive::<ToFront>(&self.channel)
                .await
                .map_err(text)?;
            let Some((message, mut fds)) = received else {
                return Ok(ORPHANED);
            };
            match message {
                ToFront::Drain { deadline } => return Ok(deadline),
                ToFront::Settings(settings) => self.change(&settings),
                ToFront::Retire { worker } => self.workers.retire(worker),
                ToFront::Worker { worker } => {
                    let front_channel = fds.pop().ok_or("a worker came without its channel")?;
                    if let Err(error) = self.workers.add(worker, front_channel.into()) {
                        logging::warning!("cannot take a worker: {error}");
                    }
                }
                ToFront::ReopenLogs => self.http.access.reopen(),
                ToFront::Listen => self.listen(fds).map_err(text)?,
                ToFront::Start(_) => return Err("Start came twice".into()),
            }
        }
    }

    /// Accepts connections from these sockets too.
    fn listen(self: &Rc<Self>, sockets: Vec<OwnedFd>) -> std::io::Result<()> {
        let mut sockets = sockets.into_iter();
        sockets.try_for_each(|socket| server::accept::listen(self, socket))
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Finishes the requests of open connections; after `deadline` seconds, cuts off the connections that are still open.
    async fn drain(&self, deadline: f64) {
        self.http.stop_listening();
        self.draining.set(true);
        self.http.clock.notify_one();
        let deadline = Duration::try_from_secs_f64(deadline).unwrap_or(Duration::MAX);
        if timeout(deadline, self.http.all_closed()).await.is_err() {
            self.http.cut_off().await;
        }
    }
}
