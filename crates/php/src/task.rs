//! Tasks: PHP code that can wait, as futures.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{c_int, c_void};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use php_sys as sys;

use crate::engine::Level;
use crate::request::{Request, Script};

/// What the process around the engine provides.
pub trait Host {
    /// Poll this to its end.
    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()>>>);
    /// A future that is ready after `time`.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()>>>;
    /// A line for the log; `request` is the id of the request that runs, 0 for none.
    fn log(&self, level: Level, message: &str, request: u64);
    /// What PHP code that the host called with [`call_task`] has to say to it.
    fn report(&self, text: &str);
    /// A task ended in a fatal error: the process is to be replaced.
    fn broken(&self);
    /// This process cannot serve any longer, for this reason: it is to be replaced after what it has.
    fn leave(&self, reason: &str);
    /// A task ended in a process that PHP code forked: such a process has no other work.
    fn left_fork(&self);
    /// A timer for PHP: run `timer_task(id)` after `time`, once or again and again.
    fn timer(&self, id: u64, time: Duration, repeat: bool);
    /// Stop that timer; false if there is none.
    fn timer_stop(&self, id: u64) -> bool;
    /// `set_time_limit()`: the request that runs may take so long from now on; zero is no limit.
    fn time_limit(&self, request: &Request, limit: Duration);
    /// Classic mode: the script that runs may use so many seconds of CPU time from now on; zero is no limit.
    fn cpu_limit(&self, seconds: u32);
    /// Has the request that runs used up its time? Asked at the VM's interrupts.
    fn overdue(&self, request: &Request) -> Option<Cancel>;
}

thread_local! {
    static HOST: Cell<Option<&'static dyn Host>> = const { Cell::new(None) };
    static FORKED: Cell<bool> = const { Cell::new(false) };
    /// Timers that the app set while it was booted: they begin when there is a host.
    static EARLY_TIMERS: RefCell<Vec<(u64, Duration, bool)>> = const { RefCell::new(Vec::new()) };
}

/// Set the host of this thread, the one that runs PHP.
pub fn install(host: &'static dyn Host) {
    HOST.set(Some(host));
    for (id, time, repeat) in EARLY_TIMERS.take() {
        host.timer(id, time, repeat);
    }
}

/// Is this the thread that runs PHP, or will?
pub fn on_engine_thread() -> bool {
    HOST.get().is_some()
}

/// PHP code has forked and this is the child: from now on it blocks where it would have waited, and the parent's other
/// tasks do not run here.
pub fn forked() {
    FORKED.set(true);
}

pub(crate) fn is_forked() -> bool {
    FORKED.get()
}

pub(crate) fn start_timer(id: u64, time: Duration, repeat: bool) {
    match HOST.get() {
        Some(host) => host.timer(id, time, repeat),
        None => EARLY_TIMERS.with_borrow_mut(|timers| timers.push((id, time, repeat))),
    }
}

pub(crate) fn stop_timer(id: u64) -> bool {
    match HOST.get() {
        Some(host) => host.timer_stop(id),
        None => EARLY_TIMERS.with_borrow_mut(|timers| {
            let before = timers.len();
            timers.retain(|(known, ..)| *known != id);
            timers.len() < before
        }),
    }
}

/// A line for the log, or for the terminal while there is no host yet.
pub(crate) fn log(level: Level, message: &str) {
    let _busy = Busy::enter();
    match HOST.get() {
        Some(host) => host.log(level, message, current_request_id()),
        None => eprintln!("hearth: {message}"),
    }
}

pub(crate) fn report(text: &str) {
    if let Some(host) = HOST.get() {
        host.report(text);
    }
}

pub(crate) fn host() -> &'static dyn Host {
    HOST.get()
        .expect("php::install was called before any task runs")
}

/// Why a wait ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The request took longer than it may.
    Timeout(Duration),
    /// The client hung up.
    ClientGone,
    /// `Task::cancel()`, or the request of this child has ended.
    Task,
    /// The server stops.
    Stop,
}

impl Cancel {
    fn message(self) -> String {
        match self {
            Cancel::Timeout(limit) => {
                format!(
                    "The request took longer than its time limit of {} s (request.timeout)",
                    limit.as_secs_f64()
                )
            }
            Cancel::ClientGone => "The client closed the connection".to_owned(),
            Cancel::Task => "The task was cancelled".to_owned(),
            Cancel::Stop => "The server is stopping".to_owned(),
        }
    }
}

/// A wait was ended early; a PHP exception that says so is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Park {
    Running,
    Parked,
    Unparked,
}

/// What tasks of one request share: they end together.
#[derive(Default)]
pub(crate) struct Family {
    children: RefCell<Vec<Weak<TaskCell>>>,
    joiner: RefCell<Option<Waker>>,
}

pub(crate) struct TaskCell {
    c: Cell<*mut sys::hearth_task>,
    /// How to have it polled again, noted when it waits.
    waker: RefCell<Waker>,
    /// The waker of the poll under way, null outside of one.
    polling: Cell<*const Waker>,
    cancel: Cell<Option<Cancel>>,
    park: Cell<Park>,
    ended: Cell<bool>,
    broken: Cell<bool>,
    joiners: RefCell<Vec<Waker>>,
    /// Made with the first child.
    pub(crate) family: OnceCell<Rc<Family>>,
    pub(crate) request: Option<Rc<Request>>,
}

/// One task. Poll it to run it. It must be polled to its end: PHP code on a stack cannot be dropped half-way, only
/// cancelled.
pub struct Task(Rc<TaskCell>);

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("ended", &self.0.ended.get())
            .finish_non_exhaustive()
    }
}

impl TaskCell {
    fn new(family: Option<Rc<Family>>, request: Option<Rc<Request>>) -> Rc<TaskCell> {
        Rc::new(TaskCell {
            c: Cell::new(std::ptr::null_mut()),
            waker: RefCell::new(Waker::noop().clone()),
            polling: Cell::new(std::ptr::null()),
            cancel: Cell::new(None),
            park: Cell::new(Park::Running),
            ended: Cell::new(false),
            broken: Cell::new(false),
            joiners: RefCell::new(Vec::new()),
            family: family.map_or_else(OnceCell::new, OnceCell::from),
            request,
        })
    }

    fn note_waker(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if !known.will_wake(waker) {
            known.clone_from(waker);
        }
    }

    fn wake(&self) {
        self.waker.borrow().wake_by_ref();
    }

    fn family(&self) -> &Rc<Family> {
        self.family.get_or_init(Rc::default)
    }

    /// Only the first reason counts, until it was delivered.
    pub(crate) fn cancel(&self, why: Cancel) {
        if !self.ended.get() && self.cancel.get().is_none() {
            self.cancel.set(Some(why));
            self.wake();
        }
    }

    /// Run it until it waits or ends; true when it has ended.
    fn resume(self: &Rc<Self>) -> bool {
        if self.ended.get() {
            return true;
        }
        // SAFETY: `c` was made by one of the hearth_task_* constructors and is freed only below, after its end; the
        // engine's thread is this one, because Rc keeps the cell on it.
        let step = unsafe { sys::hearth_task_resume(self.c.get()) };
        if is_forked() {
            host().left_fork();
        }
        if step == sys::HEARTH_STEP_WAITING {
            return false;
        }
        if step == sys::HEARTH_STEP_BROKEN {
            self.broken.set(true);
            host().broken();
        }
        self.end();
        true
    }

    fn end(&self) {
        self.ended.set(true);
        // SAFETY: it has ended, and `ended` keeps resume from using the pointer again.
        unsafe { sys::hearth_task_free(self.c.replace(std::ptr::null_mut())) };
        for waker in self.joiners.borrow_mut().drain(..) {
            waker.wake();
        }
        if let Some(waker) = self
            .family
            .get()
            .and_then(|family| family.joiner.borrow_mut().take())
        {
            waker.wake();
        }
    }
}

impl Task {
    /// A task that calls the app's handler with `request`.
    pub fn request(request: Rc<Request>) -> Task {
        let cell = TaskCell::new(None, Some(request));
        let request = cell.request.as_ref().expect("just given");
        let owner = Rc::as_ptr(&cell).cast_mut().cast::<c_void>();
        // SAFETY: the cell outlives the C task: it is freed in `end`, which needs the cell. The request pointer carries
        // a reference of its own, released by hearth_on_request_release.
        let c = unsafe {
            sys::hearth_task_request(owner, Rc::into_raw(Rc::clone(request)).cast_mut().cast())
        };
        cell.c.set(c);
        Task(cell)
    }

    /// A task that runs a script of a classic site, from the engine's request startup to its shutdown. The one before
    /// must have ended.
    pub fn classic(request: Rc<Request>, script: Rc<Script>) -> Task {
        let cell = TaskCell::new(None, Some(request));
        let request = cell.request.as_ref().expect("just given");
        let owner = Rc::as_ptr(&cell).cast_mut().cast::<c_void>();
        let script = request.set_script(script);
        let script = sys::hearth_script {
            filename: script.filename.as_ptr(),
            name: sys::hearth_str::new(&script.name),
            path_info: sys::hearth_str::new(&script.path_info),
            document_root: sys::hearth_str::new(&script.document_root),
        };
        // SAFETY: as in Task::request; the script lives in the request.
        let c = unsafe {
            let request = Rc::into_raw(Rc::clone(request)).cast_mut().cast();
            sys::hearth_task_classic(owner, request, &script)
        };
        cell.c.set(c);
        Task(cell)
    }

    /// A task without a request around a C task that `make` builds for the given owner.
    pub(crate) fn detached(
        make: impl FnOnce(*mut c_void) -> *mut sys::hearth_task,
    ) -> Option<Task> {
        let cell = TaskCell::new(None, None);
        let c = make(Rc::as_ptr(&cell).cast_mut().cast());
        if c.is_null() {
            return None;
        }
        cell.c.set(c);
        Some(Task(cell))
    }

    /// End its current wait, or the next one, with an exception.
    pub fn cancel(&self, why: Cancel) {
        self.0.cancel(why);
    }

    /// Whether a fatal error ended it.
    pub fn is_broken(&self) -> bool {
        self.0.broken.get()
    }

    /// The request that it handles.
    pub fn request_of(&self) -> Option<&Rc<Request>> {
        self.0.request.as_ref()
    }

    /// A second handle to cancel it by.
    pub fn canceller(&self) -> impl Fn(Cancel) + use<> {
        let cell = Rc::downgrade(&self.0);
        move |why| {
            if let Some(cell) = cell.upgrade() {
                cell.cancel(why);
            }
        }
    }
}

impl Future for Task {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let cell = &self.0;
        cell.polling.set(context.waker());
        let ended = cell.resume();
        cell.polling.set(std::ptr::null());
        if ended {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// The task that runs on this thread.
pub(crate) fn current() -> Option<&'static TaskCell> {
    // SAFETY: the owner is the cell of the task that is running, which is alive while it runs; callers use the
    // reference only until they return to that task's PHP code, so 'static is never outlived in practice.
    unsafe { sys::hearth_current_owner().cast::<TaskCell>().as_ref() }
}

/// The id of the task that runs, 0 for none. The same number PHP sees.
pub fn current_task_id() -> u64 {
    // SAFETY: reads the current task.
    unsafe { sys::hearth_current_task_id() }
}

/// Is a PHP exception on its way up? Then what runs is a clean-up, and must not take long.
pub fn is_unwinding() -> bool {
    // SAFETY: reads a flag of the engine.
    unsafe { sys::hearth_is_unwinding() }
}

/// The id of the request whose task runs, 0 for none.
pub fn current_request_id() -> u64 {
    current()
        .and_then(|cell| cell.request.as_ref())
        .map_or(0, |request| request.id)
}

/// Marks that Rust runs on the task's stack, so that libc hooks let its calls pass.
pub(crate) struct Busy(bool);

impl Busy {
    pub(crate) fn enter() -> Busy {
        // SAFETY: sets a flag of the current task, if any.
        Busy(unsafe { sys::hearth_busy(true) })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { sys::hearth_busy(self.0) };
    }
}

fn take_cancel(cell: &TaskCell) -> bool {
    let Some(why) = cell.cancel.take() else {
        return false;
    };
    let kind = if matches!(why, Cancel::Timeout(_)) {
        sys::HEARTH_THROW_TIMEOUT
    } else {
        sys::HEARTH_THROW_CANCELLED
    };
    throw(kind, &why.message());
    true
}

pub(crate) fn throw(kind: c_int, message: &str) {
    // SAFETY: called on a task's stack below a PHP function, where an exception may be raised.
    unsafe { sys::hearth_throw(kind, sys::hearth_str::new(message.as_bytes())) };
}

/// Raise a PHP `Error` in the task that runs.
pub fn throw_error(message: &str) {
    throw(sys::HEARTH_THROW_ERROR, message);
}

/// Wait for `future` on the stack of the task that runs: to the PHP code it is a call that blocks.
///
/// Only where [`can_wait`](crate::can_wait) says so. When the task is cancelled meanwhile, the exception is under way
/// and the future is dropped.
pub fn wait<F: Future>(future: F) -> Result<F::Output, Cancelled> {
    let cell = current().expect("wait is called in a task");
    let _busy = Busy::enter();
    let mut future = pin!(future);
    loop {
        if take_cancel(cell) {
            return Err(Cancelled);
        }
        // SAFETY: null, or the waker of the poll that resumed this task and lasts until the task suspends.
        let waker = unsafe { cell.polling.get().as_ref() }.unwrap_or(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(waker)) {
            return Ok(value);
        }
        if is_forked() {
            throw_error("A forked process cannot wait for tasks and timers of its parent");
            return Err(Cancelled);
        }
        cell.note_waker(waker);
        // SAFETY: we are on the stack of the current task, in a call that may wait, and hold no borrow that others need.
        unsafe { sys::hearth_task_suspend() };
    }
}

/// From any thread: let the task that runs look for a cancellation at the VM's next check.
pub fn interrupt() {
    // SAFETY: stores one atomic flag.
    unsafe { sys::hearth_interrupt() }
}

/// From any thread: the script that runs, in classic mode, has used up its CPU time of so many seconds.
pub fn time_out(limit: u32) {
    // SAFETY: stores two atomic flags and one aligned word, EG(timeout_seconds). The engine's thread reads that word for the
    // report of the time-out and to stop a timer at the end of a request; no timer runs, so any value is right there.
    unsafe { sys::hearth_time_out(i64::from(limit)) };
}

pub(crate) fn on_interrupt() {
    let Some(cell) = current() else { return };
    if let Some(why) = cell
        .request
        .as_ref()
        .and_then(|request| host().overdue(request))
    {
        cell.cancel.set(Some(why));
    }
    take_cancel(cell);
}

/// The task for timer `id`, or `None` when it was stopped.
pub fn timer_task(id: u64) -> Option<Task> {
    // SAFETY: the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_timer_task(id, owner) })
}

/// A task that calls the PHP function `name` with one number, or `None` if there is no such function.
pub fn call_task(name: &std::ffi::CStr, argument: f64) -> Option<Task> {
    // SAFETY: the name is copied; the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_call_task(name.as_ptr(), argument, owner) })
}

/// A task in which the app's loop is told to end and does, or `None` if it has none that waits for a request.
pub fn loop_stop_task() -> Option<Task> {
    // SAFETY: the owner outlives the C task, as in Task::request.
    Task::detached(|owner| unsafe { sys::hearth_loop_stop(owner) })
}

/// A timer that fired for the last time: its callback is not needed any more once it runs.
pub fn timer_forget(id: u64) {
    // SAFETY: called on the engine's thread; the C side ignores ids it does not know.
    unsafe { sys::hearth_timer_forget(id) };
}

// ---- what PHP's own functions ask for; the C side calls these through callbacks.rs ----

/// A new task for `async()` (`child`) or `background()`. The caller gets one reference.
pub(crate) fn new_task(parent: &TaskCell, c: *mut sys::hearth_task, child: bool) -> Rc<TaskCell> {
    let cell = if child {
        TaskCell::new(Some(Rc::clone(parent.family())), parent.request.clone())
    } else {
        TaskCell::new(None, None)
    };
    cell.c.set(c);
    if child {
        let mut children = parent.family().children.borrow_mut();
        children.retain(|known| known.upgrade().is_some_and(|known| !known.ended.get()));
        children.push(Rc::downgrade(&cell));
    }
    cell
}

/// Run a new task up to its first wait, on top of the one that runs; the host polls it from there.
pub(crate) fn start(cell: Rc<TaskCell>) {
    if !cell.resume() {
        host().spawn(Box::pin(Task(cell)));
    }
}

async fn ended(cell: &TaskCell) {
    std::future::poll_fn(|context| {
        if cell.ended.get() {
            return Poll::Ready(());
        }
        cell.joiners.borrow_mut().push(context.waker().clone());
        Poll::Pending
    })
    .await;
}

fn in_time(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4))
}

/// `future`, or `None` once the time is over.
async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    let Some(limit) = limit else {
        return Some(future.await);
    };
    let mut sleep = host().sleep(limit);
    let mut future = pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// 0: it ended, 1: timed out, 2: the waiting task was cancelled.
pub(crate) fn await_task(cell: &TaskCell, seconds: f64) -> c_int {
    match wait(within(in_time(seconds), ended(cell))) {
        Ok(Some(())) => 0,
        Ok(None) => 1,
        Err(Cancelled) => 2,
    }
}

/// Wait until every child of the running task's family has ended; `cancel` them first if they are not wanted any more.
pub(crate) fn join_children(cancel: bool) {
    if is_forked() {
        return;
    }
    let cell = current().expect("called in a task");
    let Some(family) = cell.family.get().cloned() else {
        return;
    };
    let this: *const TaskCell = cell;
    if cancel {
        cancel_children(&family);
    }
    let joined = std::future::poll_fn(|context| {
        let mut children = family.children.borrow_mut();
        children.retain(|known| {
            known
                .upgrade()
                .is_some_and(|known| !known.ended.get() && !std::ptr::eq(Rc::as_ptr(&known), this))
        });
        if children.is_empty() {
            return Poll::Ready(());
        }
        *family.joiner.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    });
    if wait(joined).is_err() {
        cancel_children(&family);
    }
}

fn cancel_children(family: &Family) {
    let children: Vec<_> = family
        .children
        .borrow()
        .iter()
        .filter_map(Weak::upgrade)
        .collect();
    for child in children {
        child.cancel(Cancel::Task);
    }
}

/// 0: unparked, 1: timed out, 2: cancelled.
pub(crate) fn park(seconds: f64) -> c_int {
    let cell = current().expect("called in a task");
    cell.park.set(Park::Parked);
    let unparked = std::future::poll_fn(|_| {
        if cell.park.get() == Park::Unparked {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let outcome = wait(within(in_time(seconds), unparked));
    let was_unparked = cell.park.replace(Park::Running) == Park::Unparked;
    match outcome {
        Ok(Some(())) => 0,
        // Unparked at the moment its time was over: the wake must not be lost.
        Ok(None) if was_unparked => 0,
        Ok(None) => 1,
        Err(Cancelled) => 2,
    }
}

pub(crate) fn unpark(cell: &TaskCell) -> bool {
    if cell.park.get() != Park::Parked {
        return false;
    }
    cell.park.set(Park::Unparked);
    cell.wake();
    true
}

/// Let everything else that can run go first.
pub(crate) fn yield_now() {
    let mut yielded = false;
    let _ = wait(std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }));
}
