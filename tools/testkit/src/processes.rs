//! Processes as `/proc` shows them: the members of a session, open descriptors, CPU time.

use std::fs;
use std::time::Duration;

/// Returns the words of `/proc/PID/stat` after the command's name: state, parent, process group, session, …
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(
        text.rsplit_once(") ")?
            .1
            .split_whitespace()
            .map(str::to_owned)
            .collect(),
    )
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Returns the processes of a session that still run, without zombies.
pub fn in_session(session: u32) -> Vec<u32> {
    let session = session.to_string();
    pids()
        .filter(|pid| stat(*pid).is_some_and(|words| words[3] == session && words[0] != "Z"))
        .collect()
}

/// Returns the children of a process, without zombies.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let listed = listed_children(parent).unwrap_or_else(|| pids().collect());
    let parent = parent.to_string();
    let is_one = |words: Vec<String>| words[1] == parent && words[0] != "Z";
    listed
        .into_iter()
        .filter(|pid| stat(*pid).is_some_and(is_one))
        .collect()
}

/// Returns the children that the kernel lists for each thread of a process, because a search in all processes takes a
/// hundred times as long. `None` if the kernel has no such list.
fn listed_children(parent: u32) -> Option<Vec<u32>> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
        // The process has ended.
        return Some(Vec::new());
    };
    let mut all = Vec::new();
    for thread in threads {
        let Ok(thread) = thread else { continue };
        match fs::read_to_string(thread.path().join("children")) {
            Ok(children) => {
                let children = children.split_whitespace();
                all.extend(children.filter_map(|pid| pid.parse::<u32>().ok()));
            }
            // The thread has ended, or the kernel has no such lists.
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    all.sort_unstable();
    Some(all)
}

/// Returns the command line, with spaces between the words; empty if the process has ended.
pub(crate) fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .replace('\0', " ")
        .trim()
        .to_owned()
}

/// Returns the open descriptors of a process from `/proc/PID/fd`, each as its number and its target, sorted.
pub fn descriptors(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let mut list: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let target = fs::read_link(entry.path()).ok()?;
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                target.display().to_string(),
            ))
        })
        .collect();
    list.sort();
    list.into_iter()
        .map(|(number, target)| format!("{number} {target}"))
        .collect()
}

/// Returns the user and system time that a process has used so far; `None` if it has ended.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    let words = stat(pid)?;
    let ticks = words[11].parse::<u64>().ok()? + words[12].parse::<u64>().ok()?;
    Some(Duration::from_millis(
        ticks * 1000 / rustix::param::clock_ticks_per_second(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_any_thread_is_found_while_it_runs() {
        let mut cat = std::process::Command::new("cat");
        let mut child = cat
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("cat starts");
        assert!(children(std::process::id()).contains(&child.id()));
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(!children(std::process::id()).contains(&child.id()));
    }

    #[test]
    fn this_process_is_in_its_own_session() {
        let me = std::process::id();
        let session: u32 = stat(me).expect("own stat")[3].parse().expect("a number");
        assert!(in_session(session).contains(&me));
        assert!(descriptors(me).len() >= 3);
    }
}
