//! The worker process: its state, and its life from the fork through serving and draining to the exit.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use config::{AccessFormat, Mode};
use http1::{Connections, RequestHead};
use ipc::{Channel, FromWorker};
use php::{Cancel, Request, Timings};
use server::queue::QueueLimits;
use server::{HttpServer, RequestIds, WaitQueue, access, channel};
use shm::{Ticket, Writer};
use site::PublicFolder;
use site::sendfile::Sendfile;
use tokio::io::Interest;
use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::task::spawn_local;
use zygote::Start;

use crate::balance::Balancer;
use crate::classic::{Classic, Plan};
use crate::collector::Collector;
use crate::host::ProcessHost;
use crate::io::reactor;
use crate::lifecycle::drain::{self, Draining};
use crate::lifecycle::recycle::RecyclePolicy;
use crate::request::quarantine::Quarantine;
use crate::request::queue::Queue;
use crate::response::files;
use crate::slow_log::SlowLog;
use crate::waiting::Waiting;
use crate::{front_link, front_link::attach, lifecycle::probe, pools, tick, watchdog};
use http1::now_ms;

/// The state of a worker process.
pub(crate) struct Worker {
    pub(crate) host: &'static ProcessHost,
    /// The site, in classic mode.
    pub(crate) classic: Option<Classic>,
    /// The public folder of a resident app, if this worker sends its files.
    public: Option<PublicFolder>,
    /// The folders from which PHP may have files sent (`site.sendfile`).
    pub(crate) sendfile: Sendfile,
    pub(crate) body_limit: u64,
    /// The HTTP server for this worker's clients; with a front it has none.
    pub(crate) http: HttpServer,
    pub(crate) request_timeout: Duration,
    pub(crate) draining: Cell<Option<Draining>>,
    /// Whether the time to finish is over.
    pub(crate) is_cut_off: Cell<bool>,
    /// Whether the access log shows where the time of requests goes.
    has_times: bool,
    pub(crate) waiting: RefCell<Vec<Waiting>>,
    pub(crate) recycle: RecyclePolicy,
    pub(crate) quarantine: Quarantine,
    /// Whether the front may still send requests.
    has_front: Cell<bool>,
    /// Balances connections with other workers, if there are any to share with.
    pub(crate) balancer: Option<Rc<Balancer>>,
    /// The number of requests from the front that this worker has claimed and not ended.
    serves: Cell<u32>,
    /// The number of requests that may be in flight (`workers.concurrency`).
    pub(crate) concurrency: u32,
    /// As many permits as requests may be in flight.
    pub(crate) permits: Rc<WaitQueue<()>>,
    pub(crate) queue: Queue,
    pub(crate) collector: Collector,
}

impl Worker {
    fn new(
        start: &Start,
        host: &'static ProcessHost,
        classic: Option<Classic>,
        balancer: Option<Rc<Balancer>>,
        board: Rc<Writer>,
    ) -> std::io::Result<Worker> {
        let settings = &start.boot.settings;
        let concurrency = settings.concurrency.unwrap_or(1).max(1);
        // With a front, the front sends the files.
        let public = match start.front_channel {
            Some(_) => None,
            None => PublicFolder::of_app(&settings.site)?,
        };
        Ok(Worker {
            host,
            classic,
            public,
            sendfile: Sendfile::new(&settings.site.sendfile)?,
            body_limit: php::post_max_size(),
            http: server_of_clients(start, host, board),
            request_timeout: settings.request_timeout,
            draining: Cell::new(None),
            is_cut_off: Cell::new(false),
            has_times: settings.access_log.is_some()
                && settings.access_format == AccessFormat::Json,
            waiting: RefCell::default(),
            permits: WaitQueue::new(vec![(); concurrency as usize]),
            collector: Collector::new(),
            queue: Queue::new(QueueLimits::new(settings.queue, settings.queue_timeout)),
            concurrency,
            recycle: RecyclePolicy::new(settings.max_requests, settings.max_memory),
            quarantine: Quarantine::map(&start.quarantine)?,
            has_front: Cell::new(start.front_channel.is_some()),
            balancer,
            serves: Cell::new(0),
        })
    }

    /// Returns how a request is answered if not by the app's handler.
    pub(crate) fn plan(&self, head: &RequestHead) -> Option<Plan> {
        if let Some(classic) = &self.classic {
            return Some(classic.plan(head));
        }
        let public = self.public.as_ref()?;
        files::public(public, head).map(Plan::HttpResponse)
    }

    /// Enters in the scoreboard that a request has ended.
    pub(crate) fn finished(&self, ticket: Option<Ticket>, status: u16) {
        if let (Some(board), Some(ticket)) = (&self.host.board, ticket) {
            if status != 0 {
                self.quarantine.survived(board, &ticket);
            }
            board.end(ticket, status);
        }
    }

    /// Counts a request that was answered with this status without PHP.
    pub(crate) fn count(&self, status: u16) {
        if let Some(board) = &self.host.board {
            board.answered(status);
        }
    }

    /// Returns the record of where the time of a request goes, if a log has a field for it.
    pub(crate) fn timings(&self) -> Option<Rc<Timings>> {
        self.has_times.then(Rc::default)
    }

    /// Returns when a request that begins now must be done, in milliseconds of [`now_ms`].
    pub(crate) fn deadline(&self) -> u64 {
        if self.request_timeout.is_zero() {
            u64::MAX
        } else {
            now_ms() + u64::try_from(self.request_timeout.as_millis()).unwrap_or(u64::MAX / 2)
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    // ---- leaving ----

    pub(crate) fn is_done(&self) -> bool {
        self.http.connections.is_empty()
            && php::background_work() == 0
            && !self.has_front.get()
            && !self.has_requests()
            // A request that is given up may have come from the front.
            && self.serves.get() as usize <= self.count_waiting(Request::is_given_up)
    }

    /// Why requests whose client is gone are cancelled.
    pub(crate) fn why_cancelled(&self) -> Cancel {
        match self.is_cut_off.get() {
            true => Cancel::Stop,
            false => Cancel::ClientGone,
        }
    }

    /// Notes that the front sends no more requests.
    pub(crate) fn front_channel_closed(&self) {
        self.has_front.set(false);
        self.host.changed.notify_waiters();
    }

    /// Notes that a request from the front begins or has ended.
    pub(crate) fn serves(&self, begins: bool) {
        let serves = self.serves.get();
        self.serves.set(match begins {
            true => serves + 1,
            false => serves - 1,
        });
        if !begins && !self.has_front.get() {
            self.host.changed.notify_waiters();
        }
    }

    /// Whether requests from the front run.
    pub(crate) fn serves_front(&self) -> bool {
        self.serves.get() > 0
    }

    /// Checks after a request whether the worker is to be recycled.
    pub(crate) fn check_recycle(&self) {
        if self.recycle.check() {
            self.host.changed.notify_waiters();
        }
    }
}

fn server_of_clients(start: &Start, host: &ProcessHost, board: Rc<Writer>) -> HttpServer {
    let mut settings = start.boot.settings.clone();
    // With a front, the front writes the access log.
    settings.access_log = settings
        .access_log
        .filter(|_| start.front_channel.is_none());
    let (connections, ids) = (Connections::default(), RequestIds::new(0, 1));
    let changed = Rc::clone(&host.changed);
    let http = HttpServer::new(&settings, connections, ids, board, changed);
    http.change(&settings);
    http
}

/// Runs a worker in the forked process.
pub(crate) fn main(start: Start) -> ExitCode {
    logging::set_slot(start.slot);
    logging::set_level(start.boot.settings.log_level);
    if start.cold {
        if let Err(error) = php::run_entry(&start.boot.settings.app) {
            return failed(&start.channel, error.message().to_owned());
        }
        php::seal();
    }
    let outcome = reactor::note(runtime)
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(serve(start)));
    access::flush();
    match outcome {
        // Not through exit(3): the exit handlers of PHP and other libraries belong to the zygote.
        Ok(()) => hook::exit_now(0),
        Err(error) => {
            logging::alert!("{error}");
            hook::exit_now(1)
        }
    }
}

/// Name look-ups and waits for the end of a program that are possible at once; documented in docs/reference/what-yields.md.
const BLOCKING_CALLS: usize = 512;

/// Makes the runtime: one thread for everything, PHP, sockets and timers.
pub(crate) fn runtime() -> std::io::Result<LocalRuntime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_CALLS)
        .on_thread_park(park)
        .on_thread_unpark(|| {
            http1::expire_cached_time();
            front_link::unpark();
        })
        .build_local(LocalOptions::default())
}

fn park() {
    // Before the queues show that this thread sleeps.
    access::flush();
    front_link::park();
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
        .map(Rc::new)
        .map_err(text)?;
    let settings = &start.boot.settings;
    let (limit, grace) = (settings.request_timeout, settings.request_grace);
    let concurrent = settings.concurrency.is_some_and(|number| number > 1);
    php::keep_stacks(settings.concurrency.unwrap_or(1));
    let slow = SlowLog::new(settings.slow_after, settings.slow_file.as_deref());
    let host = ProcessHost::install(
        Some(Rc::clone(&board)),
        (limit, grace),
        slow,
        concurrent,
        false,
    );
    let classic = (settings.mode == Mode::Classic).then(|| Classic::new(settings));
    let classic = classic
        .transpose()
        .map_err(|error| format!("{}: {error}", settings.app.display()))?;
    if classic.is_some() {
        host.is_classic.set(true);
        hook::keep_opcache_lock();
    }
    let balancer = Balancer::new(start.slot, std::mem::take(&mut start.balancing)).map_err(text)?;
    let worker = Worker::new(&start, host, classic, balancer.map(Rc::new), board).map_err(text)?;
    let worker = Rc::new(worker);
    watchdog::start(grace).map_err(text)?;
    if let Some(path) = &start.boot.settings.probe
        && let Err(message) = probe::check(&worker, path).await
    {
        start
            .channel
            .send(&FromWorker::Failed { message }, &[])
            .map_err(|error| error.to_string())?;
        hook::exit_now(1)
    }
    worker.quarantine.begin();
    open(&worker, start.listeners, start.front_channel).map_err(text)?;
    spawn_local(tick::run(Rc::clone(&worker)));
    let channel = Rc::new(channel::watch(start.channel, Interest::READABLE).map_err(text)?);
    channel
        .get_ref()
        .send(&FromWorker::Ready, &[])
        .map_err(|error| error.to_string())?;
    drain::run_until_drained(&worker, &channel).await?;
    drain::finish(&worker, &channel).await;
    if !worker.host.is_broken.get() {
        end_loop().await;
        pools::report(worker.host, worker.classic.is_some(), channel).await;
        pools::close(worker.host).await;
    }
    php::remove_temporary_files();
    Ok(())
}

/// How long a FrankenPHP worker script may take to end after `frankenphp_handle_request()` has returned false.
const LAST_LINES: Duration = Duration::from_secs(10);

async fn end_loop() {
    let Some(task) = php::loop_stop_task() else {
        return;
    };
    if tokio::time::timeout(LAST_LINES, task).await.is_err() {
        logging::warning!(
            "the worker script did not end within {LAST_LINES:?} of frankenphp_handle_request() returning false"
        );
    }
}

/// Begins to take requests: from listening sockets, other workers, or the front.
fn open(
    worker: &Rc<Worker>,
    listeners: Vec<OwnedFd>,
    front_channel: Option<Channel>,
) -> std::io::Result<()> {
    for listener in listeners {
        server::accept::listen(worker, listener)?;
    }
    if let Some(balancer) = &worker.balancer {
        balancer.open(worker)?;
    }
    front_channel.map_or(Ok(()), |front_channel| attach::open(worker, front_channel))
}
