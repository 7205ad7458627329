//! The client of the second tier: writes a question to a socket, and reads the answer from the same socket.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use cache::Refused;

use crate::listener::connect;
use crate::messages::{Answer, Question, decode, encode};

/// The number of sockets that are kept for further questions.
const KEPT: usize = 16;
/// How long an answer may take. The supervisor answers within its own time limit, or it is stuck. Longer than any wait for a
/// change.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// The way in which a process waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    /// Runs the calls that may block. Where tasks run, they are suspended there.
    pub around: fn(&mut dyn FnMut()),
    /// Called after a call was interrupted: returns whether the answer is not wanted any more.
    pub is_over: fn() -> bool,
}

impl Waiting {
    /// The way of a process without tasks.
    pub const PLAIN: Waiting = Waiting {
        around: |call| call(),
        is_over: || false,
    };
}

/// The connection of a process to the second tier.
#[derive(Debug)]
pub struct Client {
    connector: OwnedFd,
    waiting: Waiting,
    free: RefCell<Vec<UnixStream>>,
    /// The process that the free sockets belong to. A forked copy makes sockets of its own.
    process: Cell<u32>,
    /// The process that made this client. It keeps no sockets, because the workers forked from a zygote would share them.
    maker: u32,
}

impl Client {
    pub fn new(connector: OwnedFd, waiting: Waiting) -> Client {
        Client {
            connector,
            waiting,
            free: RefCell::default(),
            process: Cell::new(0),
            maker: std::process::id(),
        }
    }

    /// Sends a question and waits for the answer, which borrows from `buffer`.
    pub fn query<'b>(
        &self,
        question: &Question<'_>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Answer<'b>, Refused> {
        let message = encode(question).ok_or(Refused::Denied)?;
        let mut result = Ok(());
        (self.waiting.around)(&mut || result = self.exchange(&message, buffer));
        result.map_err(|_| Refused::LockTimeout)?;
        match decode(buffer).ok_or(Refused::LockTimeout)? {
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
        // A socket is kept only after its answer was read: on another one the old answer may still arrive.
        let mut free = self.free.borrow_mut();
        if free.len() < KEPT && self.process.get() != self.maker {
            free.push(socket);
        }
        Ok(())
    }

    /// Fills `room`. `read_exact` would continue after a task was cancelled.
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
        let socket = connect(self.connector.as_fd())?;
        socket.set_read_timeout(Some(ANSWERS_WITHIN))?;
        Ok(socket)
    }
}
