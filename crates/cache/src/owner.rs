//! The owner of a claim: a task of a process. A process id may be reused, so the owner has the start time of the process
//! too.

use std::cell::Cell;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use siphasher::sip::SipHasher13;

/// The value of `started` for an owner that is a name.
const NAMED: u64 = u64::MAX;

/// A task of a process, or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub process: u32,
    pub task: u32,
    /// When the process started, in clock ticks since the machine's boot; 0 if unknown.
    pub started: u64,
}

thread_local! {
    /// The id and the start time of this process. After a fork the id differs.
    static OWN: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

impl Owner {
    /// Returns the owner for a task of this process.
    pub fn here(task: u32) -> Owner {
        let process = std::process::id();
        if OWN.get().0 != process {
            let started = ProcessState::of(process).map_or(0, |life| life.started);
            OWN.set((process, started));
        }
        Owner {
            process,
            task,
            started: OWN.get().1,
        }
    }

    /// Returns the owner for a name. Any process may use the name, so the owner never ends.
    pub fn named(name: &[u8]) -> Owner {
        // Without a secret: the owner of a name is the same on all machines that share a second tier.
        let hash = SipHasher13::new().hash(name);
        Owner {
            process: (hash >> 32) as u32,
            task: hash as u32,
            started: NAMED,
        }
    }

    /// Returns the process id in the upper half and the task in the lower half.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.process) << 32 | u64::from(self.task)
    }

    pub(crate) fn of(number: u64, started: u64) -> Owner {
        Owner {
            process: (number >> 32) as u32,
            task: number as u32,
            started,
        }
    }

    /// Returns whether the process has ended: its id is unused, or belongs to another process.
    pub(crate) fn has_ended(self) -> bool {
        let pid = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        if pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            return true;
        }
        ProcessState::of(self.process)
            .is_some_and(|life| life.is_over || (self.started != 0 && life.started != self.started))
    }
}

/// The state of a process in the kernel. It is read by raw system calls, because the task must not be suspended in a hooked
/// libc function while it holds the lock.
struct ProcessState {
    started: u64,
    /// Whether the process has ended, and its parent has not waited for it yet.
    is_over: bool,
}

impl ProcessState {
    fn of(process: u32) -> Option<ProcessState> {
        let path = format!("/proc/{process}/stat");
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut text = [0; 1024];
        let length = rustix::io::read(&file, &mut text).ok()?;
        ProcessState::parse(std::str::from_utf8(&text[..length]).ok()?)
    }

    /// Parses `/proc/PID/stat`. The name, in parentheses, may contain anything; see proc_pid_stat(5).
    fn parse(text: &str) -> Option<ProcessState> {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        Some(ProcessState {
            started: fields.nth(18)?.parse().ok()?,
            is_over: matches!(state, "Z" | "X"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_became_another_processs_is_no_owner() {
        let own = Owner::here(7);
        assert!(own.started > 0 && !own.has_ended());
        assert_eq!(Owner::of(own.number(), own.started), own);
        let earlier = Owner {
            started: own.started - 1,
            ..own
        };
        assert!(earlier.has_ended());
        let unknown = Owner { started: 0, ..own };
        assert!(!unknown.has_ended());
    }

    #[test]
    fn a_process_that_was_not_waited_for_has_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let owner = Owner {
            process: child.id(),
            task: 0,
            started: 0,
        };
        let begun = std::time::Instant::now();
        while !owner.has_ended() {
            assert!(begun.elapsed().as_secs() < 10);
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(owner.has_ended());
    }

    #[test]
    fn a_name_may_look_like_fields() {
        let fields = "1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1";
        let life = ProcessState::parse(&format!("7 (a) R 5) S {fields}")).unwrap();
        assert_eq!((life.started, life.is_over), (4242, false));
        assert!(ProcessState::parse("7 (a) S 1").is_none());
    }
}
