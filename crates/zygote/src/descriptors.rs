//! The descriptors that the app left open at the end of its boot, and the cold restart if they cannot be shared.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use ipc::{Boot, BootFailure, Channel};

use crate::Fatal;

/// The descriptors that the cold restart gets: the channel, the boot message and, from 5 on, what all workers share.
const CHANNEL_FD: i32 = 3;
const BOOT_FD: i32 = 4;
const SHARED_FD: i32 = 5;
/// The most shared descriptors: the table of budgets, the cache, and the connector of its second tier.
const SHARED: i32 = 3;
/// An offset out of the way of these descriptors, while they are moved into place.
const ASIDE: i32 = 100;

/// Takes this process's end of the channel to the supervisor. Called once, first in `main`.
#[allow(unsafe_code)]
pub fn inherited_channel() -> Channel {
    // SAFETY: `hearth` starts `hearth-php zygote` with descriptor 3, and this process has opened nothing yet.
    Channel::from(unsafe { OwnedFd::from_raw_fd(CHANNEL_FD) })
}

/// Lists every open descriptor and what it refers to.
pub(crate) fn open() -> BTreeMap<i32, String> {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else {
        return BTreeMap::new();
    };
    list.filter_map(|entry| {
        let entry = entry.ok()?;
        let target = std::fs::read_link(entry.path()).ok()?;
        Some((
            entry.file_name().to_str()?.parse().ok()?,
            target.to_string_lossy().into_owned(),
        ))
    })
    .collect()
}

/// Why the descriptors opened since `before` cannot be shared by several processes; `None` if they can.
pub(crate) fn unshareable(before: &BTreeMap<i32, String>) -> Option<String> {
    // Another descriptor of standard error, for example: php://stderr.
    let is_known = |target: &String| before.values().any(|known| known == target);
    let reasons: Vec<_> = open()
        .iter()
        .filter(|(fd, target)| before.get(fd) != Some(target))
        .filter(|(_, target)| {
            let is_pipe_or_socket = ["socket:", "pipe:"]
                .iter()
                .any(|kind| target.starts_with(kind));
            (is_pipe_or_socket && !is_known(target)) || target.starts_with("anon_inode:")
        })
        .map(|(fd, target)| {
            peer(target).map_or_else(
                || format!("{target} (descriptor {fd})"),
                |peer| format!("a connection to {peer}"),
            )
        })
        .collect();
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

/// Returns the peer of `socket:[inode]`, from the kernel's tables.
fn peer(target: &str) -> Option<String> {
    let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?;
    for (table, wide) in [("/proc/self/net/tcp", false), ("/proc/self/net/tcp6", true)] {
        let text = std::fs::read_to_string(table).ok()?;
        let line = text
            .lines()
            .find(|line| line.split_whitespace().nth(9) == Some(inode));
        if let Some(address) = line.and_then(|line| line.split_whitespace().nth(2)) {
            return Some(if wide {
                format!("port {}", port(address)?)
            } else {
                format!("{}:{}", ipv4(address)?, port(address)?)
            });
        }
    }
    let unix = std::fs::read_to_string("/proc/self/net/unix").ok()?;
    unix.lines()
        .any(|line| line.split_whitespace().nth(6) == Some(inode))
        .then(|| "a Unix socket".to_owned())
}

fn port(address: &str) -> Option<u16> {
    u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok()
}

fn ipv4(address: &str) -> Option<std::net::Ipv4Addr> {
    let number = u32::from_str_radix(address.split_once(':')?.0, 16).ok()?;
    Some(std::net::Ipv4Addr::from(number.swap_bytes()))
}

/// Replaces this process by one without the app. Returns only if that failed.
pub(crate) fn start_again(
    channel: &Channel,
    boot: &Boot,
    shared: &[OwnedFd],
    reason: &str,
) -> BootFailure {
    let failed = |error: &dyn std::fmt::Display| {
        BootFailure::Failed(format!("cannot start again without the app: {error}"))
    };
    let message = match keep(boot) {
        Ok(file) => file,
        Err(error) => return failed(&error.0),
    };
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(&error),
    };
    for fd in open().into_keys().filter(|fd| *fd > 2) {
        close_on_exec(fd);
    }
    let mut command = Command::new(program);
    command.arg("zygote").arg("--cold").arg(reason);
    if let Err(error) = place(channel, &message, shared) {
        return failed(&error);
    }
    failed(&command.exec())
}

/// Writes the boot message to a memfd, which survives exec.
fn keep(boot: &Boot) -> Result<File, Fatal> {
    let fd = rustix::fs::memfd_create("hearth-boot", rustix::fs::MemfdFlags::empty())?;
    let mut file = File::from(fd);
    file.write_all(&serde_json::to_vec(boot)?)?;
    file.rewind()?;
    Ok(file)
}

#[allow(unsafe_code)]
fn close_on_exec(fd: i32) {
    // SAFETY: F_SETFD touches no memory; the descriptor was just listed as open.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Moves the descriptors that the next program needs to the numbers that it expects.
#[allow(unsafe_code)]
fn place(channel: &Channel, message: &File, shared: &[OwnedFd]) -> std::io::Result<()> {
    let mut wanted = vec![
        (channel.as_fd().as_raw_fd(), CHANNEL_FD),
        (message.as_fd().as_raw_fd(), BOOT_FD),
    ];
    wanted.extend(shared.iter().map(AsRawFd::as_raw_fd).zip(SHARED_FD..));
    let aside: Vec<_> = wanted
        .iter()
        .map(|(from, to)| (*from, to + ASIDE))
        .collect();
    let back = wanted.iter().map(|(_, to)| (to + ASIDE, *to));
    for (from, to) in aside.iter().copied().chain(back) {
        // SAFETY: dup2 touches no memory; what was at `to` is not used any more, this process is about to be replaced.
        if unsafe { libc::dup2(from, to) } < 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    aside.iter().for_each(|(_, to)| close_on_exec(*to));
    Ok(())
}

/// Reads the boot message that [`start_again`] has left, and takes the shared descriptors.
#[allow(unsafe_code)]
pub(crate) fn inherited() -> Result<(Boot, Vec<OwnedFd>), Fatal> {
    // SAFETY: `--cold` is only passed by start_again, which put the message there; it is taken once.
    let mut file = File::from(unsafe { OwnedFd::from_raw_fd(BOOT_FD) });
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let there = |fd: &i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok();
    let shared = (SHARED_FD..SHARED_FD + SHARED).take_while(there).map(|fd| {
        close_on_exec(fd);
        // SAFETY: start_again put it there too, and nothing else has opened a descriptor yet but the channel and the message.
        unsafe { OwnedFd::from_raw_fd(fd) }
    });
    let shared = shared.collect();
    Ok((serde_json::from_slice(&text)?, shared))
}
