//! The descriptors of the server itself: listeners, clients' connections, channels, the reactor. A process that PHP code forks
//! does not keep them.
//!
//! A client sees the end of its connection only when the last copy is closed, and so does a channel's other end. The server
//! waits for each of these descriptors with the reactor, whose list the kernel shows in `/proc`. What PHP code waits for is in
//! that list, too, and stays.

use std::cell::RefCell;
use std::fs;
use std::os::fd::RawFd;

thread_local! {
    /// What the runtime opened for itself: the reactor's epoll instance, and what wakes it. And what [`add`] was given.
    static OPENED: RefCell<Vec<RawFd>> = const { RefCell::new(Vec::new()) };
}

/// Returns the open descriptors that are no files: sockets and the kernel's own objects.
fn objects() -> Vec<RawFd> {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let objects = open.filter_map(|entry| {
        let entry = entry.ok()?;
        let kind = fs::read_link(entry.path()).ok()?;
        let kind = kind.to_str()?;
        let is_one = kind.starts_with("anon_inode:") || kind.starts_with("socket:");
        is_one.then(|| entry.file_name().to_str()?.parse().ok())?
    });
    objects.collect()
}

/// Notes what the runtime opens that `build` makes.
pub(crate) fn note<T>(build: impl FnOnce() -> T) -> T {
    let others = objects();
    let built = build();
    let mut opened = objects();
    opened.retain(|fd| !others.contains(fd));
    OPENED.set(opened);
    built
}

/// Adds a descriptor of the server that the reactor does not know, and that stays open as long as this process.
pub(crate) fn add(fd: RawFd) {
    OPENED.with_borrow_mut(|opened| opened.push(fd));
}

/// Returns the descriptor of a line of such a list, unless that number means another file by now.
fn watched(line: &str) -> Option<RawFd> {
    let mut words = line.strip_prefix("tfd:")?.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let inode = words.find_map(|word| u64::from_str_radix(word.strip_prefix("ino:")?, 16).ok())?;
    let (_, now) = hook::identity(number)?;
    (inode == now).then_some(number)
}

/// Returns the descriptors of the server, with the reactor's own. `php`: those for which PHP code has waited.
pub(crate) fn descriptors(php: &[RawFd]) -> Vec<RawFd> {
    let mut server = OPENED.with_borrow(Vec::clone);
    let lists = server
        .iter()
        .filter_map(|fd| fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok());
    let lists = lists.collect::<String>();
    let watched = lists.lines().filter_map(watched);
    server.extend(watched.filter(|fd| !php.contains(fd)));
    server
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_number_that_means_another_file_by_now_is_not_the_servers() {
        let file = File::open("/proc/self/exe").unwrap();
        let (_, inode) = hook::identity(file.as_raw_fd()).unwrap();
        let line = |inode: u64| {
            format!(
                "tfd: {:8} events: 19 data: 4  pos:0 ino:{inode:x} sdev:9",
                file.as_raw_fd()
            )
        };
        assert_eq!(watched(&line(inode)), Some(file.as_raw_fd()));
        assert_eq!(watched(&line(inode + 1)), None);
        assert_eq!(watched("pos:\t0"), None);
    }
}
