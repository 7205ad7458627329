//! How a task waits when PHP calls a function that blocks: the hooks' [`hook::Waiter`] on tokio.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hook::{Lock, WaitMode, Waiter};
use libc::pollfd;
use php::TaskRef;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use crate::io::descriptors::{self, Descriptor};
use crate::io::reactor;

/// The one waiter of the process.
pub(crate) struct TokioWaiter;

/// The longest wait: as good as for ever, and safe to add to a clock.
const FOR_EVER: Duration = Duration::from_secs(86_400 * 365);

thread_local! {
    static SIGNALS: Rc<Notify> = Rc::default();
    static INTERRUPTIBLE: Cell<bool> = const { Cell::new(false) };
    /// Tasks that wait for a lock.
    static LOCKS: RefCell<HashMap<Lock, Vec<Waker>>> = RefCell::default();
}

/// The entry of one wait in [`LOCKS`]. Dropped at its end, however it ends: many waits for a lock end because their time is over.
struct LockEntry(Lock, Waker);

impl LockEntry {
    fn new(what: Lock, waker: Waker) -> Self {
        LOCKS.with_borrow_mut(|locks| locks.entry(what).or_default().push(waker.clone()));
        Self(what, waker)
    }
}

impl Drop for LockEntry {
    fn drop(&mut self) {
        // During thread exit the list may be gone.
        let _ = LOCKS.try_with(|locks| {
            let mut locks = locks.borrow_mut();
            let Some(waiting) = locks.get_mut(&self.0) else {
                return;
            };
            let index = waiting.iter().position(|waker| waker.will_wake(&self.1));
            index.map(|index| waiting.swap_remove(index));
            if waiting.is_empty() {
                locks.remove(&self.0);
            }
        });
    }
}

/// Why a wait cannot begin.
enum Refused {
    /// Another task waits for this descriptor.
    Claimed(i32, TaskRef),
    /// The reactor cannot watch it: the system has no room.
    NoRoom,
}

/// A descriptor for which no other task may wait meanwhile.
struct Claim(Rc<Descriptor>);

impl Claim {
    fn new(descriptor: Rc<Descriptor>, holder: TaskRef, room: bool) -> Result<Claim, Refused> {
        let fd = descriptor.fd();
        descriptor
            .claim(holder)
            .map_err(|other| Refused::Claimed(fd, other))?;
        let claim = Claim(descriptor);
        claim.0.watch_room(room).map_err(|_| Refused::NoRoom)?;
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.release();
        descriptors::keep_or_forget(&self.0);
    }
}

/// Claims the descriptors. Of one that the reactor refuses (EPERM), as a regular file, nothing is reported: poll(2) says either at once or
/// never that it is ready.
fn claim(fds: &[pollfd]) -> Result<Vec<Claim>, Refused> {
    let holder = TaskRef::current();
    fds.iter()
        .filter(|entry| entry.fd >= 0)
        .filter_map(|entry| {
            let (_, room) = wants(events_of(fds, entry.fd));
            match descriptors::get(entry.fd, room) {
                Ok(descriptor) => Some(Claim::new(descriptor, holder, room)),
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => None,
                Err(_) => Some(Err(Refused::NoRoom)),
            }
        })
        .collect()
}

/// Returns the events of all entries for one descriptor.
fn events_of(fds: &[pollfd], fd: i32) -> i16 {
    fds.iter()
        .filter(|entry| entry.fd == fd)
        .fold(0, |all, entry| all | entry.events)
}

/// Polls all descriptors without waiting.
fn poll_now(fds: &mut [pollfd]) -> i32 {
    hook::poll_now(fds)
}

fn wants(events: i16) -> (bool, bool) {
    let write = events & libc::POLLOUT != 0;
    (events & !libc::POLLOUT != 0 || !write, write)
}

/// The result of a poll instead of the number of ready descriptors, if one of them is poisoned.
const POISONED: i32 = -1;

/// Reports POLLNVAL for descriptors that were closed meanwhile and whose number is that of another file by now. Returns how many.
fn mark_gone(fds: &mut [pollfd], claims: &[Claim]) -> i32 {
    let mut count = 0;
    for entry in fds {
        let of_entry = |claim: &&Claim| claim.0.fd() == entry.fd;
        if claims
            .iter()
            .find(of_entry)
            .is_some_and(|claim| claim.0.is_gone())
        {
            entry.revents = libc::POLLNVAL;
            count += 1;
        }
    }
    count
}

async fn any_ready(fds: &mut [pollfd], claims: &[Claim]) -> i32 {
    poll_fn(|context| {
        loop {
            let mut ready = false;
            for Claim(descriptor) in claims {
                let (read, write) = wants(events_of(fds, descriptor.fd()));
                ready |= descriptor.poll_ready(read, write, context).is_ready();
            }
            if !ready {
                return Poll::Pending;
            }
            if claims.iter().any(|claim| hook::is_poisoned(claim.0.fd())) {
                return Poll::Ready(POISONED);
            }
            match poll_now(fds) {
                // Nothing is ready after all. The readiness was cleared, so wait for the next change.
                0 => match mark_gone(fds, claims) {
                    0 => {}
                    n => return Poll::Ready(n),
                },
                n => return Poll::Ready(n),
            }
        }
    })
    .await
}

/// The shortest time limit of a socket that is not worth a timer: mysqlnd reads with a limit of a day, thousands of times a
/// second, and the request's own time limit ends the wait long before.
const NO_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Waits for `future` with a time limit; `None` when the time is over first.
async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    match limit {
        Some(limit) if limit < NO_LIMIT => tokio::time::timeout(limit, future).await.ok(),
        _ => Some(future.await),
    }
}

/// Waits for `future`; `None` when a signal comes first, which happens on the command line only: signals of a server do not
/// concern its requests.
async fn unless_interrupted<F: Future>(future: F) -> Option<F::Output> {
    if !INTERRUPTIBLE.get() {
        return Some(future.await);
    }
    let signals = SIGNALS.with(Rc::clone);
    let mut signal = pin!(signals.notified());
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => signal.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Lets signals end sleeps and polls from now on, as they end those of the system.
pub(crate) fn interruptible() {
    INTERRUPTIBLE.set(true);
}

fn fail(errno: i32) -> i32 {
    hook::set_errno(errno);
    -1
}

/// Ends a wait of the running task early; `errno` is `last` where a library repeats the wait again and again.
fn end_early(fds: &[pollfd], last: i32) -> i32 {
    let first = fds.first().map_or(-1, |entry| entry.fd);
    hook::end_early(TaskRef::current().task(), first, last)
}

/// Ends the wait early if it repeats one that was, while the exception of that one propagates.
fn repeats_ended(fds: &[pollfd]) -> Option<i32> {
    let first = fds.first().map_or(-1, |entry| entry.fd);
    let last = hook::is_ended(TaskRef::current().task(), first)?;
    php::is_unwinding().then(|| end_early(fds, last))
}

fn interrupted(fds: &[pollfd]) -> i32 {
    for entry in fds.iter().filter(|entry| entry.fd >= 0) {
        php::note_interrupted(entry.fd);
    }
    end_early(fds, libc::ECANCELED)
}

fn refuse(fds: &[pollfd], refused: &Refused) -> i32 {
    match *refused {
        Refused::NoRoom => fail(libc::ENOMEM),
        Refused::Claimed(fd, other) => {
            refuse_descriptor(fd, other);
            end_early(fds, libc::EBUSY)
        }
    }
}

/// Refuses a descriptor for which another task waits. A library may try again and again, but only the first refusal throws.
fn refuse_descriptor(fd: i32, other: TaskRef) {
    if !php::is_unwinding() {
        php::throw_two_tasks(&format!("wants to use descriptor {fd}"), other);
    }
    descriptors::poison(other.task(), TaskRef::current().task());
}

fn throw_poisoned() {
    if !php::is_unwinding() {
        php::throw_error(
            "Two tasks on one connection: both have sent something on it, so it is unknown whose answer comes next. It can \
             only be closed: give each task its own, or use Hearth\\Pool",
        );
    }
}

/// Whether a task runs, and `fd` is one that no two tasks may use. Standard streams belong to all tasks.
fn is_guarded(fd: i32) -> bool {
    fd > 2 && php::on_engine_thread() && php::current_task_id() != 0
}

impl Waiter for TokioWaiter {
    fn mode(&self) -> WaitMode {
        match php::wait_mode() {
            php::WaitMode::Blocks => WaitMode::Blocks,
            php::WaitMode::Suspends => WaitMode::Suspends,
            php::WaitMode::BlocksLimited => WaitMode::BlocksLimited,
        }
    }

    fn forked(&self) {
        php::forked();
        let php = descriptors::forget();
        // A program that is about to be started gets no descriptor of the server anyway.
        if php::forks_for_itself() {
            hook::leave_to_parent(&reactor::descriptors(&php));
        }
    }

    fn interrupted(&self) {
        // Once the thread ends, no task is left to notify.
        let _ = SIGNALS.try_with(|signals| signals.notify_waiters());
    }

    fn task(&self) -> u64 {
        if php::on_engine_thread() {
            php::current_task_id()
        } else {
            0
        }
    }

    fn request(&self) -> u64 {
        if php::on_engine_thread() {
            php::current_request_id()
        } else {
            0
        }
    }

    fn records_locked(&self) {
        if php::on_engine_thread() {
            php::records_locked();
        }
    }

    fn refuse(&self, fd: i32, owner: u64) -> bool {
        let holder = || descriptors::known(fd)?.holder();
        if !is_guarded(fd) || owner == php::current_task_id() {
            return false;
        }
        let Some(other) = holder() else { return false };
        refuse_descriptor(fd, other);
        true
    }

    fn refuse_poisoned(&self, fd: i32) -> bool {
        let guarded = is_guarded(fd);
        if guarded {
            throw_poisoned();
        }
        guarded
    }

    fn poll(&self, fds: &mut [pollfd], timeout: Option<Duration>) -> i32 {
        if fds.iter().all(|entry| entry.fd < 0) {
            return if self.sleep(timeout.unwrap_or(FOR_EVER)) {
                0
            } else {
                fail(libc::EINTR)
            };
        }
        if let Some(ended) = repeats_ended(fds) {
            return ended;
        }
        let claims = match claim(fds) {
            Ok(claims) => claims,
            Err(refused) => return refuse(fds, &refused),
        };
        match php::wait(unless_interrupted(within(timeout, any_ready(fds, &claims)))) {
            Ok(Some(Some(POISONED))) => {
                throw_poisoned();
                end_early(fds, libc::EPIPE)
            }
            Ok(Some(Some(n))) => n,
            Ok(Some(None)) => 0,
            Ok(None) => fail(libc::EINTR),
            Err(php::Cancelled) => interrupted(fds),
        }
    }

    fn poll_drained(&self, entry: &mut pollfd, timeout: Option<Duration>) -> Option<i32> {
        if entry.events & libc::POLLIN == 0 || entry.events & (libc::POLLOUT | libc::POLLPRI) != 0 {
            return None;
        }
        if let Some(ended) = repeats_ended(std::slice::from_ref(entry)) {
            return Some(ended);
        }
        let descriptor =
            descriptors::known(entry.fd).filter(|descriptor| descriptor.is_drained())?;
        let claim = match Claim::new(descriptor, TaskRef::current(), false) {
            Ok(claim) => claim,
            Err(refused) => return Some(refuse(std::slice::from_ref(entry), &refused)),
        };
        let refilled = poll_fn(|context| claim.0.poll_refilled(context));
        match php::wait(within(timeout, refilled)) {
            Ok(Some(true)) => {
                entry.revents = libc::POLLIN;
                Some(1)
            }
            Ok(Some(false)) => {
                drop(claim);
                if hook::is_poisoned(entry.fd) {
                    throw_poisoned();
                    return Some(end_early(std::slice::from_ref(entry), libc::EPIPE));
                }
                // The caller has asked for the descriptor's state, which comes from the descriptor itself.
                let entry = std::slice::from_mut(entry);
                match poll_now(entry) {
                    0 => Some(self.poll(entry, timeout)),
                    n => Some(n),
                }
            }
            Ok(None) => {
                entry.revents = 0;
                Some(0)
            }
            Err(php::Cancelled) => Some(interrupted(std::slice::from_ref(entry))),
        }
    }

    fn drained(&self, fd: i32) {
        if let Some(descriptor) = descriptors::known(fd) {
            descriptor.set_drained();
        }
    }

    fn refilled(&self, fd: i32) {
        if let Some(descriptor) = descriptors::known(fd) {
            descriptor.set_refilled();
        }
    }

    fn sleep(&self, time: Duration) -> bool {
        let sleep = tokio::time::sleep(time.min(FOR_EVER));
        php::wait(unless_interrupted(sleep)).is_ok_and(|slept| slept.is_some())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "calls of libraries that no event loop can wait for; their callers wait to the end"
    )]
    fn blocking(&self, work: Box<dyn FnOnce() + Send>) -> bool {
        php::wait(tokio::task::spawn_blocking(work)).is_ok_and(|joined| joined.is_ok())
    }

    fn time_to_block(&self) -> Option<Duration> {
        php::time_to_block()
    }

    fn blocked_too_long(&self) {
        php::blocked_too_long();
    }

    fn refuse_to_block(&self) {
        php::refuse_wait();
    }

    fn is_closing_call(&self) -> bool {
        php::is_closing_process()
    }

    fn writes_to_descriptor(&self) -> bool {
        php::runs_popen()
    }

    fn is_unwinding(&self) -> bool {
        php::is_unwinding()
    }

    fn closing(&self, fd: i32) {
        if php::on_engine_thread() {
            hook::unlocked_file(fd);
            descriptors::closing(fd);
            php::descriptor_closed(fd);
        } else {
            descriptors::closed_elsewhere(fd);
        }
    }

    fn has_waiting(&self) -> bool {
        php::on_engine_thread() && LOCKS.try_with(|locks| locks.borrow().is_empty()) == Ok(false)
    }

    fn unlocked(&self, what: Lock) {
        let waiting = LOCKS.with_borrow_mut(|locks| locks.remove(&what));
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    fn wait_for_lock(&self, what: Lock, at_most: Duration) -> bool {
        let mut entry = None;
        let unlocked = poll_fn(move |context| {
            if entry.is_some() {
                return Poll::Ready(());
            }
            entry = Some(LockEntry::new(what, context.waker().clone()));
            Poll::Pending
        });
        php::wait(within(Some(at_most), unlocked)).is_ok()
    }
}

/// A timer for the engine's own waits. tokio postpones a running timer without a lock, so it is not stopped between two
/// waits.
#[derive(Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl php::Alarm for Alarm {
    fn set(&mut self, time: Duration) {
        let time = time.min(FOR_EVER);
        match &mut self.0 {
            Some(sleep) => sleep.as_mut().reset(Instant::now() + time),
            None => self.0 = Some(Box::pin(tokio::time::sleep(time))),
        }
    }

    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0
            .as_mut()
            .map_or(Poll::Pending, |sleep| sleep.as_mut().poll(context))
    }
}
