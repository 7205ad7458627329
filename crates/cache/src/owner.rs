//! Who holds a claim: a task of a process. The number of a process may become another's, so its start belongs to it.

use std::cell::Cell;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::entry::Space;
use crate::index::hash;

/// In place of the start of a process: the owner is a name.
const NAMED: u64 = u64::MAX;

/// A task of a process, or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub process: u32,
    pub task: u32,
    /// When the process started, in ticks since the machine did; 0: not known.
    pub started: u64,
}

thread_local! {
    /// Number and start of this process; a fork is another one.
    static OWN: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

impl Owner {
    /// That task of this process.
    pub fn here(task: u32) -> Owner {
        let process = std::process::id();
        if OWN.get().0 != process {
            let started = Life::of(process).map_or(0, |life| life.started);
            OWN.set((process, started));
        }
        Owner {
            process,
            task,
            started: OWN.get().1,
        }
    }

    /// A name, which any process may know: so it never ends.
    pub fn named(name: &[u8]) -> Owner {
        let hash = hash(Space::Lock, name);
        Owner {
            process: (hash >> 32) as u32,
            task: hash as u32,
            started: NAMED,
        }
    }

    /// The process in the upper half, the task in the lower.
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

    /// The process has: there is none of that number, or it is another one.
    pub(crate) fn has_ended(self) -> bool {
        let pid = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        if pid.is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            return true;
        }
        Life::of(self.process)
            .is_some_and(|life| life.is_over || (self.started != 0 && life.started != self.started))
    }
}

/// What the kernel tells of a process. The calls go past the C library: the holder of a lock must not be left in them.
struct Life {
    started: u64,
    /// It has ended, and its parent has not looked yet.
    is_over: bool,
}

impl Life {
    fn of(process: u32) -> Option<Life> {
        let path = format!("/proc/{process}/stat");
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut text = [0; 1024];
        let length = rustix::io::read(&file, &mut text).ok()?;
        Life::parse(std::str::from_utf8(&text[..length]).ok()?)
    }

    /// The name, in parentheses, may contain anything; see proc_pid_stat(5).
    fn parse(text: &str) -> Option<Life> {
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        Some(Life {
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
        let life = Life::parse(&format!("7 (a) R 5) S {fields}")).unwrap();
        assert_eq!((life.started, life.is_over), (4242, false));
        assert!(Life::parse("7 (a) S 1").is_none());
    }
}
