//! The table of descriptors: which task waits on one, and which tasks have sent something that is not answered yet.
//!
//! Every send and receive looks here first, so the table is an array: one load.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use libc::c_int;

use crate::{installed, syscall};

/// The size of the table. Larger descriptors are checked only when a task starts to wait on them.
const MOST: usize = 1 << 16;

/// Replaces the owner after two tasks have sent something: it is unknown to which of them the next answer belongs.
const POISONED: u64 = u64::MAX;

struct Slot {
    /// The task that waits on the descriptor; 0 is none.
    owner: AtomicU64,
    /// The last task that has sent something since the last receive, and the one before it.
    senders: [AtomicU64; 2],
    /// The last task that has sent something.
    last: AtomicU64,
}

static SLOTS: [Slot; MOST] = [const {
    Slot {
        owner: AtomicU64::new(0),
        senders: [const { AtomicU64::new(0) }; 2],
        last: AtomicU64::new(0),
    }
}; MOST];

/// One more than the largest descriptor that ever had an owner.
static END: AtomicUsize = AtomicUsize::new(0);

fn slot(fd: c_int) -> Option<&'static Slot> {
    SLOTS.get(usize::try_from(fd).ok()?)
}

/// Sets `task` as the one that waits on `fd`.
pub fn own(fd: i32, task: u64) {
    if let Some(slot) = slot(fd)
        && slot.owner.load(Relaxed) == 0
    {
        slot.owner.store(task, Relaxed);
        let end = usize::try_from(fd).unwrap_or(0) + 1;
        if END.load(Relaxed) < end {
            END.store(end, Relaxed);
        }
    }
}

/// Clears the task that waits on `fd`.
pub fn disown(fd: i32) {
    if let Some(slot) = slot(fd)
        && slot.owner.load(Relaxed) != POISONED
    {
        slot.owner.store(0, Relaxed);
    }
}

/// The task that waits on `fd`.
pub(crate) fn owner(fd: c_int) -> Option<u64> {
    let owner = slot(fd)?.owner.load(Relaxed);
    (owner != 0 && owner != POISONED).then_some(owner)
}

/// Whether it is unknown to which task the next answer on `fd` belongs.
pub fn is_poisoned(fd: i32) -> bool {
    slot(fd).is_some_and(|slot| slot.owner.load(Relaxed) == POISONED)
}

/// Handles that `intruder` was refused what `owner` waits on. Returns those descriptors of that wait on which the intruder
/// has sent something before: neither task can use them from here on.
pub fn poison(owner: u64, intruder: u64) -> Vec<i32> {
    let owned = SLOTS[..END.load(Relaxed).min(MOST)]
        .iter()
        .enumerate()
        .filter(|(_, slot)| slot.owner.load(Relaxed) == owner)
        .filter(|(_, slot)| {
            slot.senders
                .iter()
                .any(|sender| sender.load(Relaxed) == intruder)
        });
    owned
        .map(|(fd, slot)| {
            slot.owner.store(POISONED, Relaxed);
            c_int::try_from(fd).unwrap_or(-1)
        })
        .collect()
}

/// Clears all waits in a forked process: they belong to its parent.
pub fn disown_all() {
    SLOTS[..END.load(Relaxed).min(MOST)]
        .iter()
        .for_each(|slot| slot.owner.store(0, Relaxed));
}

/// Clears the entry of `fd`, which is about to be closed: a later descriptor with that number is something else.
pub(crate) fn closing(fd: c_int) {
    let Some(slot) = slot(fd) else { return };
    if slot.owner.load(Relaxed) != 0 {
        slot.owner.store(0, Relaxed);
    }
    slot.last.store(0, Relaxed);
    received(fd);
}

/// The last task that has sent something on `fd`; `None` if none has, or that is not known.
pub(crate) fn last_sender(fd: c_int) -> Option<u64> {
    let last = slot(fd)?.last.load(Relaxed);
    (last != 0).then_some(last)
}

/// Notes that the task has sent something on `fd`.
pub(crate) fn sent(fd: c_int, task: u64) {
    let Some(slot) = slot(fd) else { return };
    slot.last.store(task, Relaxed);
    let [last, before] = &slot.senders;
    let previous = last.load(Relaxed);
    if previous != task {
        before.store(previous, Relaxed);
        last.store(task, Relaxed);
    }
}

/// Forgets the senders: something was received, so what they sent is being answered.
pub(crate) fn received(fd: c_int) {
    let Some(slot) = slot(fd) else { return };
    if slot.senders[0].load(Relaxed) != 0 {
        slot.senders
            .iter()
            .for_each(|sender| sender.store(0, Relaxed));
    }
}

/// Whether the running code must not use `fd`. If so, an exception has been thrown, and `errno` is EAGAIN, or EPIPE for a poisoned
/// descriptor. To a PHP stream, any other error than EAGAIN is the end of the stream, for the task that waits on it, too.
#[inline]
pub fn refuses(fd: i32) -> bool {
    match slot(fd).map(|slot| slot.owner.load(Relaxed)) {
        None | Some(0) => false,
        Some(owner) => refuse(fd, owner),
    }
}

/// The same for a receive, which never fails with EPIPE.
#[inline]
pub(crate) fn refuses_receive(fd: i32) -> bool {
    let refused = refuses(fd);
    if refused && syscall::errno() == libc::EPIPE {
        syscall::set_errno(libc::ECONNRESET);
    }
    refused
}

#[cold]
fn refuse(fd: c_int, owner: u64) -> bool {
    let refused = installed().is_some_and(|waiter| {
        if owner == POISONED {
            waiter.refuse_poisoned(fd)
        } else {
            waiter.refuse(fd, owner)
        }
    });
    if refused {
        syscall::set_errno(if owner == POISONED {
            libc::EPIPE
        } else {
            libc::EAGAIN
        });
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_intruder_has_sent_on_is_poisoned() {
        for fd in [60001, 60002] {
            own(fd, 7);
        }
        sent(60001, 9);
        sent(60002, 7);
        assert_eq!(poison(7, 9), [60001]);
        assert!(is_poisoned(60001) && !is_poisoned(60002));
        disown(60001);
        assert!(is_poisoned(60001), "it is until it is closed");
        closing(60001);
        assert!(!is_poisoned(60001));
        disown(60002);
    }

    #[test]
    fn what_was_answered_is_forgotten() {
        sent(60003, 29);
        sent(60003, 27);
        received(60003);
        own(60003, 27);
        assert_eq!(poison(27, 29), [0; 0]);
        disown(60003);
    }

    #[test]
    fn the_sender_before_the_last_is_remembered() {
        sent(60004, 39);
        sent(60004, 37);
        sent(60004, 37);
        own(60004, 37);
        assert_eq!(poison(37, 39), [60004]);
        closing(60004);
    }

    #[test]
    fn descriptors_beyond_the_array_have_no_owner() {
        own(1 << 20, 7);
        assert!(!is_poisoned(1 << 20) && !is_poisoned(-1));
    }
}
