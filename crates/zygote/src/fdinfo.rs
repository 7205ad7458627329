//! What the kernel tells of an open descriptor in /proc/self/fdinfo: its position, its flags and whether it holds a lock.

use std::io;

use rustix::fs::OFlags;

#[derive(Debug)]
pub(crate) struct Info {
    pub position: u64,
    pub flags: OFlags,
    pub lock: Lock,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    None,
    /// `flock(LOCK_SH)`, which another open file description can have, too.
    Shared,
    /// Any other lock of the open file description.
    Held,
}

impl Info {
    pub(crate) fn of(fd: i32) -> io::Result<Info> {
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}"))?;
        parse(&text).ok_or_else(|| io::Error::other("no position or no flags in fdinfo"))
    }
}

fn parse(text: &str) -> Option<Info> {
    let field = |name| text.lines().find_map(|line| line.strip_prefix(name));
    let flags = u32::from_str_radix(field("flags:")?.trim(), 8).ok()?;
    Some(Info {
        position: field("pos:")?.trim().parse().ok()?,
        flags: OFlags::from_bits_retain(flags),
        lock: lock(text),
    })
}

/// A POSIX lock is the process's, so a forked one has none.
fn lock(text: &str) -> Lock {
    let locks = text.lines().filter_map(|line| line.strip_prefix("lock:"));
    let mut found = Lock::None;
    for line in locks {
        let words: Vec<_> = line.split_whitespace().collect();
        match (words.get(1), words.get(3)) {
            (Some(&"FLOCK"), Some(&"READ")) => found = Lock::Shared,
            (Some(&"FLOCK" | &"OFDLCK"), _) => return Lock::Held,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "pos:\t253\nflags:\t02100001\nmnt_id:\t27\nino:\t9977882\n";

    #[test]
    fn position_and_flags() {
        let info = parse(HEAD).unwrap();
        assert_eq!(info.position, 253);
        assert_eq!(info.flags & OFlags::RWMODE, OFlags::WRONLY);
        assert!(info.flags.contains(OFlags::CLOEXEC));
        assert_eq!(info.lock, Lock::None);
        assert!(parse("pos:\t0\n").is_none());
    }

    #[test]
    fn locks_of_the_description() {
        for (line, lock) in [
            ("1: FLOCK  ADVISORY  READ 5 fe:00:8 0 EOF", Lock::Shared),
            ("1: FLOCK  ADVISORY  WRITE 5 fe:00:8 0 EOF", Lock::Held),
            ("1: OFDLCK ADVISORY  READ -1 fe:00:8 0 EOF", Lock::Held),
            ("1: POSIX  ADVISORY  WRITE 5 fe:00:8 0 9", Lock::None),
        ] {
            assert_eq!(
                parse(&format!("{HEAD}lock:\t{line}\n")).unwrap().lock,
                lock,
                "{line}"
            );
        }
    }
}
