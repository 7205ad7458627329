//! The HTTP/2 engine: one tokio thread, connections that carry several streams each.
//!
//! It counts into the same recorder as the HTTP/1 engine; only the way a request travels differs.

use crate::clock::{Nanos, nanos, thread_cpu};
use crate::control::{Control, Message, Phase, ThreadResult};
use crate::engine::Share;
use crate::mix::Picker;
use crate::plan::{Plan, Think};
use crate::procfs;
use crate::record::{Answer, ClosedBy, Recorder, SLICE, Times};
use crate::schedule::Schedule;
use crate::target::Address;
use bytes::Bytes;
use h2::client::SendRequest;
use measure::{ErrorClass, KeepAlive};
use rand::Rng;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::{LocalSet, spawn_local};

trait Io: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

/// How a request failed.
struct Failure {
    class: ErrorClass,
    text: String,
    /// True if the connection is lost with it.
    fatal: bool,
    /// Which one.
    generation: u64,
}

/// A connection and what it carries.
#[derive(Default)]
struct Connection {
    /// Counts the connections made, so that a stale failure does not drop a new one.
    generation: Cell<u64>,
    handle: Mutex<Option<SendRequest<Bytes>>>,
    served: Cell<u64>,
    failures: Cell<u32>,
}

/// What all tasks of the thread share.
struct Engine {
    plan: Arc<Plan>,
    control: Arc<Control>,
    share: Share,
    seen_head: Cell<bool>,
    cpu_before: Cell<Duration>,
    waited_before: Cell<Duration>,
    recorder: RefCell<Recorder>,
    picker: RefCell<Picker>,
    phase: Cell<Phase>,
    began: Cell<Nanos>,
    deadline: Cell<Nanos>,
    in_flight: Cell<usize>,
    exhausted: Cell<bool>,
    /// Open loop: what is still to be handed out.
    schedule: RefCell<Option<Schedule>>,
    connections: Vec<Connection>,
    answered: RefCell<Vec<u64>>,
    longest: RefCell<Vec<Nanos>>,
    /// The request of each worker: planned and actual start.
    active: RefCell<Vec<Option<(Nanos, Nanos)>>>,
    waiting: RefCell<VecDeque<oneshot::Sender<Nanos>>>,
    someone_waits: Notify,
}

/// Works until the run is over.
pub(crate) fn run(plan: Arc<Plan>, share: Share, control: Arc<Control>, out: &Sender<Message>) {
    let engine = Rc::new(Engine::new(plan, share, control));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let error = match runtime {
        Ok(runtime) => {
            runtime.block_on(LocalSet::new().run_until(work(Rc::clone(&engine), out)));
            None
        }
        Err(error) => Some(format!("HTTP/2 engine: {error}")),
    };
    let _ = out.send(Message::Done(Box::new(engine.result(error))));
}

async fn work(engine: Rc<Engine>, out: &Sender<Message>) {
    engine.begin();
    for index in 0..engine.share.slots {
        for stream in 0..engine.plan.streams {
            spawn_local(worker(
                Rc::clone(&engine),
                index,
                index * engine.plan.streams + stream,
            ));
        }
    }
    if engine.plan.is_open() {
        spawn_local(dispatch(Rc::clone(&engine)));
    }
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let mut next_slice = engine.began.get() + SLICE;
    let mut drain_until = u64::MAX;
    loop {
        ticks.tick().await;
        let now = engine.now();
        match engine.control.phase() {
            Phase::Abort => break,
            Phase::Measure if engine.phase.get() == Phase::Warm => {
                engine.hand_over(out);
                engine.begin();
                next_slice = engine.began.get() + SLICE;
            }
            _ => {}
        }
        if now >= next_slice {
            engine.hand_over(out);
            next_slice = now + SLICE - (now - next_slice).min(SLICE / 2);
        }
        if now >= engine.deadline.get() && drain_until == u64::MAX {
            drain_until = now + nanos(engine.plan.drain);
        }
        let ended = engine.exhausted.get() || now >= engine.deadline.get();
        if now >= drain_until
            || ended && engine.in_flight.get() == 0 && engine.phase.get() == Phase::Measure
        {
            break;
        }
    }
    engine.abandon();
    engine.hand_over(out);
}

/// One stream of one connection: a request after the other.
async fn worker(engine: Rc<Engine>, index: usize, number: usize) {
    engine.ramp(index).await;
    loop {
        let planned = if engine.plan.is_open() {
            let (sender, receiver) = oneshot::channel();
            engine.waiting.borrow_mut().push_back(sender);
            engine.someone_waits.notify_one();
            let Ok(planned) = receiver.await else { return };
            planned
        } else {
            if !engine.may_start() {
                return;
            }
            engine.now()
        };
        let failures = engine.request(index, number, planned).await;
        if failures > 0 && !engine.plan.is_open() {
            tokio::time::sleep(Duration::from_millis(1 << failures.min(7))).await;
        } else if let Some(think) = engine.plan.think {
            tokio::time::sleep(engine.pause(think)).await;
        }
    }
}

/// Open loop: hands every request that is due to a worker that waits.
async fn dispatch(engine: Rc<Engine>) {
    let Ok(timer) = Timer::new() else { return };
    while let Some(due) = engine.next_due() {
        if timer.until(due, engine.now()).await.is_err() {
            return;
        }
        let was_free = !engine.waiting.borrow().is_empty();
        while engine.waiting.borrow().is_empty() {
            engine.someone_waits.notified().await;
        }
        // The measurement may have begun in the meantime, with a plan of its own.
        if engine.next_due() != Some(due) {
            continue;
        }
        engine
            .schedule
            .borrow_mut()
            .as_mut()
            .into_iter()
            .for_each(Schedule::advance);
        let sender = engine.waiting.borrow_mut().pop_front();
        if was_free {
            engine
                .recorder
                .borrow_mut()
                .tally
                .send_delay
                .record(engine.now().saturating_sub(due));
        }
        if let Some(sender) = sender {
            let _ = sender.send(due);
        }
        // Lets the request out before the next one is looked at.
        tokio::task::yield_now().await;
    }
    engine.exhausted.set(true);
}

impl Engine {
    fn new(plan: Arc<Plan>, share: Share, control: Arc<Control>) -> Self {
        Self {
            recorder: RefCell::new(Recorder::new(plan.is_open())),
            picker: RefCell::new(Picker::new(
                &plan.requests,
                plan.order,
                plan.seed,
                share.thread,
            )),
            phase: Cell::new(control.phase()),
            began: Cell::new(0),
            deadline: Cell::new(u64::MAX),
            in_flight: Cell::new(0),
            exhausted: Cell::new(false),
            schedule: RefCell::new(None),
            connections: (0..share.slots).map(|_| Connection::default()).collect(),
            answered: RefCell::new(vec![0; share.slots * plan.streams]),
            longest: RefCell::new(vec![0; share.slots * plan.streams]),
            active: RefCell::new(vec![None; share.slots * plan.streams]),
            waiting: RefCell::default(),
            someone_waits: Notify::new(),
            seen_head: Cell::new(false),
            cpu_before: Cell::default(),
            waited_before: Cell::default(),
            plan,
            control,
            share,
        }
    }

    fn now(&self) -> Nanos {
        self.control.clock.now()
    }

    /// Begins the phase that is ordered.
    fn begin(&self) {
        self.phase.set(self.control.phase());
        if self.phase.get() == Phase::Warm {
            self.began.set(self.now());
            self.begin_schedule();
            return;
        }
        let from = self.control.measure_from();
        self.began.set(from);
        self.begin_schedule();
        self.recorder.borrow_mut().restart();
        self.answered.borrow_mut().fill(0);
        self.longest.borrow_mut().fill(0);
        self.deadline.set(
            self.plan
                .duration
                .map_or(u64::MAX, |length| from.saturating_add(nanos(length))),
        );
        self.cpu_before.set(thread_cpu());
        self.waited_before.set(procfs::thread_waited());
    }

    fn next_due(&self) -> Option<Nanos> {
        self.schedule
            .borrow()
            .as_ref()
            .and_then(Schedule::peek)
            .filter(|due| *due < self.deadline.get())
    }

    fn begin_schedule(&self) {
        let mut schedule =
            crate::engine::schedule(&self.plan, self.share, self.phase.get() == Phase::Warm);
        if let Some(schedule) = &mut schedule {
            schedule.start_at(self.began.get());
        }
        *self.schedule.borrow_mut() = schedule;
    }

    async fn ramp(&self, index: usize) {
        let order = (self.share.first_slot + index) as u32;
        let total = u32::try_from(self.plan.connections.max(1)).unwrap_or(u32::MAX);
        if !self.plan.ramp.is_zero() {
            tokio::time::sleep(self.plan.ramp * order / total).await;
        }
    }

    /// Closed loop: one more request?
    fn may_start(&self) -> bool {
        if self.phase.get() == Phase::Warm {
            return true;
        }
        let more = self.now() < self.deadline.get() && self.control.claim(1) > 0;
        self.exhausted.set(self.exhausted.get() || !more);
        more
    }

    fn pause(&self, think: Think) -> Duration {
        match think {
            Think::Fixed(pause) => pause,
            Think::Exponential(mean) => {
                mean.mul_f64(-(1.0 - self.picker.borrow_mut().rng.random::<f64>()).ln())
            }
        }
    }

    /// One request from start to end; the number of connects that failed in a row.
    async fn request(&self, index: usize, number: usize, planned: Nanos) -> u32 {
        let started = self.now();
        let mut times = Times {
            planned,
            started,
            sent: started,
            first: 0,
            end: 0,
        };
        self.in_flight.set(self.in_flight.get() + 1);
        self.active.borrow_mut()[number] = Some((planned, started));
        let request = self.picker.borrow_mut().pick();
        let exchange = self.exchange(index, request, &mut times);
        let outcome = tokio::time::timeout(self.plan.timeout, exchange)
            .await
            .unwrap_or_else(|_| {
                let text = format!(
                    "no whole answer within {} s",
                    self.plan.timeout.as_secs_f64()
                );
                Err(Failure {
                    class: ErrorClass::Timeout,
                    text,
                    fatal: false,
                    generation: 0,
                })
            });
        times.end = self.now();
        self.in_flight.set(self.in_flight.get() - 1);
        self.active.borrow_mut()[number] = None;
        if let Err(failure) = &outcome
            && failure.fatal
        {
            self.drop_connection(index, failure.generation, ClosedBy::Error)
                .await;
        }
        if started >= self.began.get() {
            self.record(number, times, outcome);
        }
        self.connections[index].failures.get()
    }

    fn record(&self, number: usize, times: Times, outcome: Result<(Answer, Vec<u8>), Failure>) {
        let longest = &mut self.longest.borrow_mut()[number];
        *longest = (*longest).max(times.end - times.started);
        let mut recorder = self.recorder.borrow_mut();
        match outcome {
            Ok((answer, body)) => {
                self.answered.borrow_mut()[number] += 1;
                match self
                    .plan
                    .expect
                    .judge_parts(answer.status, answer.body_bytes, &body)
                {
                    None => recorder.good(times, answer),
                    Some(class) => recorder.unexpected(class, times, answer, &body),
                }
            }
            Err(failure) => recorder.lost(failure.class, times, false, &failure.text),
        }
    }

    async fn exchange(
        &self,
        index: usize,
        request: usize,
        times: &mut Times,
    ) -> Result<(Answer, Vec<u8>), Failure> {
        let (handle, generation) = self.handle(index).await?;
        let lost = |error: h2::Error| failure(&error, generation);
        let mut handle = handle.ready().await.map_err(lost)?;
        let request = &self.plan.requests[request];
        let empty = request.body.is_empty();
        times.sent = self.now();
        let (response, mut upload) = handle
            .send_request(request.h2.clone(), empty)
            .map_err(lost)?;
        if !empty {
            upload.send_data(request.body.clone(), true).map_err(lost)?;
        }
        self.recorder.borrow_mut().tally.sent_bytes += request.bytes.len() as u64;
        let response = response.await.map_err(lost)?;
        times.first = self.now();
        let status = response.status().as_u16();
        let head_bytes = response
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum::<usize>() as u64;
        self.look_at_head(response.headers());
        let keep = self.plan.expect.keep();
        let wanted = if status >= 400 {
            keep.body.max(keep.error_body)
        } else {
            keep.body
        };
        let mut body = response.into_body();
        let (mut kept, mut body_bytes) = (Vec::new(), 0);
        while let Some(data) = body.data().await {
            let data = data.map_err(|error| Failure {
                class: mid_body(&error),
                ..failure(&error, generation)
            })?;
            body_bytes += data.len() as u64;
            kept.extend_from_slice(&data[..data.len().min(wanted.saturating_sub(kept.len()))]);
            let _ = body.flow_control().release_capacity(data.len());
        }
        let connection = &self.connections[index];
        let reused = connection.served.get() > 0;
        connection.served.set(connection.served.get() + 1);
        if let KeepAlive::Requests(limit) = self.plan.keep_alive
            && connection.served.get() >= limit
        {
            self.drop_connection(index, generation, ClosedBy::Client)
                .await;
        }
        Ok((
            Answer {
                status,
                head_bytes,
                body_bytes,
                reused,
            },
            kept,
        ))
    }

    fn look_at_head(&self, headers: &http::HeaderMap) {
        if !self.seen_head.replace(true) {
            let server = headers
                .get("server")
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned);
            self.recorder.borrow_mut().tally.server_header = server;
        }
    }

    /// The connection's handle; connects if there is none.
    async fn handle(&self, index: usize) -> Result<(SendRequest<Bytes>, u64), Failure> {
        let connection = &self.connections[index];
        let mut handle = connection.handle.lock().await;
        if let Some(handle) = &*handle {
            return Ok((handle.clone(), connection.generation.get()));
        }
        match self.connect().await {
            Ok(fresh) => {
                connection.failures.set(0);
                connection.served.set(0);
                connection.generation.set(connection.generation.get() + 1);
                *handle = Some(fresh.clone());
                Ok((fresh, connection.generation.get()))
            }
            Err(failure) => {
                connection.failures.set(connection.failures.get() + 1);
                Err(failure)
            }
        }
    }

    async fn drop_connection(&self, index: usize, generation: u64, by: ClosedBy) {
        let connection = &self.connections[index];
        let mut handle = connection.handle.lock().await;
        if connection.generation.get() == generation && handle.take().is_some() {
            self.recorder
                .borrow_mut()
                .closed(by, connection.served.replace(0));
        }
    }

    async fn connect(&self) -> Result<SendRequest<Bytes>, Failure> {
        let began = self.now();
        let refused = |error: io::Error| Failure {
            class: crate::engine::connect_class(&error),
            text: error.to_string(),
            fatal: false,
            generation: 0,
        };
        let io: Box<dyn Io> = match &self.plan.target.address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await.map_err(refused)?;
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
            Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(refused)?),
        };
        let connected = self.now();
        {
            let tally = &mut self.recorder.borrow_mut().tally;
            tally.opened += 1;
            tally.connect.record(connected - began);
        }
        let io = self.shake_hands(io, connected).await?;
        let (handle, driver) = h2::client::Builder::new()
            .initial_window_size(1 << 20)
            .initial_connection_window_size(1 << 24)
            .enable_push(false)
            .handshake::<_, Bytes>(io)
            .await
            .map_err(|error| failure(&error, 0))?;
        spawn_local(async move {
            let _ = driver.await;
        });
        Ok(handle)
    }

    async fn shake_hands(&self, io: Box<dyn Io>, began: Nanos) -> Result<Box<dyn Io>, Failure> {
        let Some(tls) = &self.plan.tls else {
            return Ok(io);
        };
        let wrong = |text: String| Failure {
            class: ErrorClass::Tls,
            text,
            fatal: false,
            generation: 0,
        };
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&tls.config));
        let stream = connector
            .connect(tls.name.clone(), io)
            .await
            .map_err(|error| wrong(error.to_string()))?;
        let session = stream.get_ref().1;
        if session.alpn_protocol() != Some(b"h2") {
            return Err(wrong("the server does not offer HTTP/2 (ALPN h2)".into()));
        }
        let suite = session.negotiated_cipher_suite().map(|suite| suite.suite());
        let words = session
            .protocol_version()
            .zip(suite)
            .map(|(version, suite)| format!("{version:?} {suite:?}").replace("TLSv1_", "TLS 1."));
        let mut recorder = self.recorder.borrow_mut();
        recorder.tally.tls.record(self.now() - began);
        recorder.tally.tls_session = recorder.tally.tls_session.take().or(words);
        drop(recorder);
        Ok(Box::new(stream))
    }

    fn hand_over(&self, out: &Sender<Message>) {
        let now = self.now().saturating_sub(self.began.get());
        let slice = self
            .recorder
            .borrow_mut()
            .take_slice(now, self.phase.get() == Phase::Warm);
        let _ = out.send(Message::Slice(Box::new(slice)));
    }

    /// Whatever is in flight was never answered.
    fn abandon(&self) {
        let now = self.now();
        for (number, active) in self.active.borrow().iter().enumerate() {
            if let Some((planned, started)) = active
                && *started >= self.began.get()
            {
                let longest = &mut self.longest.borrow_mut()[number];
                *longest = (*longest).max(now - started);
                self.recorder
                    .borrow_mut()
                    .unfinished(*planned, *started, now);
            }
        }
        let due = now.min(self.deadline.get());
        let mut recorder = self.recorder.borrow_mut();
        if let Some(schedule) = self.schedule.borrow_mut().as_mut() {
            schedule.drain_before(due, |due| recorder.unsent(due, now));
        }
    }

    fn result(&self, error: Option<String>) -> ThreadResult {
        ThreadResult {
            tally: std::mem::take(&mut self.recorder.borrow_mut().tally),
            answered: self.answered.borrow().clone(),
            longest: self.longest.borrow().clone(),
            cpu: thread_cpu().saturating_sub(self.cpu_before.get()),
            waited: procfs::thread_waited().saturating_sub(self.waited_before.get()),
            elapsed: self.now().saturating_sub(self.began.get()),
            error,
        }
    }
}

fn failure(error: &h2::Error, generation: u64) -> Failure {
    let class = match error.get_io().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            ErrorClass::ResetBeforeFirstByte
        }
        Some(io::ErrorKind::UnexpectedEof) => ErrorClass::EarlyEof,
        _ => ErrorClass::Http2,
    };
    // A reset of one stream leaves the connection usable.
    Failure {
        class,
        text: error.to_string(),
        fatal: !error.is_reset(),
        generation,
    }
}

fn mid_body(error: &h2::Error) -> ErrorClass {
    match error.get_io().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            ErrorClass::ResetMidBody
        }
        Some(_) => ErrorClass::Truncated,
        None => ErrorClass::Http2,
    }
}

/// A timerfd under tokio, whose own timer counts in milliseconds.
struct Timer(AsyncFd<OwnedFd>);

impl Timer {
    // AsyncFd::new is deprecated because a type could swap its descriptor; OwnedFd cannot.
    #[expect(deprecated)]
    fn new() -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        Ok(Self(AsyncFd::new(fd)?))
    }

    async fn until(&self, when: Nanos, now: Nanos) -> io::Result<()> {
        if when <= now {
            return Ok(());
        }
        let delta = when - now;
        let value = Timespec {
            tv_sec: (delta / 1_000_000_000) as i64,
            tv_nsec: (delta % 1_000_000_000) as i64,
        };
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        timerfd_settime(
            self.0.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: never,
                it_value: value,
            },
        )?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut expirations = [0; 8];
            match rustix::io::read(self.0.get_ref(), &mut expirations) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
