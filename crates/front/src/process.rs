//! A thread of the process, most often the only one: what the supervisor tells it, what it accepts, and its end.

use std::cell::{Cell, RefCell};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use http1::{
    ConnectionState, Connections, Endpoints, Peer, RejectionLog, RequestHead, Response, Timeouts,
    TrustedProxies,
};
use ipc::{Channel, FromFront, FrontSettings, FrontStart, ToFront};
use server::access::{self, AccessLog};
use server::{RequestIds, Routes, channel};
use shm::Writer;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::LocalOptions;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, spawn_local};
use tokio::time::timeout;

use crate::connection;
use crate::dispatch::{self, Workers};
use crate::files::Files;
use crate::response::ResponseBody;
use crate::shared::Thread;
use crate::{threads, tick};

/// How long it goes on when the supervisor has gone without a word.
const ORPHANED: f64 = 30.0;
/// What connections may take to end when they are cut off.
const LAST: Duration = Duration::from_millis(100);

/// Everything a thread needs.
pub(crate) struct Start {
    /// What it is told.
    pub(crate) channel: Channel,
    /// Where it says something itself; `None`: there too.
    pub(crate) supervisor: Option<Channel>,
    pub(crate) settings: FrontSettings,
    pub(crate) board: OwnedFd,
    pub(crate) thread: Thread,
}

/// The state of this thread.
pub(crate) struct Front {
    pub(crate) thread: Thread,
    pub(crate) workers: Rc<Workers>,
    pub(crate) board: Rc<Writer>,
    pub(crate) http: Cell<http1::Settings>,
    pub(crate) trusted_proxies: RefCell<Rc<TrustedProxies>>,
    /// Bytes of the largest body that the app takes (`post_max_size`); 0 is no limit.
    pub(crate) post_limit: Cell<u64>,
    files: RefCell<Option<Rc<Files>>>,
    /// Wakes the clock.
    pub(crate) awake: Notify,
    channel: AsyncFd<Channel>,
    supervisor: Option<Channel>,
    pub(crate) connections: Connections,
    pub(crate) rejections: RejectionLog,
    advised: Cell<bool>,
    pub(crate) access: Rc<AccessLog>,
    pub(crate) routes: Routes,
    listeners: RefCell<Vec<AbortHandle>>,
    draining: Cell<bool>,
    closed: Notify,
    request_ids: RequestIds,
}

/// Be the front of the supervisor at the other end of standard input, until it says to drain or is gone. `build` is the build id of
/// this program.
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

/// Standard input is no channel of a supervisor's.
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
    if start.protocol != ipc::PROTOCOL || start.build != build {
        return Err(format!(
            "build {build} (protocol {}) was started by build {} (protocol {}); restart the server",
            ipc::PROTOCOL,
            start.build,
            start.protocol
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
    /// For what happens between two tasks.
    static WORKERS: RefCell<Option<Rc<Workers>>> = const { RefCell::new(None) };
}

fn with_workers(look: impl Fn(&Workers)) {
    let workers = WORKERS.with_borrow(Clone::clone);
    if let Some(workers) = workers {
        look(&workers);
    }
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// These come to every process of a group or a unit; the supervisor says on the channel when to leave.
fn pass_over_signals() -> io::Result<()> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::user_defined1(),
    ] {
        // Its handler stays when it is dropped.
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
    spawn_local(dispatch::ask_for_more(Rc::clone(&front)));
    if front.thread.is_last_ready() {
        front.say(&FromFront::Ready);
    }
    let deadline = front.until_told().await?;
    front.drain(deadline).await;
    Ok(())
}

impl Front {
    fn open(start: Start) -> io::Result<Rc<Front>> {
        let board = Rc::new(Writer::attach(start.board)?);
        let front = Front {
            workers: Workers::new(Rc::clone(&board), start.thread.clone())?,
            board,
            http: Cell::default(),
            trusted_proxies: RefCell::default(),
            post_limit: Cell::new(0),
            files: RefCell::default(),
            awake: Notify::new(),
            channel: channel::watch(start.channel, Interest::READABLE)?,
            supervisor: start.supervisor,
            connections: Connections::counted_in(start.thread.connections()),
            rejections: RejectionLog::default(),
            advised: Cell::new(false),
            access: AccessLog::install(),
            routes: Routes::new(&start.settings.settings.metrics_routes),
            listeners: RefCell::default(),
            draining: Cell::new(false),
            closed: Notify::new(),
            request_ids: RequestIds::new(start.thread.index(), start.thread.number()),
            thread: start.thread,
        };
        let front = Rc::new(front);
        front
            .access
            .complain_to(|message| logging::warning!("{message}"));
        front.change(&start.settings);
        Ok(front)
    }

    fn change(&self, new: &FrontSettings) {
        let settings = &new.settings;
        logging::set_level(settings.log_level);
        self.http.set(settings.http);
        self.trusted_proxies
            .replace(Rc::new(settings.trusted_proxies.clone()));
        http1::set_spool_limit(settings.http.max_spool);
        self.post_limit.set(new.post_limit);
        self.workers.change(settings);
        self.access
            .change(settings.access_log.as_ref(), settings.access_format);
        self.workers.measure(self.access.has_times());
        let files = Files::of_app(settings).unwrap_or_else(|error| {
            logging::warning!(
                "cannot look at the folder of its files: {error}; the front sends none"
            );
            None
        });
        self.files.replace(files.map(Rc::new));
    }

    /// What needs no worker.
    pub(crate) fn files(&self) -> Option<Rc<Files>> {
        self.files.borrow().clone()
    }

    pub(crate) fn next_request_id(&self) -> u64 {
        self.request_ids.next()
    }

    /// An answer of our own goes out.
    pub(crate) fn answered(&self, response: Response<ResponseBody>) -> Response<ResponseBody> {
        self.board.answered(response.head.status);
        response
    }

    /// If the supervisor does not listen, there is no other.
    pub(crate) fn say(&self, message: &FromFront) {
        let supervisor = self.supervisor.as_ref();
        let supervisor = supervisor.unwrap_or(self.channel.get_ref());
        let _ = supervisor.try_send(message, &[]);
    }

    /// Once: that a proxy may have been forgotten in the configuration.
    pub(crate) fn look_for_proxy(&self, peer: &Peer, head: &RequestHead) {
        if !self.advised.get()
            && let Some(message) = peer.advice(head)
        {
            self.advised.set(true);
            logging::info!("{message}");
        }
    }

    // ---- connections ----

    pub(crate) fn opened(&self, state: &Rc<ConnectionState>, address: Option<IpAddr>) -> usize {
        if self.is_quiet() {
            self.awake.notify_one();
        }
        self.connections.opened(state, address)
    }

    pub(crate) fn closed(&self, key: usize) {
        self.connections.closed(key);
        if self.draining.get() {
            self.closed.notify_one();
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.connections.is_empty()
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        Timeouts::new(&self.http.get(), self.draining.get().then_some(0))
    }

    // ---- the supervisor ----

    /// Do as told; the deadline in seconds once that is to drain.
    async fn until_told(self: &Rc<Self>) -> Result<f64, String> {
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
                ToFront::ReopenLogs => self.access.reopen(),
                ToFront::Listen => self.listen(fds).map_err(text)?,
                ToFront::Start(_) => return Err("Start came twice".into()),
            }
        }
    }

    /// Accept on these too.
    fn listen(self: &Rc<Self>, sockets: Vec<OwnedFd>) -> std::io::Result<()> {
        for socket in sockets {
            let listener = listen(Rc::clone(self), socket)?;
            self.listeners.borrow_mut().push(listener);
        }
        Ok(())
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Finish what clients have asked for.
    async fn drain(&self, deadline: f64) {
        self.listeners.take().iter().for_each(AbortHandle::abort);
        self.draining.set(true);
        self.awake.notify_one();
        let deadline = Duration::try_from_secs_f64(deadline).unwrap_or(Duration::MAX);
        if timeout(deadline, self.finished()).await.is_err() {
            let open = self.connections.count();
            logging::warning!("time to finish is over: leaving with {open} connections open");
            // What is cut off must not look complete, which only the connection itself can see to.
            self.connections.cut_off();
            let _ = timeout(LAST, self.finished()).await;
        }
    }

    async fn finished(&self) {
        while !self.is_quiet() {
            self.closed.notified().await;
        }
    }
}

/// Accept on a socket that the supervisor opened, TCP or Unix.
fn listen(front: Rc<Front>, fd: OwnedFd) -> std::io::Result<AbortHandle> {
    let socket = socket2::Socket::from(fd);
    socket.set_nonblocking(true)?;
    let handle = if socket.local_addr()?.is_unix() {
        let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_unix(front, listener))
    } else {
        let listener = TcpListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_tcp(front, listener))
    };
    Ok(handle.abort_handle())
}

async fn accept_tcp(front: Rc<Front>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let local = stream.local_addr().unwrap_or(peer);
                // Small answers must not wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let endpoints = Endpoints::tcp(peer, local);
                connection::open(Rc::clone(&front), stream, endpoints);
            }
            Err(error) => cannot_accept(&front, &error).await,
        }
    }
}

async fn accept_unix(front: Rc<Front>, listener: UnixListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connection::open(Rc::clone(&front), stream, Endpoints::default());
            }
            Err(error) => cannot_accept(&front, &error).await,
        }
    }
}

async fn cannot_accept(front: &Front, error: &std::io::Error) {
    let log = |message| logging::warning!("{message}");
    server::accept::recover(&front.connections, error, log).await;
}
