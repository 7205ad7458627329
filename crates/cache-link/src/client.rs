//! Asking: a question is written to a socket of its own, and its answer read from there.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cache::Refused;

use crate::intake::connect;
use crate::messages::{Answer, Question, decode, encode};

/// How many sockets are kept for the next questions.
const KEPT: usize = 16;
/// The supervisor answers within its own time limit; one that does not is stuck. Longer than any wait for a change.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// How a process waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Around the calls that may wait: where tasks run, they are let wait there.
    pub around: fn(&mut dyn FnMut()),
    /// A call was interrupted: is the answer wanted no more?
    pub is_over: fn() -> bool,
}

impl Waiting {
    /// As any process does.
    pub const PLAIN: Waiting = Waiting {
        around: |call| call(),
        is_over: || false,
    };
}

/// The way to the second tier.
#[derive(Debug)]
pub struct Client {
    intake: OwnedFd,
    waiting: Waiting,
    free: RefCell<Vec<UnixStream>>,
    /// That the free ones are of: a copy of it makes its own.
    process: Cell<u32>,
    /// That made this. It keeps none: a zygote must have no socket that its copies would share.
    maker: u32,
}

impl Client {
    pub fn new(intake: OwnedFd, waiting: Waiting) -> Client {
        Client {
            intake,
            waiting,
            free: RefCell::default(),
            process: Cell::new(0),
            maker: std::process::id(),
        }
    }

    /// The answer stands in `buffer`.
    pub fn ask<'b>(
        &self,
        question: &Question<'_>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Answer<'b>, Refused> {
        let message = encode(question).ok_or(Refused::Denied)?;
        let mut result = Ok(());
        (self.waiting.around)(&mut || result = self.exchange(&message, buffer));
        result.map_err(|_| Refused::Stuck)?;
        match decode(buffer).ok_or(Refused::Stuck)? {
            Answer::Refused(why) => Err(Answer::why(why)),
            answer => Ok(answer),
        }
    }

    fn exchange(&self, message: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
        let mut socket = self.socket()?;
        let mut rest = message;
        while !rest.is_empty() {
            let written = self.retried(|| socket.write(rest))?;
            rest = &rest[written..];
        }
        let mut length = [0; 4];
        self.fill(&mut socket, &mut length)?;
        buffer.clear();
        buffer.resize(u32::from_le_bytes(length) as usize, 0);
        self.fill(&mut socket, buffer)?;
        // Only here: on one whose answer was not awaited it may still come.
        let mut free = self.free.borrow_mut();
        if free.len() < KEPT && self.process.get() != self.maker {
            free.push(socket);
        }
        Ok(())
    }

    /// Not `read_exact`: that goes on after a task was cancelled.
    fn fill(&self, socket: &mut UnixStream, mut room: &mut [u8]) -> io::Result<()> {
        while !room.is_empty() {
            let read = self.retried(|| socket.read(room))?;
            room = &mut room[read..];
        }
        Ok(())
    }

    fn retried(&self, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match call() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted && !(self.waiting.is_over)() => {}
                result => return result,
            }
        }
    }

    fn socket(&self) -> io::Result<UnixStream> {
        let process = std::process::id();
        if self.process.replace(process) != process {
            self.free.borrow_mut().clear();
        }
        if let Some(socket) = self.free.borrow_mut().pop() {
            return Ok(socket);
        }
        let socket = connect(self.intake.as_fd())?;
        socket.set_read_timeout(Some(ANSWERS_WITHIN))?;
        Ok(socket)
    }
}
