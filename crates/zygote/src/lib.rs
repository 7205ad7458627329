//! Boots the engine and the app once and forks workers from it.
//!
//! The zygote has one thread, and nothing in its dependency tree starts another, because a fork copies only the thread that
//! calls it. Workers share its memory, with the app in it, copy-on-write, so a worker starts within a millisecond.
//!
//! If the app has left a descriptor open that two processes cannot share (a database connection, for example), the zygote
//! starts itself again without the app, and each worker boots the app for itself.

mod boot;
mod boot_files;
mod descriptors;
mod fdinfo;
mod fork;

use boot::{booted, prepare, same_build};
use boot_files::BootFiles;
pub use descriptors::inherited_channel;

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use ipc::{Boot, Channel, FromZygote, ToZygote};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, WaitOptions, WaitStatus};

/// The settings and descriptors of a new worker.
#[derive(Debug)]
pub struct Start {
    pub boot: Boot,
    pub slot: u32,
    pub generation: u32,
    /// The channel to the supervisor.
    pub channel: Channel,
    pub scoreboard: OwnedFd,
    /// The table of requests that have killed workers.
    pub quarantine: OwnedFd,
    pub listeners: Vec<OwnedFd>,
    /// The channel on which the front attaches the worker to its queues, in place of listeners.
    pub front_channel: Option<Channel>,
    /// Descriptors for handing connections over ([`ToZygote::Fork`]); empty without balancing.
    pub balancing: Vec<OwnedFd>,
    /// The app is not in memory, so the worker has to boot it.
    pub cold: bool,
}

/// An error that ends the process; the text is for the log.
#[derive(Debug)]
pub struct Fatal(String);

impl<E: std::error::Error> From<E> for Fatal {
    fn from(error: E) -> Self {
        Fatal(error.to_string())
    }
}

struct Child {
    pid: Pid,
    /// The child's pidfd, where the system has them.
    ended: Option<OwnedFd>,
}

/// How often children without a pidfd are checked.
const CHECK_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

struct Zygote {
    channel: Channel,
    boot: Boot,
    cold: Option<String>,
    /// What each worker opens for itself.
    files: BootFiles,
    children: Vec<Child>,
    worker: fn(Start) -> ExitCode,
}

/// Serves the supervisor at the other end of `channel` until it closes the channel. A forked process runs `worker`; the
/// return value is then the exit code of that process. `cold` is the reason if this is the restart without the app. `build`
/// is the build id of this program.
pub fn run(
    channel: Channel,
    cold: Option<String>,
    build: &str,
    worker: fn(Start) -> ExitCode,
) -> ExitCode {
    match serve(channel, cold, build, worker) {
        Ok(code) => code,
        Err(Fatal(message)) => {
            let _ = writeln!(io::stderr(), "ALERT zygote: {message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(
    channel: Channel,
    cold: Option<String>,
    build: &str,
    worker: fn(Start) -> ExitCode,
) -> Result<ExitCode, Fatal> {
    let (mut boot, shared) = match &cold {
        Some(_) => descriptors::inherited()?,
        None => match channel.recv::<ToZygote>()? {
            Some((ToZygote::Boot(boot), fds)) => (*boot, fds),
            Some((other, _)) => return Err(Fatal(format!("expected Boot first, got {other:?}"))),
            None => return Ok(ExitCode::SUCCESS),
        },
    };
    use_shared(&boot, &shared)?;
    let prepared = same_build(&boot, build)
        .and_then(|()| prepare(&channel, &mut boot, &shared, cold.as_deref()));
    let files = match prepared {
        Ok(files) => files,
        Err(failure) => {
            channel.send(&FromZygote::BootFailed(failure), &[])?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let booted = FromZygote::Booted {
        build: build.to_owned(),
        app: booted(&boot, cold.clone()),
    };
    php::pass_over_signals();
    channel.send(&booted, &[])?;
    Zygote {
        channel,
        boot,
        cold,
        files,
        children: Vec::new(),
        worker,
    }
    .serve()
}

/// Maps what the supervisor shares with all workers: the table of budgets and, if configured, the cache and its second
/// tier's connector.
fn use_shared(boot: &Boot, shared: &[OwnedFd]) -> Result<(), Fatal> {
    if let Some(fd) = shared.first() {
        php::set_budgets(shm::Budgets::map(fd)?);
    }
    let connector = shared.get(2).map(OwnedFd::try_clone).transpose()?;
    php::set_cache(shared.get(1).map(cache::Cache::map).transpose()?, connector);
    php::limit_cache_copies(boot.settings.cache.copies);
    Ok(())
}

impl Zygote {
    fn serve(mut self) -> Result<ExitCode, Fatal> {
        loop {
            self.wait()?;
            self.reap()?;
            match self.channel.try_recv::<ToZygote>() {
                Ok(Some((
                    ToZygote::Fork {
                        slot,
                        generation,
                        has_front,
                        balancing,
                    },
                    mut fds,
                ))) => {
                    let balancing = fds.split_off(fds.len().saturating_sub(balancing as usize));
                    if let Some(code) = self.fork((slot, generation), has_front, fds, balancing)? {
                        return Ok(code);
                    }
                }
                Ok(Some((other, _))) => return Err(Fatal(format!("unexpected message {other:?}"))),
                // The supervisor is gone or wants no more workers. Running workers notice by their own channels.
                Ok(None) => {
                    self.remove_temporary_files();
                    return Ok(ExitCode::SUCCESS);
                }
                Err(error) if error.is_would_block() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Removes the temporary files of the entry script, unless a worker still runs, which may use their names.
    fn remove_temporary_files(&self) {
        if self.children.is_empty() && !self.files.is_empty() {
            php::remove_temporary_files();
        }
    }

    /// Waits until the supervisor sends a message or a child exits.
    fn wait(&self) -> Result<(), Fatal> {
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.channel.as_fd(),
            PollFlags::IN,
        )];
        let descriptors = self
            .children
            .iter()
            .filter_map(|child| child.ended.as_ref());
        fds.extend(descriptors.map(|ended| PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)));
        let has_all = fds.len() == 1 + self.children.len();
        match rustix::event::poll(&mut fds, (!has_all).then_some(&CHECK_INTERVAL)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn reap(&mut self) -> Result<(), Fatal> {
        let mut ended = Vec::new();
        self.children.retain(|child| {
            match rustix::process::waitpid(Some(child.pid), WaitOptions::NOHANG) {
                Ok(Some((_, status))) => {
                    ended.push((child.pid, status));
                    false
                }
                _ => true,
            }
        });
        for (pid, status) in ended {
            self.channel.send(
                &FromZygote::Exited {
                    pid: number(pid),
                    status: raw(status),
                },
                &[],
            )?;
        }
        Ok(())
    }

    /// Forks a worker. Returns `Some` in the child, once the worker has ended.
    fn fork(
        &mut self,
        (slot, generation): (u32, u32),
        has_front: bool,
        mut fds: Vec<OwnedFd>,
        balancing: Vec<OwnedFd>,
    ) -> Result<Option<ExitCode>, Fatal> {
        if fds.len() < 3 {
            return Err(Fatal(format!("Fork came with {} descriptors", fds.len())));
        }
        let mut listeners = fds.split_off(3);
        let front_channel = has_front
            .then(|| listeners.pop())
            .flatten()
            .map(Channel::from);
        let quarantine = fds.pop().expect("three are left");
        let scoreboard = fds.pop().expect("two are left");
        let channel = Channel::from(fds.pop().expect("one is left"));
        match fork::fork() {
            Ok(Some(pid)) => {
                self.born(slot, pid)?;
                Ok(None)
            }
            Ok(None) => {
                let cold = self.cold.is_some();
                let start = Start {
                    boot: self.boot.clone(),
                    slot,
                    generation,
                    channel,
                    scoreboard,
                    quarantine,
                    listeners,
                    front_channel,
                    balancing,
                    cold,
                };
                Ok(Some(self.become_worker(start)))
            }
            Err(error) => {
                let message = error.to_string();
                self.channel
                    .send(&FromZygote::ForkFailed { slot, message }, &[])?;
                Ok(None)
            }
        }
    }

    fn born(&mut self, slot: u32, pid: Pid) -> Result<(), Fatal> {
        let ended = pidfd(pid)?;
        self.channel.send(
            &FromZygote::Forked {
                slot,
                pid: number(pid),
            },
            ended.as_ref().map(AsFd::as_fd).as_slice(),
        )?;
        self.children.push(Child { pid, ended });
        Ok(())
    }

    /// Runs the worker in the child, which keeps only the zygote's memory.
    fn become_worker(&mut self, start: Start) -> ExitCode {
        self.children.clear();
        // The copy of the zygote's channel would keep it open after the zygote's death.
        if let Ok((closed, _)) = Channel::pair() {
            drop(std::mem::replace(&mut self.channel, closed));
        }
        self.files.open_again();
        php::after_fork();
        (self.worker)(start)
    }
}

/// Opens a pidfd; `None` if the system has none, as Linux before 5.3, gVisor and Valgrind.
fn pidfd(pid: Pid) -> Result<Option<OwnedFd>, Fatal> {
    match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        Ok(ended) => Ok(Some(ended)),
        Err(rustix::io::Errno::NOSYS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

fn raw(status: WaitStatus) -> i32 {
    status.as_raw()
}
