//! Reads a worker's stream, through which responses come that do not fit in a slot. EOF tells the front that the worker has
//! exited.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use relay::frame::{STREAM_HEADER, StreamFrame};
use rustix::io::Errno;
use tokio::task::spawn_local;

use crate::dispatch::{Worker, Workers};
use crate::pending::PendingRequest;
use crate::response_spool::Broken;

/// Bytes read from the stream at a time.
const PIECE: usize = 64 << 10;

/// Attempts to send a request's files, and the pause between two of them.
const TRIES: u32 = 20;
const AGAIN: Duration = Duration::from_millis(50);

/// Whether an error is temporary: too many descriptors are in flight, or memory is short. The worker is alive.
fn passes(error: &io::Error) -> bool {
    let errors = [
        Errno::TOOMANYREFS,
        Errno::NOBUFS,
        Errno::NOMEM,
        Errno::AGAIN,
    ];
    errors
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Reads the worker's stream, as fast as data comes, until EOF.
pub(crate) async fn take(workers: Weak<Workers>, worker: Rc<Worker>) {
    let mut taker = StreamReader {
        workers,
        worker,
        number: 0,
        pending: None,
        open: HashMap::new(),
        left: 0,
    };
    // After any error, as after EOF, the requests of this worker are lost.
    let _ = taker.take().await;
    if let Some(workers) = taker.workers.upgrade() {
        workers.gone(&taker.worker);
    }
}

/// Lets the worker continue a response once its client has read some of it, or has left.
async fn release(workers: Rc<Workers>, pending: Rc<PendingRequest>) {
    pending.room().await;
    workers.release(&pending);
}

struct StreamReader {
    workers: Weak<Workers>,
    worker: Rc<Worker>,
    /// The request of the current frame: its number, and its state if it is still pending.
    number: u32,
    pending: Option<Rc<PendingRequest>>,
    /// Requests whose response has begun and not ended, by number: frames of several responses may alternate.
    open: HashMap<u32, Rc<PendingRequest>>,
    /// Bytes of the current frame that are still to come.
    left: usize,
}

impl StreamReader {
    async fn take(&mut self) -> io::Result<()> {
        let mut buffer = BytesMut::new();
        loop {
            self.worker.stream.readable().await?;
            buffer.reserve(PIECE);
            match self.worker.stream.try_read_buf(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    self.split(&mut buffer).await?;
                    self.poll_if_due();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn poll_if_due(&self) {
        if let Some(workers) = self.workers.upgrade() {
            workers.poll_if_due();
        }
    }

    async fn split(&mut self, buffer: &mut BytesMut) -> io::Result<()> {
        loop {
            if self.left > 0 && !buffer.is_empty() {
                let length = buffer.len().min(self.left);
                self.left -= length;
                self.push(buffer.split_to(length).freeze());
            }
            if self.left > 0 || buffer.len() < STREAM_HEADER {
                return Ok(());
            }
            let mut head = [0; STREAM_HEADER];
            buffer.copy_to_slice(&mut head);
            let (number, piece) = StreamFrame::parse(head);
            self.begin(number);
            match piece {
                StreamFrame::Bytes(length) => self.left = length as usize,
                StreamFrame::End => self.end(Ok(())),
                StreamFrame::Broken => self.end(Err(Broken)),
                StreamFrame::Files => {
                    self.send_files().await?;
                    // If the request were kept here, its files would stay on the disk until the worker's next request.
                    self.pending = None;
                }
            }
        }
    }

    fn begin(&mut self, number: u32) {
        self.number = number;
        self.pending = self.open.get(&number).cloned();
        if self.pending.is_none() {
            let workers = self.workers.upgrade();
            self.pending = workers.and_then(|workers| workers.streaming(&self.worker, number));
        }
    }

    fn push(&mut self, piece: Bytes) {
        let Some(pending) = &self.pending else { return };
        self.open
            .entry(self.number)
            .or_insert_with(|| Rc::clone(pending));
        pending.push(piece);
        if pending.is_full()
            && let Some(workers) = self.workers.upgrade()
            && workers.hold(pending)
        {
            spawn_local(release(workers, Rc::clone(pending)));
        }
    }

    fn end(&mut self, how: Result<(), Broken>) {
        self.open.remove(&self.number);
        if let Some(pending) = self.pending.take() {
            let workers = self.workers.upgrade();
            if let Some(workers) = &workers {
                workers.note_spent(&pending);
            }
            pending.end_stream(how);
            if let Some(workers) = workers {
                workers.finish(&pending, Duration::ZERO);
            }
        }
    }

    /// Sends the files of the current request, for which the worker waits. If they cannot be sent, the worker gets none, and
    /// ends the request unanswered.
    async fn send_files(&self) -> io::Result<()> {
        let workers = self.workers.upgrade();
        let files = workers.map(|workers| workers.files(&self.worker, self.number));
        let files = files.unwrap_or_default();
        let fds: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        for _ in 0..TRIES {
            match relay::send_files(&self.worker.stream, self.number, &fds) {
                Err(error) if passes(&error) => tokio::time::sleep(AGAIN).await,
                sent => return sent,
            }
        }
        relay::send_files(&self.worker.stream, self.number, &[])
    }
}
