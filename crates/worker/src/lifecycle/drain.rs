//! Graceful drain of a worker: when it begins, what the worker finishes, and when it cuts the rest off.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ipc::{Channel, Drain, FromWorker, ToWorker};
use server::channel::receive;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, sleep_until};

use crate::front_link;
use crate::pools;
use crate::worker::Worker;

/// The longest time to drain, later than any deadline.
const NO_END: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long what is cancelled may take to end, and the interval at which this is checked. The supervisor kills
/// the worker a second after its deadline.
const LAST: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_millis(5);

/// Why a worker is replaced, for the log.
const FATAL: &str = "a fatal error in PHP";

/// A drain that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Draining {
    /// Whether idle connections may still send a request for a moment.
    pub(crate) linger: bool,
    /// When requests that still run are cut off.
    until: Instant,
}

impl Draining {
    fn new(drain: Drain) -> Draining {
        let time = Duration::try_from_secs_f64(drain.deadline).unwrap_or(NO_END);
        Draining {
            linger: drain.linger,
            until: Instant::now() + time.min(NO_END),
        }
    }

    /// Combines two drains: the stricter of each setting holds.
    fn tighten(self, other: Draining) -> Draining {
        Draining {
            linger: self.linger && other.linger,
            until: self.until.min(other.until),
        }
    }
}

/// Serves until the supervisor sends `Drain` or exits, or until the worker cannot begin another request.
pub(crate) async fn run_until_drained(
    worker: &Worker,
    channel: &Rc<AsyncFd<Channel>>,
) -> Result<(), String> {
    let send = |what| {
        let sent = channel.get_ref().send(&what, &[]);
        sent.map_err(|error| error.to_string())
    };
    let mut wants_recycle = false;
    loop {
        // Created before the checks, so that no change from here on is missed, even if a message comes at the same moment.
        let changed = worker.host.changed.notified();
        if worker.host.is_unfit.get() {
            let reason = worker.host.why_it_leaves();
            let reason = reason.unwrap_or_else(|| FATAL.to_owned());
            send(FromWorker::Draining { reason })?;
            // The supervisor answers with the deadline.
            begin_drain(
                worker,
                Drain {
                    linger: true,
                    deadline: f64::INFINITY,
                },
            );
            return Ok(());
        }
        if let Some(recycle) = why_replaced(worker).filter(|_| !wants_recycle) {
            wants_recycle = true;
            send(recycle)?;
        }
        let message = tokio::select! {
            message = receive(channel) => message.map_err(|error| error.to_string())?,
            () = changed => continue,
        };
        if handle_message(worker, channel, message.map(|(message, _)| message)) {
            return Ok(());
        }
    }
}

/// Returns why this worker is to be replaced, if so; it serves until its successor does. The end of a worker script is no
/// failure.
fn why_replaced(worker: &Worker) -> Option<FromWorker> {
    let broken = worker.host.is_broken.get();
    let reason = match broken {
        true => Some(FATAL.to_owned()),
        false => worker
            .recycle
            .reason()
            .or_else(|| worker.host.why_it_leaves()),
    };
    reason.map(|reason| FromWorker::WantsRecycle { reason, broken })
}

fn begin_drain(worker: &Worker, drain: Drain) {
    let (draining, before) = (Draining::new(drain), worker.draining.get());
    let draining = before.map_or(draining, |before| before.tighten(draining));
    worker.draining.set(Some(draining));
    if before.is_some() {
        return;
    }
    worker.http.stop_listening();
    if let Some(spread) = &worker.balancer {
        spread.leave(drain.linger);
    }
    worker.http.clock.notify_one();
    worker.host.changed.notify_waiters();
}

/// Handles a message of the supervisor; returns whether the worker drains. EOF (`None`) means to drain, too.
fn handle_message(
    worker: &Worker,
    channel: &Rc<AsyncFd<Channel>>,
    message: Option<ToWorker>,
) -> bool {
    let drain = match message {
        Some(ToWorker::Drain(drain)) => drain,
        Some(ToWorker::Pools) => {
            let (host, is_classic) = (worker.host, worker.classic.is_some());
            spawn_local(pools::report(host, is_classic, Rc::clone(channel)));
            return false;
        }
        Some(ToWorker::ReopenLogs) => {
            worker.http.access.reopen();
            worker.host.slow.reopen();
            return false;
        }
        None => Drain {
            linger: false,
            deadline: 30.0,
        },
    };
    begin_drain(worker, drain);
    true
}

/// Finishes all requests and their background work, and cuts off what is not done in time.
pub(crate) async fn finish(worker: &Worker, channel: &Rc<AsyncFd<Channel>>) {
    if !drained(worker, channel).await {
        worker.is_cut_off.set(true);
        tokio::join!(worker.http.cut_off(), end_the_rest(worker));
    }
}

/// Cancels background work, requests from the front and code that runs after the response, and waits for a moment until they
/// have ended: `finally` blocks and destructors run.
async fn end_the_rest(worker: &Worker) {
    let tasks = php::background_work();
    if tasks > 0 {
        logging::warning!("background work is cut off: time to finish is over tasks={tasks}");
        php::cancel_background_work();
    }
    front_link::cut_off();
    let end = Instant::now() + LAST;
    let is_resident = worker.classic.is_none();
    if is_resident {
        // Requests that have a client learn of the end of its connection first, so that it gets no response that looks complete.
        sleep(AGAIN).await;
        worker.stop_requests();
    }
    let runs = || {
        php::background_work() > 0
            || worker.serves_front()
            || (is_resident && worker.has_requests())
    };
    while runs() && Instant::now() < end {
        sleep(AGAIN).await;
    }
}

/// Waits until all requests are done; returns false if the time is over before. The supervisor may still shorten the time.
async fn drained(worker: &Worker, channel: &Rc<AsyncFd<Channel>>) -> bool {
    let mut is_done = pin!(done(worker));
    let mut is_connected = true;
    loop {
        let Some(draining) = worker.draining.get() else {
            return true;
        };
        tokio::select! {
            () = &mut is_done => return true,
            () = sleep_until(draining.until) => return false,
            message = receive(channel), if is_connected => {
                is_connected = matches!(message, Ok(Some(_)));
                handle_message(worker, channel, message.ok().flatten().map(|(message, _)| message));
            }
        }
    }
}

async fn done(worker: &Worker) {
    loop {
        let changed = worker.host.changed.notified();
        if worker.is_done() {
            return;
        }
        let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
    }
}
