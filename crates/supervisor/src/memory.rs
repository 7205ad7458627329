//! Available memory, and the memory that a process costs.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory that limits this process: its control group's if that has a limit, else the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) available: u64,
}

impl Memory {
    /// Reads the current numbers; `None` where the system does not report them.
    pub(crate) fn now() -> Option<Memory> {
        let machine = of_machine(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let groups = control_groups().filter_map(|group| of_group(&group));
        groups
            .chain([machine])
            .min_by_key(|memory| memory.available)
    }

    /// Whether a tenth of the memory stays free when that many further bytes are used.
    pub(crate) fn has_room(self, bytes: u64) -> bool {
        self.available.saturating_sub(bytes) >= self.total / 10
    }
}

/// Parses a line such as `Pss: 1234 kB` and returns its value in bytes.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number = line.strip_prefix(':')?.split_whitespace().next()?;
    Some(number.parse::<u64>().ok()? << 10)
}

fn of_machine(meminfo: &str) -> Option<Memory> {
    Some(Memory {
        total: field(meminfo, "MemTotal")?,
        available: field(meminfo, "MemAvailable")?,
    })
}

/// The control group of this process (version 2) and its ancestors, each of which may have a limit.
fn control_groups() -> impl Iterator<Item = PathBuf> {
    const ROOT: &str = "/sys/fs/cgroup";
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.map(|path| Path::new(ROOT).join(path));
    let all: Vec<PathBuf> = own
        .iter()
        .flat_map(|own| own.ancestors())
        .take_while(|path| path.starts_with(ROOT))
        .map(Path::to_owned)
        .collect();
    all.into_iter()
}

/// Reads the numbers of a control group; `None` without a limit.
fn of_group(group: &Path) -> Option<Memory> {
    let number = |name| -> Option<u64> {
        let text = fs::read_to_string(group.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let (total, used) = (number("memory.max")?, number("memory.current")?);
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file ")?.parse::<u64>().ok());
    let used = used.saturating_sub(cache.unwrap_or(0));
    Some(Memory {
        total,
        available: total.saturating_sub(used),
    })
}

/// The cost of a process: its private memory, and its share of what it shares (the proportional set size).
pub(crate) fn proportional(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    field(&text, "Pss")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_stays_free() {
        let memory = of_machine("MemTotal:   1000 kB\nMemFree:  1 kB\nMemAvailable:    150 kB\n");
        let memory = memory.expect("both lines are there");
        assert!(memory.has_room(50 << 10) && !memory.has_room(51 << 10));
        assert!(of_machine("MemTotal: 5 kB\n").is_none());
    }

    #[test]
    fn this_process_costs_something_and_there_is_some() {
        let cost = proportional(std::process::id()).expect("it runs");
        assert!((100 << 10..1 << 30).contains(&cost), "{cost}");
        let memory = Memory::now().expect("this is Linux");
        assert!(0 < memory.available && memory.available <= memory.total);
    }

    #[test]
    fn a_group_without_a_limit_is_none() {
        let group = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            fs::write(group.path().join(name), text).expect("it is ours");
        };
        write("memory.max", "max\n");
        write("memory.current", "5000\n");
        write("memory.stat", "anon 1\ninactive_file 1000\n");
        assert_eq!(of_group(group.path()), None);
        write("memory.max", "10000\n");
        let (total, available) = (10_000, 6_000);
        let expected = Memory { total, available };
        assert_eq!(of_group(group.path()), Some(expected));
    }
}
