//! One worker: accepts, answers, drains, leaves.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::rc::{Rc, Weak};
use std::time::Duration;

use http1::Life;
use ipc::{Channel, Drain, FromWorker, ToWorker};
use php::{Cancel, Client, Host as _, Request};
use scoreboard::{Ticket, Writer};
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, spawn_local};
use zygote::Start;

use crate::classic::Classic;
use crate::connection;
use crate::gate::Gate;
use crate::host::ProcessHost;
use crate::spread::{self, Spread};
use crate::waiter::now_ms;
use crate::wear::Wear;
use crate::{clock, descriptors, door, log, pools, probe, watchdog};

/// A request whose task waits, for the clock.
struct Waiting {
    request: Weak<Request>,
    cancel: Box<dyn Fn(Cancel)>,
}

/// The state of this process.
pub(crate) struct Worker {
    pub(crate) host: &'static ProcessHost,
    /// The site, in classic mode.
    pub(crate) classic: Option<Classic>,
    pub(crate) body_limit: u64,
    pub(crate) keepalive_timeout: u64,
    pub(crate) header_timeout: u64,
    pub(crate) stall_timeout: u64,
    pub(crate) max_body: u64,
    pub(crate) request_timeout: Duration,
    /// Wakes the clock.
    pub(crate) awake: Notify,
    drain: Cell<Option<Drain>>,
    connections: RefCell<Vec<Option<Rc<Life>>>>,
    open: Cell<usize>,
    waiting: RefCell<Vec<Waiting>>,
    listening: RefCell<Vec<AbortHandle>>,
    next_id: Cell<u64>,
    wear: Wear,
    /// The front may still ask.
    has_door: Cell<bool>,
    /// With other workers to share connections with.
    pub(crate) spread: Option<Rc<Spread>>,
    /// It answers a request of the front's.
    serves: Cell<bool>,
    /// How many requests may be in flight (workers.concurrency).
    pub(crate) gate: Rc<Gate>,
}

fn milliseconds(seconds: f64) -> u64 {
    Duration::try_from_secs_f64(seconds).map_or(u64::MAX, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The same where 0 is none.
fn limit(seconds: f64) -> u64 {
    match milliseconds(seconds) {
        0 => u64::MAX,
        time => time,
    }
}

impl Worker {
    fn new(
        start: &Start,
        host: &'static ProcessHost,
        classic: Option<Classic>,
        spread: Option<Rc<Spread>>,
    ) -> Worker {
        // Ids differ between workers and between starts, and tell the order within one.
        let seed = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Worker {
            host,
            classic,
            body_limit: php::post_max_size(),
            keepalive_timeout: milliseconds(start.boot.keepalive_timeout),
            header_timeout: limit(start.boot.header_timeout),
            stall_timeout: limit(start.boot.stall_timeout),
            max_body: match start.boot.max_body {
                0 => u64::MAX,
                most => most,
            },
            request_timeout: Duration::try_from_secs_f64(start.boot.request_timeout)
                .unwrap_or_default(),
            awake: Notify::new(),
            drain: Cell::new(None),
            connections: RefCell::default(),
            open: Cell::new(0),
            waiting: RefCell::default(),
            listening: RefCell::default(),
            gate: Gate::new(start.boot.concurrency.unwrap_or(1).max(1)),
            wear: Wear::new(start.boot.max_requests, start.boot.max_memory),
            has_door: Cell::new(start.door.is_some()),
            spread,
            serves: Cell::new(false),
            next_id: Cell::new(
                (u64::from(std::process::id()) << 40)
                    ^ (u64::try_from(seed.as_micros()).unwrap_or(0) << 8),
            ),
        }
    }

    /// A request has ended, for the scoreboard.
    pub(crate) fn finished(&self, ticket: Option<Ticket>, status: u16) {
        if let (Some(board), Some(ticket)) = (&self.host.board, ticket) {
            board.end(ticket, status);
        }
    }

    pub(crate) fn next_request_id(&self) -> u64 {
        let id = self.next_id.get().wrapping_add(1).max(1);
        self.next_id.set(id);
        id
    }

    /// When a request that begins now must be done.
    pub(crate) fn deadline(&self) -> u64 {
        if self.request_timeout.is_zero() {
            u64::MAX
        } else {
            now_ms() + u64::try_from(self.request_timeout.as_millis()).unwrap_or(u64::MAX / 2)
        }
    }

    pub(crate) fn drain(&self) -> Option<Drain> {
        self.drain.get()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.drain.get().is_some()
    }

    // ---- connections ----

    pub(crate) fn opened(&self, life: &Rc<Life>) -> usize {
        let mut connections = self.connections.borrow_mut();
        if self.open.get() == 0 {
            self.awake.notify_one();
        }
        self.open.set(self.open.get() + 1);
        if let Some(free) = connections
            .iter()
            .position(Option::is_none)
            .filter(|_| connections.len() >= self.open.get())
        {
            connections[free] = Some(Rc::clone(life));
            return free;
        }
        connections.push(Some(Rc::clone(life)));
        connections.len() - 1
    }

    pub(crate) fn closed(&self, key: usize) {
        self.connections.borrow_mut()[key] = None;
        self.open.set(self.open.get() - 1);
        self.host.changed.notify_waiters();
    }

    pub(crate) fn each_connection(&self, look: impl Fn(&Life)) {
        self.connections
            .borrow()
            .iter()
            .flatten()
            .for_each(|life| look(life));
    }

    // ---- time limits ----

    pub(crate) fn watch(&self, request: &Rc<Request>, cancel: impl Fn(Cancel) + 'static) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            self.awake.notify_one();
        }
        waiting.push(Waiting {
            request: Rc::downgrade(request),
            cancel: Box::new(cancel),
        });
    }

    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.open.get() == 0 && !self.has_waiting()
    }

    pub(crate) fn end_overdue(&self) {
        let waiting = self.waiting.take();
        let mut still: Vec<_> = waiting
            .into_iter()
            .filter(|entry| {
                let Some(request) = entry
                    .request
                    .upgrade()
                    .filter(|request| !request.has_ended())
                else {
                    return false;
                };
                if let Some(why) = self.host.overdue(&request) {
                    (entry.cancel)(why);
                }
                true
            })
            .collect();
        self.waiting.borrow_mut().append(&mut still);
    }

    // ---- leaving ----

    fn begin_drain(&self, drain: Drain) {
        if self.drain.replace(Some(drain)).is_some() {
            return;
        }
        self.listening
            .borrow_mut()
            .drain(..)
            .for_each(|listener| listener.abort());
        if let Some(spread) = &self.spread {
            spread.leave(drain.linger);
        }
        self.awake.notify_one();
        self.host.changed.notify_waiters();
    }

    fn is_done(&self) -> bool {
        self.open.get() == 0
            && !self.has_door.get()
            && !self.serves.get()
            && !self.has_live_requests()
    }

    /// The front sends nothing more.
    pub(crate) fn door_closed(&self) {
        self.has_door.set(false);
        self.host.changed.notify_waiters();
    }

    /// A request of the front's begins or has ended.
    pub(crate) fn serves(&self, does: bool) {
        self.serves.set(does);
        if !does && !self.has_door.get() {
            self.host.changed.notify_waiters();
        }
    }

    /// A request has ended.
    pub(crate) fn look_at_wear(&self) {
        if self.wear.look() {
            self.host.changed.notify_waiters();
        }
    }

    fn has_live_requests(&self) -> bool {
        self.waiting
            .borrow()
            .iter()
            .any(|entry| is_live(&entry.request))
    }
}

/// After a fatal error PHP's side keeps its reference for ever, so only the request itself knows.
fn is_live(request: &Weak<Request>) -> bool {
    request
        .upgrade()
        .is_some_and(|request| !request.has_ended())
}

/// What a forked process runs.
pub(crate) fn main(start: Start) -> ExitCode {
    log::set_slot(start.slot);
    log::set_level(start.boot.log_level);
    if start.cold {
        if let Err(error) = php::run_entry(&start.boot.app) {
            return failed(&start.channel, error.0);
        }
        php::seal();
    }
    let outcome = runtime()
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(serve(start)));
    match outcome {
        // Not through exit(): PHP's and other libraries' handlers belong to the zygote.
        Ok(()) => hook::exit_now(0),
        Err(error) => {
            log::alert(error);
            hook::exit_now(1)
        }
    }
}

/// One thread for everything: PHP, the sockets and the clock.
pub(crate) fn runtime() -> std::io::Result<LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
}

fn failed(channel: &Channel, message: String) -> ExitCode {
    let _ = channel.send(&FromWorker::Failed { message }, &[]);
    hook::exit_now(1)
}

async fn serve(mut start: Start) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let board = start
        .scoreboard
        .try_clone()
        .and_then(Writer::attach)
        .map_err(text)?;
    let limit = Duration::try_from_secs_f64(start.boot.request_timeout).unwrap_or_default();
    let host = ProcessHost::install(Some(board), limit, false);
    let classic = start.boot.classic.then(|| Classic::new(&start.boot));
    let classic = classic
        .transpose()
        .map_err(|error| format!("{}: {error}", start.boot.app.display()))?;
    if classic.is_some() {
        hook::keep_opcache_lock();
    }
    let spread = Spread::new(start.slot, std::mem::take(&mut start.spread)).map_err(text)?;
    let worker = Rc::new(Worker::new(&start, host, classic, spread.map(Rc::new)));
    watchdog::start(Duration::try_from_secs_f64(start.boot.request_grace).unwrap_or(Duration::MAX))
        .map_err(text)?;
    if let Some(path) = &start.boot.probe
        && let Err(message) = probe::ask(&worker, path).await
    {
        start
            .channel
            .send(&FromWorker::Failed { message }, &[])
            .map_err(|error| error.to_string())?;
        hook::exit_now(1)
    }
    open(&worker, start.listeners, start.door).map_err(text)?;
    spawn_local(clock::run(Rc::clone(&worker)));
    let channel = Rc::new(descriptors::watch(start.channel, Interest::READABLE).map_err(text)?);
    channel
        .get_ref()
        .send(&FromWorker::Ready, &[])
        .map_err(|error| error.to_string())?;
    until_told(&worker, &channel).await?;
    let deadline = worker.drain().map_or(0.0, |drain| drain.deadline);
    let drained = drained(&worker);
    if tokio::time::timeout(
        Duration::try_from_secs_f64(deadline).unwrap_or(Duration::MAX),
        drained,
    )
    .await
    .is_err()
    {
        log::warn(format_args!(
            "{deadline} s to finish are over: leaving with {} connections open",
            worker.open.get()
        ));
    }
    if !worker.host.is_broken.get() {
        end_loop().await;
        pools::report(worker.host, worker.classic.is_some(), channel).await;
        pools::close().await;
    }
    Ok(())
}

/// Serve until the supervisor says to drain or is gone, or a fatal error makes it necessary.
async fn until_told(worker: &Worker, channel: &Rc<AsyncFd<Channel>>) -> Result<(), String> {
    let say = |what| {
        let sent = channel.get_ref().send(&what, &[]);
        sent.map_err(|error| error.to_string())
    };
    let mut is_worn = false;
    loop {
        // Before the looks: what happens from here on is not missed, also when a message comes at the same moment.
        let changed = worker.host.changed.notified();
        if worker.host.is_broken.get() {
            let reason = "a fatal error in PHP".to_owned();
            say(FromWorker::Leaving { reason })?;
            worker.begin_drain(Drain {
                linger: true,
                deadline: 30.0,
            });
            return Ok(());
        }
        // The end of a worker script is no failure: its successor starts at once.
        let reason = worker.wear.reason().or_else(|| worker.host.why_it_leaves());
        if let Some(reason) = reason.filter(|_| !is_worn) {
            is_worn = true;
            say(FromWorker::Worn { reason })?;
        }
        let message = tokio::select! {
            message = receive(channel) => message?,
            () = changed => continue,
        };
        let drain = match message {
            Some((ToWorker::Drain(drain), _)) => drain,
            Some((ToWorker::Pools, _)) => {
                spawn_local(pools::report(
                    worker.host,
                    worker.classic.is_some(),
                    Rc::clone(channel),
                ));
                continue;
            }
            None => Drain {
                linger: false,
                deadline: 30.0,
            },
        };
        worker.begin_drain(drain);
        return Ok(());
    }
}

/// The next message; `None` at the end.
pub(crate) async fn receive<T: DeserializeOwned>(
    channel: &AsyncFd<Channel>,
) -> Result<Option<(T, Vec<OwnedFd>)>, String> {
    loop {
        let mut guard = channel
            .readable()
            .await
            .map_err(|error| error.to_string())?;
        match guard.get_inner().try_recv() {
            Err(error) if error.is_would_block() => guard.clear_ready(),
            Err(error) => return Err(error.to_string()),
            Ok(message) => return Ok(message),
        }
    }
}

/// What a worker script of FrankenPHP's kind may take for its last lines.
const LAST_LINES: Duration = Duration::from_secs(10);

async fn end_loop() {
    let Some(task) = php::loop_stop_task() else {
        return;
    };
    if tokio::time::timeout(LAST_LINES, task).await.is_err() {
        log::warn(format_args!(
            "the worker script did not end within {LAST_LINES:?} of frankenphp_handle_request() returning false"
        ));
    }
}

async fn drained(worker: &Worker) {
    loop {
        let changed = worker.host.changed.notified();
        if worker.is_done() {
            return;
        }
        let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
    }
}

/// Begin to accept, where this worker does.
fn open(
    worker: &Rc<Worker>,
    listeners: Vec<OwnedFd>,
    door: Option<Channel>,
) -> std::io::Result<()> {
    for listener in listeners {
        let handle = listen(Rc::clone(worker), listener)?;
        worker.listening.borrow_mut().push(handle);
    }
    if let Some(spread) = &worker.spread {
        spread.open(worker)?;
    }
    door.map_or(Ok(()), |door| door::open(worker, door))
}

/// Accept on a socket that the supervisor opened, TCP or Unix.
fn listen(worker: Rc<Worker>, fd: OwnedFd) -> std::io::Result<AbortHandle> {
    let socket = socket2::Socket::from(fd);
    socket.set_nonblocking(true)?;
    let handle = if socket.local_addr()?.is_unix() {
        let listener = UnixListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_unix(worker, listener))
    } else {
        let listener = TcpListener::from_std(OwnedFd::from(socket).into())?;
        spawn_local(accept_tcp(worker, listener))
    };
    Ok(handle.abort_handle())
}

async fn accept_tcp(worker: Rc<Worker>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let local = stream.local_addr().unwrap_or(peer);
                // Small answers must not wait for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let Some((stream, seat)) = spread::keep(&worker, stream) else {
                    continue;
                };
                let client = connection::tcp_client(peer, local);
                let served = connection::serve(Rc::clone(&worker), stream, client, seat);
                spawn_local(served);
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

async fn accept_unix(worker: Rc<Worker>, listener: UnixListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some((stream, seat)) = spread::keep(&worker, stream) else {
                    continue;
                };
                let served = connection::serve(Rc::clone(&worker), stream, Client::default(), seat);
                spawn_local(served);
            }
            Err(error) => cannot_accept(&error).await,
        }
    }
}

/// Out of descriptors or memory: the queue keeps who knocks; try again when something may have been freed.
async fn cannot_accept(error: &std::io::Error) {
    if !matches!(error.raw_os_error(), Some(libc::ECONNABORTED)) {
        log::error(format_args!("cannot accept a connection: {error}"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
