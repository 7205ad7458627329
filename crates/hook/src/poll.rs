//! Hooks of poll, ppoll, select and pselect. See epoll.rs for epoll_wait.

use std::time::{Duration, Instant};

use libc::{c_int, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use crate::{Waiter, end_early, installed, owners, syscall, waiter};

/// # Safety
/// As poll(2).
unsafe fn poll_or_wait(fds: *mut pollfd, count: nfds_t, timeout: Option<Duration>) -> c_int {
    // SAFETY: poll(2) asks for `count` entries.
    if count == 1 && owners::refuses(unsafe { (*fds).fd }) {
        let task = installed().map_or(0, Waiter::task);
        // SAFETY: as before.
        return end_early(task, unsafe { (*fds).fd }, syscall::errno());
    }
    let Some(waiter) = waiter().filter(|_| timeout != Some(Duration::ZERO)) else {
        // SAFETY: the caller's own promise.
        return unsafe { syscall::poll(fds, count, timeout) };
    };
    let fds = if count == 0 {
        &mut [][..]
    } else {
        // SAFETY: poll(2) asks for `count` entries.
        unsafe { std::slice::from_raw_parts_mut(fds, count as usize) }
    };
    if let [entry] = fds
        && let Some(n) = waiter.poll_drained(entry, timeout)
    {
        return n;
    }
    match syscall::poll_now(fds) {
        0 => waiter.poll(fds, timeout),
        n => n,
    }
}

pub(crate) fn milliseconds(timeout: c_int) -> Option<Duration> {
    u64::try_from(timeout).ok().map(Duration::from_millis)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { poll_or_wait(fds, count, milliseconds(timeout)) }
}

/// Code compiled with _FORTIFY_SOURCE calls this instead of `poll`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    _size: usize,
) -> c_int {
    // SAFETY: the caller's own promise.
    unsafe { poll_or_wait(fds, count, milliseconds(timeout)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    if !mask.is_null() || waiter().is_none() {
        // SAFETY: null or valid, says ppoll(2).
        let mut time = unsafe { timeout.as_ref() }.copied();
        let time = time
            .as_mut()
            .map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let size = 8 as libc::c_long;
        // SAFETY: the caller's own promise; the kernel's signal set has this size.
        return unsafe { libc::syscall(libc::SYS_ppoll, fds, count, time, mask, size) as c_int };
    }
    // SAFETY: null or valid, says ppoll(2).
    let timeout =
        unsafe { timeout.as_ref() }.map(|time| syscall::duration_of(time.tv_sec, time.tv_nsec));
    // SAFETY: the caller's own promise.
    unsafe { poll_or_wait(fds, count, timeout) }
}

/// The three sets of a select(2) call.
struct Sets {
    sets: [*mut fd_set; 3],
    count: c_int,
}

const EVENTS: [libc::c_short; 3] = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
/// The results that set a descriptor's bit in each set, as in the kernel's own select.
const RESULTS: [libc::c_short; 3] = [
    libc::POLLIN | libc::POLLHUP | libc::POLLERR,
    libc::POLLOUT | libc::POLLERR,
    libc::POLLPRI,
];

/// An array of these is a set of select(2), as long as `count` requires; glibc's own macros stop at FD_SETSIZE.
type Word = libc::c_ulong;
const WORD: usize = Word::BITS as usize;

impl Sets {
    /// Returns the word of `set` that contains the bit of `fd`, and that bit; `None` if the caller passed no such set.
    fn place(&self, set: usize, fd: c_int) -> Option<(*mut Word, Word)> {
        let fd = usize::try_from(fd).ok().filter(|_| fd < self.count)?;
        if self.sets[set].is_null() {
            return None;
        }
        let words = self.sets[set].cast::<Word>();
        // SAFETY: select(2) asks for sets of `count` bits, and `fd` is below.
        Some((unsafe { words.add(fd / WORD) }, 1 << (fd % WORD)))
    }

    fn has(&self, set: usize, fd: c_int) -> bool {
        self.place(set, fd)
            // SAFETY: a word of the caller's set.
            .is_some_and(|(word, bit)| unsafe { word.read() } & bit != 0)
    }

    fn as_pollfds(&self) -> Vec<pollfd> {
        let events = |fd| {
            (0..3)
                .filter(|&set| self.has(set, fd))
                .fold(0, |events, set| events | EVENTS[set])
        };
        (0..self.count)
            .map(|fd| pollfd {
                fd,
                events: events(fd),
                revents: 0,
            })
            .filter(|entry| entry.events != 0)
            .collect()
    }

    /// Whether this result sets a bit.
    fn takes(&self, entry: &pollfd) -> bool {
        (0..3).any(|set| self.has(set, entry.fd) && entry.revents & RESULTS[set] != 0)
    }

    fn clear(&self) {
        for set in 0..3 {
            for fd in (0..self.count).step_by(WORD) {
                if let Some((word, _)) = self.place(set, fd) {
                    // SAFETY: a word of the caller's set.
                    unsafe { word.write(0) };
                }
            }
        }
    }

    /// Writes the results back. Returns the number of bits that are set.
    fn fill(&self, fds: &[pollfd]) -> c_int {
        let wanted: Vec<[bool; 3]> = fds
            .iter()
            .map(|entry| [0, 1, 2].map(|set| self.has(set, entry.fd)))
            .collect();
        self.clear();
        let mut bits = 0;
        for (entry, wanted) in fds.iter().zip(wanted) {
            for set in (0..3).filter(|&set| wanted[set] && entry.revents & RESULTS[set] != 0) {
                if let Some((word, bit)) = self.place(set, entry.fd) {
                    // SAFETY: a word of the caller's set.
                    let word = unsafe { &mut *word };
                    *word |= bit;
                    bits += 1;
                }
            }
        }
        bits
    }
}

fn select_waiting(waiter: &dyn Waiter, sets: &Sets, timeout: Option<Duration>) -> c_int {
    if sets.count < 0 {
        syscall::set_errno(libc::EINVAL);
        return -1;
    }
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut fds = sets.as_pollfds();
    loop {
        let mut ready = syscall::poll_now(&mut fds);
        if ready == 0 {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            ready = waiter.poll(&mut fds, left);
        }
        if ready < 0 {
            return -1;
        }
        if fds.iter().any(|entry| entry.revents & libc::POLLNVAL != 0) {
            syscall::set_errno(libc::EBADF);
            return -1;
        }
        // poll(2) reports a hang-up even if it was not asked for, select(2) does not. Left in the list, such a descriptor
        // would end every further wait at once.
        fds.retain(|entry| entry.revents == 0 || sets.takes(entry));
        if ready == 0 || fds.iter().any(|entry| entry.revents != 0) {
            return sets.fill(&fds);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: null or valid, says select(2).
    let time = unsafe { timeout.as_ref() };
    if time.is_some_and(|time| time.tv_sec < 0 || time.tv_usec < 0) {
        syscall::set_errno(libc::EINVAL);
        return -1;
    }
    let time = time.map(|time| {
        let seconds = time.tv_sec.saturating_add(time.tv_usec / 1_000_000);
        syscall::duration_of(seconds, time.tv_usec % 1_000_000 * 1000)
    });
    match waiter().filter(|_| time != Some(Duration::ZERO)) {
        Some(waiter) => select_waiting(
            waiter,
            &Sets {
                sets: [read, write, except],
                count,
            },
            time,
        ),
        // SAFETY: the caller's own promise.
        None => unsafe { real_select(count, [read, write, except], time, std::ptr::null()) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or valid, says pselect(2).
    let time =
        unsafe { timeout.as_ref() }.map(|time| syscall::duration_of(time.tv_sec, time.tv_nsec));
    match waiter().filter(|_| mask.is_null() && time != Some(Duration::ZERO)) {
        Some(waiter) => select_waiting(
            waiter,
            &Sets {
                sets: [read, write, except],
                count,
            },
            time,
        ),
        // SAFETY: the caller's own promise.
        None => unsafe { real_select(count, [read, write, except], time, mask) },
    }
}

/// # Safety
/// As pselect(2).
unsafe fn real_select(
    count: c_int,
    sets: [*mut fd_set; 3],
    timeout: Option<Duration>,
    mask: *const sigset_t,
) -> c_int {
    let time = timeout.map(syscall::timespec_of);
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // The system call takes the mask together with its size.
    let signals: [usize; 2] = [mask as usize, 8];
    // SAFETY: the caller's own promise; time and signals live during the call.
    unsafe {
        libc::syscall(
            libc::SYS_pselect6,
            count,
            sets[0],
            sets[1],
            sets[2],
            time,
            signals.as_ptr(),
        ) as c_int
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One set of 2048 bits, twice what an fd_set has.
    fn sets(words: &mut [Word; 32], count: c_int) -> Sets {
        Sets {
            sets: [
                words.as_mut_ptr().cast(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ],
            count,
        }
    }

    #[test]
    fn descriptors_beyond_an_fd_set_are_asked_for_and_answered() {
        let mut words = [0; 32];
        words[1500 / WORD] |= 1 << (1500 % WORD);
        words[3 / WORD] |= 1 << 3;
        let all = sets(&mut words, 1501);
        let mut fds = all.as_pollfds();
        assert_eq!(
            fds.iter().map(|entry| entry.fd).collect::<Vec<_>>(),
            [3, 1500]
        );
        fds[1].revents = libc::POLLIN;
        assert_eq!(all.fill(&fds), 1);
        assert!(all.has(0, 1500) && !all.has(0, 3));
    }

    #[test]
    fn what_is_not_below_the_count_is_not_touched() {
        let mut words = [Word::MAX; 32];
        let all = sets(&mut words, 64);
        assert_eq!(all.as_pollfds().len(), 64);
        assert_eq!(all.fill(&[]), 0);
        assert_eq!(words[0], 0);
        assert_eq!(words[1], Word::MAX);
    }
}
