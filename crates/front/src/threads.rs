//! Several threads, each of which does all that one does: it accepts from sockets of its own and has a dispatcher of its own.
//! The process's first thread passes on to them what the supervisor says.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use ipc::{Channel, FrontSettings, ToFront};

use crate::process::{self, text};
use crate::shared::Thread;

/// Where to say something to each.
struct Threads {
    channels: Vec<Channel>,
    handles: Vec<JoinHandle<()>>,
    /// They may end.
    is_over: Arc<AtomicBool>,
    /// Sockets that were dealt out.
    sockets: usize,
}

/// Until the supervisor says to drain or is gone, and all have finished.
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
            // Without one of them connections of its sockets would wait for ever: the supervisor replaces all.
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

    /// Each TCP socket is one thread's: the kernel deals connections to sockets. A Unix socket is shared.
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

    /// End of file means to drain, as it does for the process.
    fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(self.channels);
        for handle in self.handles {
            let _ = handle.join();
        }
    }
}
