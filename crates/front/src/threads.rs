//! A front with several threads. Each does everything that a single one does: it accepts connections from sockets of its own
//! and has a dispatcher of its own. The process's first thread passes the supervisor's messages on to them.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use ipc::{Channel, FrontSettings, ToFront};

use crate::process::{self, text};
use crate::shared::Thread;

/// The threads, and a channel to each.
struct Threads {
    channels: Vec<Channel>,
    handles: Vec<JoinHandle<()>>,
    /// Whether the threads may end.
    is_over: Arc<AtomicBool>,
    /// TCP sockets that were distributed so far.
    sockets: usize,
}

/// Runs the threads until the supervisor has sent `Drain` or exited, and all threads have finished.
pub(crate) fn run(
    supervisor: Channel,
    settings: &FrontSettings,
    boards: Vec<OwnedFd>,
) -> Result<(), String> {
    let mut threads = Threads {
        channels: Vec::new(),
        handles: Vec::new(),
        is_over: Arc::default(),
        sockets: 0,
    };
    let number = u32::try_from(boards.len()).map_err(text)?;
    for (thread, board) in Thread::all(number).into_iter().zip(boards) {
        let to_supervisor = supervisor.try_clone().map_err(text)?;
        let settings = settings.clone();
        let start = |channel| process::Start {
            channel,
            supervisor: Some(to_supervisor),
            settings,
            board,
            thread,
        };
        threads.start(start).map_err(text)?;
    }
    threads.pass_on(&supervisor)?;
    threads.end();
    Ok(())
}

impl Threads {
    fn start(&mut self, start: impl FnOnce(Channel) -> process::Start) -> io::Result<()> {
        let (ours, theirs) = Channel::pair()?;
        let (start, is_over) = (start(theirs), Arc::clone(&self.is_over));
        let name = format!("hearth-front {}", start.thread.index());
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends all threads, from one of them"
        )]
        let handle = Builder::new().name(name).spawn(move || {
            let ended = process::run(start);
            if let Err(message) = &ended {
                let _ = writeln!(io::stderr(), "hearth front: {message}");
            }
            // Without this thread, connections to its sockets would wait for ever: the supervisor replaces the process.
            if ended.is_err() || !is_over.load(Ordering::SeqCst) {
                std::process::exit(1);
            }
        })?;
        self.channels.push(ours);
        self.handles.push(handle);
        Ok(())
    }

    fn pass_on(&mut self, supervisor: &Channel) -> Result<(), String> {
        while let Some((message, fds)) = supervisor.recv::<ToFront>().map_err(text)? {
            if let ToFront::Listen = message {
                self.deal(fds).map_err(text)?;
                continue;
            }
            let drains = matches!(message, ToFront::Drain { .. });
            self.is_over.fetch_or(drains, Ordering::SeqCst);
            let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
            for channel in &self.channels {
                channel.send(&message, &fds).map_err(text)?;
            }
            if drains {
                break;
            }
        }
        Ok(())
    }

    /// Distributes sockets: each TCP socket to one thread, because the kernel distributes connections to sockets; a Unix
    /// socket to all threads.
    fn deal(&mut self, sockets: Vec<OwnedFd>) -> Result<(), ipc::Error> {
        for socket in sockets {
            let is_unix = socket2::SockRef::from(&socket).local_addr()?.is_unix();
            let its = self.sockets % self.channels.len();
            for (thread, channel) in self.channels.iter().enumerate() {
                if is_unix || thread == its {
                    channel.send(&ToFront::Listen, &[socket.as_fd()])?;
                }
            }
            self.sockets += usize::from(!is_unix);
        }
        Ok(())
    }

    /// Drains the threads by EOF on their channels, as EOF drains the process, and waits for them.
    fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(self.channels);
        for handle in self.handles {
            let _ = handle.join();
        }
    }
}
