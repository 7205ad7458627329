//! The access log: a line for each request of a client's.
//!
//! A thread gathers its lines and writes them before it sleeps, or when there are many, so that a busy server makes one system call
//! for several requests, and one with little to do shows each at once. What is gathered is lost if the process is killed.

mod line;
mod sink;
mod time_text;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use config::{AccessFormat, LogTarget};
use http1::{Exchange, Rejection, RequestParts, now_ms};

pub use self::line::Entry;
use self::sink::Sink;
use self::time_text::TimeText;

/// Gathered bytes at which they are written.
const ENOUGH: usize = 16 * 1024;
/// Milliseconds between two complaints.
const COMPLAIN_AGAIN: u64 = 60_000;

type Complain = Box<dyn Fn(String)>;

/// Of one thread.
pub struct AccessLog {
    target: RefCell<Option<LogTarget>>,
    format: Cell<AccessFormat>,
    sink: RefCell<Option<Sink>>,
    lines: RefCell<Vec<u8>>,
    time: RefCell<TimeText>,
    complain: OnceCell<Complain>,
    complained: Cell<Option<u64>>,
}

/// A request that is over.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// Address of the client; empty for a Unix socket.
    pub client: &'a str,
    /// 0: it got none.
    pub id: u64,
    pub exchange: &'a Exchange,
    pub spent: Spent,
}

/// Where the time of a request went, as far as it came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Waiting for its turn.
    pub queue: Duration,
    /// From the begin of its PHP code to the end of its response.
    pub php: Duration,
    /// Of that on the processor.
    pub cpu: Duration,
}

thread_local! {
    static LOG: RefCell<Option<Rc<AccessLog>>> = const { RefCell::new(None) };
}

/// This thread is about to sleep, or to end.
pub fn flush() {
    LOG.with_borrow(|log| log.as_deref().map(AccessLog::flush));
}

impl AccessLog {
    /// That of this thread, which goes nowhere yet.
    pub fn install() -> Rc<AccessLog> {
        let log = Rc::new(AccessLog {
            target: RefCell::default(),
            format: Cell::new(AccessFormat::Combined),
            sink: RefCell::default(),
            lines: RefCell::default(),
            time: RefCell::default(),
            complain: OnceCell::new(),
            complained: Cell::new(None),
        });
        LOG.set(Some(Rc::clone(&log)));
        log
    }

    /// `complain` is told, now and then, why lines cannot be written.
    pub fn complain_to(&self, complain: impl Fn(String) + 'static) {
        let _ = self.complain.set(Box::new(complain));
    }

    /// From now on lines go there, in this format.
    pub fn change(&self, target: Option<&LogTarget>, format: AccessFormat) {
        self.flush();
        self.format.set(format);
        self.target.replace(target.cloned());
        self.reopen();
    }

    /// The file may be another now: it was renamed by what rotates logs. What cannot be opened leaves the old one in use.
    pub fn reopen(&self) {
        self.flush();
        let target = self.target.borrow();
        match target.as_ref().map(Sink::open).transpose() {
            Ok(sink) => drop(self.sink.replace(sink)),
            Err(error) => self.complain(format_args!("cannot open the access log: {error}")),
        }
    }

    /// What is to be kept of a request for its line; `None` where there is no log.
    #[must_use]
    pub fn entry(&self, head: &RequestParts) -> Option<Entry> {
        self.is_on().then(|| Entry::of(head, self.format.get()))
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.sink.borrow().is_some()
    }

    /// Lines have [`Served::spent`].
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.is_on() && self.format.get() == AccessFormat::Json
    }

    /// It is over.
    pub fn served(&self, entry: &Entry, served: &Served<'_>) {
        self.add(|lines, time| entry.write(lines, time, served));
    }

    /// It was answered before it became a request. Where there was no answer, there is no line.
    pub fn refused(&self, client: &str, rejection: &Rejection<'_>) {
        if rejection.status.is_some() && self.is_on() {
            let format = self.format.get();
            self.add(|lines, time| line::refused(lines, time, format, client, rejection));
        }
    }

    fn add(&self, write: impl FnOnce(&mut Vec<u8>, &mut TimeText)) {
        let is_enough = {
            let mut lines = self.lines.borrow_mut();
            write(&mut lines, &mut self.time.borrow_mut());
            lines.len() >= ENOUGH
        };
        if is_enough {
            self.flush();
        }
    }

    /// Write what was gathered.
    pub fn flush(&self) {
        if self.lines.borrow().is_empty() {
            return;
        }
        let written = match &mut *self.sink.borrow_mut() {
            Some(sink) => sink.write(&self.lines.borrow()),
            None => Ok(()),
        };
        self.lines.borrow_mut().clear();
        if let Err(error) = written {
            self.complain(format_args!("lines of the access log are lost: {error}"));
        }
    }

    fn complain(&self, what: std::fmt::Arguments<'_>) {
        let now = now_ms();
        let is_due = |last| now.saturating_sub(last) >= COMPLAIN_AGAIN;
        if let Some(complain) = self.complain.get()
            && self.complained.get().is_none_or(is_due)
        {
            self.complained.set(Some(now));
            let target = self.target.borrow();
            let target = target.as_ref().map(ToString::to_string);
            complain(format!("{what} target={}", target.unwrap_or_default()));
        }
    }
}

/// Whether lines can go there.
///
/// # Errors
/// If not: what a user is told.
pub fn check(target: &LogTarget) -> std::io::Result<()> {
    Sink::open(target).map(drop)
}
