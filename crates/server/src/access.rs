//! The access log: a line for each request of a client.
//!
//! A thread gathers its lines and writes them before it sleeps, or when there are many. So a busy server makes one system
//! call for several requests, and one with little to do shows each line at once. Gathered lines are lost if the process is
//! killed.

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

/// Gathered bytes at which the lines are written.
const ENOUGH: usize = 16 * 1024;
/// Milliseconds between two complaints about lines that cannot be written.
const COMPLAIN_AGAIN: u64 = 60_000;

type Complain = Box<dyn Fn(String)>;

/// The access log of one thread.
pub struct AccessLog {
    target: RefCell<Option<LogTarget>>,
    format: Cell<AccessFormat>,
    sink: RefCell<Option<Sink>>,
    lines: RefCell<Vec<u8>>,
    time: RefCell<TimeText>,
    complain: OnceCell<Complain>,
    complained: Cell<Option<u64>>,
}

/// A finished request, as the access log shows it.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// Address of the client; empty for a Unix socket.
    pub client: &'a str,
    /// The id of the request; 0 if it has none.
    pub id: u64,
    pub exchange: &'a Exchange,
    pub spent: RequestTimes,
}

/// Where the time of a request went, as far as the request came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// Time of waiting for its turn.
    pub queue: Duration,
    /// Time from the start of its PHP code to the end of its response.
    pub php: Duration,
    /// The part of `php` that its code has spent on the processor.
    pub cpu: Duration,
}

thread_local! {
    static LOG: RefCell<Option<Rc<AccessLog>>> = const { RefCell::new(None) };
}

/// Writes the lines that this thread has gathered, because the thread is about to sleep, or to end.
pub fn flush() {
    LOG.with_borrow(|log| log.as_deref().map(AccessLog::flush));
}

impl AccessLog {
    /// Installs the access log of this thread, without a target yet.
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

    /// Sets the function that is told, now and then, why lines cannot be written.
    pub(crate) fn complain_to(&self, complain: impl Fn(String) + 'static) {
        let _ = self.complain.set(Box::new(complain));
    }

    /// Sets target and format of the lines from now on.
    pub fn change(&self, target: Option<&LogTarget>, format: AccessFormat) {
        self.flush();
        self.format.set(format);
        self.target.replace(target.cloned());
        self.reopen();
    }

    /// Reopens the target after log rotation has renamed the file. If it cannot be opened, the old file stays in use.
    pub fn reopen(&self) {
        self.flush();
        let target = self.target.borrow();
        match target.as_ref().map(Sink::open).transpose() {
            Ok(sink) => drop(self.sink.replace(sink)),
            Err(error) => self.complain(format_args!("cannot open the access log: {error}")),
        }
    }

    /// Returns what is to be kept of a request for its line; `None` if there is no log.
    #[must_use]
    pub fn entry(&self, head: &RequestParts) -> Option<Entry> {
        self.is_on().then(|| Entry::of(head, self.format.get()))
    }

    #[must_use]
    pub fn is_on(&self) -> bool {
        self.sink.borrow().is_some()
    }

    /// Whether lines show [`Served::spent`].
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.is_on() && self.format.get() == AccessFormat::Json
    }

    /// Adds the line of a finished request.
    pub fn served(&self, entry: &Entry, served: &Served<'_>) {
        self.add(|lines, time| entry.write(lines, time, served));
    }

    /// Adds the line of a rejection that came before there was a request. Without a response there is no line.
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

    /// Writes the gathered lines.
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

/// Checks whether lines can be written to this target.
///
/// # Errors
/// The reason for the user, if they cannot.
pub fn check(target: &LogTarget) -> std::io::Result<()> {
    Sink::open(target).map(drop)
}
