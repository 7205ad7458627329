//! Descriptors that PHP waits for, registered with the reactor and kept registered between waits.
//!
//! PHP waits for a database connection thousands of times; registering it each time would cost two system calls per wait.
//! The price of keeping registrations is that the number of a closed descriptor is reused for another file. So `close` is
//! hooked and drops the registration first, or marks the number if another thread closes it, and an entry whose inode has changed
//! without that is made anew. Only registrations of sockets are kept: all eventfds, timerfds and their relatives have one inode.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use php::TaskRef;
use server::channel::watch;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A borrowed descriptor number.
struct Number(RawFd);

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

/// One registered descriptor.
pub(crate) struct Descriptor {
    fd: RawFd,
    identity: (u64, u64),
    /// How often other threads had closed the number when this was made.
    closes: u32,
    /// Whether the registration is kept between waits: the inode of no other open file is the same.
    is_kept: bool,
    registration: RefCell<Option<AsyncFd<Number>>>,
    /// Whether the reactor also reports room to write.
    watches_room: Cell<bool>,
    /// The task that waits for the descriptor, and its waker.
    waiting: Cell<Option<TaskRef>>,
    waker: RefCell<Option<Waker>>,
    /// Whether PHP has read everything that was there, and the reactor has not reported anything since.
    drained: Cell<bool>,
    /// Whether a receive that got less than it asked for has read everything that was there: not where it may have ended at an urgent
    /// mark.
    may_drain: Cell<bool>,
}

thread_local! {
    static TABLE: RefCell<Vec<Option<Rc<Descriptor>>>> = const { RefCell::new(Vec::new()) };
}

/// How many numbers other threads can mark. A worker has fewer descriptors.
const MARKED: usize = 1 << 16;

/// How often threads other than the engine's have closed each number.
static CLOSES: [AtomicU32; MARKED] = [const { AtomicU32::new(0) }; MARKED];

fn closes(fd: RawFd) -> Option<&'static AtomicU32> {
    CLOSES.get(usize::try_from(fd).ok()?)
}

fn closes_of(fd: RawFd) -> u32 {
    closes(fd).map_or(0, |count| count.load(Ordering::Acquire))
}

/// Marks `fd`, which another thread is about to close: what is registered for the number is no longer valid.
pub(crate) fn closed_elsewhere(fd: RawFd) {
    if let Some(count) = closes(fd) {
        count.fetch_add(1, Ordering::Release);
    }
}

/// Returns what to register for. Room to write only while a task waits for it: a Unix socket reports room each time its
/// other end reads, so that a database that reads a query would wake this thread once more, besides its answer. Urgent data is
/// reported together with readability.
fn interest(room: bool) -> Interest {
    let always = Interest::READABLE | Interest::PRIORITY;
    if room {
        always | Interest::WRITABLE
    } else {
        always
    }
}

/// Returns the registration of `fd`, made if there is none. `room`: its first wait is for room to write.
pub(crate) fn get(fd: RawFd, room: bool) -> io::Result<Rc<Descriptor>> {
    let identity = hook::identity(fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
    let index = usize::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    TABLE.with_borrow_mut(|table| {
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        if let Some(known) = &table[index] {
            if known.identity == identity && known.is_current() && !known.is_gone() {
                return Ok(Rc::clone(known));
            }
            known.drop_registration();
        }
        let registration = watch(Number(fd), interest(room))?;
        let made = Rc::new(Descriptor {
            fd,
            identity,
            closes: closes_of(fd),
            is_kept: hook::is_socket(fd),
            registration: RefCell::new(Some(registration)),
            watches_room: Cell::new(room),
            waiting: Cell::new(None),
            waker: RefCell::new(None),
            drained: Cell::new(false),
            may_drain: Cell::new(hook::is_tcp(fd)),
        });
        table[index] = Some(Rc::clone(&made));
        Ok(made)
    })
}

/// Returns the registration of `fd`, if there is one. Only for a descriptor that PHP has just used itself.
pub(crate) fn known(fd: RawFd) -> Option<Rc<Descriptor>> {
    let index = usize::try_from(fd).ok()?;
    let known = TABLE.with_borrow(|table| table.get(index)?.clone());
    known.filter(|known| known.is_current())
}

/// Forgets a descriptor at the end of a wait, unless its registration is kept.
pub(crate) fn keep_or_forget(descriptor: &Rc<Descriptor>) {
    if descriptor.is_kept {
        return;
    }
    descriptor.drop_registration();
    // During thread exit the table may be gone.
    let _ = TABLE.try_with(|table| {
        let mut table = table.borrow_mut();
        let index = usize::try_from(descriptor.fd).unwrap_or(usize::MAX);
        if let Some(known) = table.get_mut(index) {
            known.take_if(|known| Rc::ptr_eq(known, descriptor));
        }
    });
}

/// Forgets `fd`, which is about to be closed, and wakes a task that waits for it, so that the task sees the close.
pub(crate) fn closing(fd: RawFd) {
    let Ok(index) = usize::try_from(fd) else {
        return;
    };
    // During thread exit the table may be gone; then no descriptor is registered any more.
    let known = TABLE.try_with(|table| {
        table
            .try_borrow_mut()
            .ok()
            .and_then(|mut table| table.get_mut(index).and_then(Option::take))
    });
    if let Ok(Some(known)) = known {
        known.drop_registration();
    }
}

/// Forgets all registrations in a forked child: they are in a reactor shared with the parent, and belong to the parent. Returns
/// their descriptors.
#[expect(
    clippy::mem_forget,
    reason = "dropping would deregister the parent's descriptors"
)]
pub(crate) fn forget() -> Vec<RawFd> {
    hook::disown_all();
    let registered = TABLE.take().into_iter().flatten().filter_map(|known| {
        let registration = known.registration.take()?;
        std::mem::forget(registration);
        Some(known.fd)
    });
    registered.collect()
}

/// Poisons the descriptors that task `owner` waits for and task `intruder` was refused: if both have sent something on a
/// descriptor, the wait fails, and so does everything else on that descriptor until it is closed.
pub(crate) fn poison(owner: u64, intruder: u64) {
    for fd in hook::poison(owner, intruder) {
        if let Some(waker) = known(fd).and_then(|descriptor| descriptor.waker.borrow_mut().take()) {
            waker.wake();
        }
    }
}

impl Descriptor {
    fn drop_registration(&self) {
        drop(self.registration.borrow_mut().take());
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Whether no other thread has closed the number since this was made.
    fn is_current(&self) -> bool {
        self.closes == closes_of(self.fd)
    }

    /// Whether the registration was dropped: the descriptor was closed, or its number is that of another file.
    pub(crate) fn is_gone(&self) -> bool {
        self.registration.borrow().is_none()
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.fd
    }

    /// Returns the task that waits for the descriptor.
    pub(crate) fn holder(&self) -> Option<TaskRef> {
        self.waiting.get()
    }

    /// Claims the descriptor for a wait of the task `holder`. The error is another task that waits for it.
    pub(crate) fn claim(&self, holder: TaskRef) -> Result<(), TaskRef> {
        match self.waiting.get() {
            Some(other) if other != holder => Err(other),
            _ => {
                self.waiting.set(Some(holder));
                hook::own(self.fd, holder.task());
                Ok(())
            }
        }
    }

    pub(crate) fn release(&self) {
        self.waiting.set(None);
        hook::disown(self.fd);
        self.waker.borrow_mut().take();
    }

    /// Registers for what the wait that begins is for. No other task waits, because the descriptor is claimed.
    pub(crate) fn watch_room(&self, room: bool) -> io::Result<()> {
        if room != self.watches_room.get() {
            let mut registration = self.registration.borrow_mut();
            *registration = None;
            *registration = Some(watch(Number(self.fd), interest(room))?);
            self.watches_room.set(room);
        }
        Ok(())
    }

    /// Notes that a receive got less than it asked for.
    pub(crate) fn set_drained(&self) {
        if !self.may_drain.get() {
            return;
        }
        let registration = self.registration.borrow();
        let Some(registration) = registration.as_ref() else {
            return;
        };
        // A mark behind which something is there was reported together with it.
        if registration.try_io(Interest::PRIORITY, |_| Ok(())).is_ok() {
            self.may_drain.set(false);
            return;
        }
        // What the reactor reported before is about bytes that are read by now.
        let _ = registration.try_io(Interest::READABLE, |_| -> io::Result<()> {
            Err(io::ErrorKind::WouldBlock.into())
        });
        self.drained.set(true);
    }

    /// Notes that something is there.
    pub(crate) fn set_refilled(&self) {
        self.drained.set(false);
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.drained.get()
    }

    /// Waits for the reactor's next report on a drained descriptor: true when it is plainly readable, false when poll(2) is
    /// needed to tell (the other end has hung up, an error, a close meanwhile).
    pub(crate) fn poll_refilled(&self, context: &mut Context<'_>) -> Poll<bool> {
        if hook::is_poisoned(self.fd) {
            return Poll::Ready(false);
        }
        let registration = self.registration.borrow();
        let Some(registration) = registration.as_ref() else {
            return Poll::Ready(false);
        };
        let Poll::Ready(guard) = registration.poll_read_ready(context) else {
            *self.waker.borrow_mut() = Some(context.waker().clone());
            return Poll::Pending;
        };
        self.drained.set(false);
        let Ok(mut guard) = guard else {
            return Poll::Ready(false);
        };
        let ready = guard.ready();
        guard.clear_ready();
        Poll::Ready(ready.is_readable() && !ready.is_read_closed() && !ready.is_error())
    }

    /// Ready when one of the wanted directions may be ready, or the descriptor was closed meanwhile. Clears the readiness
    /// that it reports: the caller checks the descriptor itself, and polls again if nothing was there.
    pub(crate) fn poll_ready(
        &self,
        read: bool,
        write: bool,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if hook::is_poisoned(self.fd) {
            return Poll::Ready(());
        }
        let registration = self.registration.borrow();
        let Some(registration) = registration.as_ref() else {
            return Poll::Ready(());
        };
        let mut ready = false;
        if read && let Poll::Ready(guard) = registration.poll_read_ready(context) {
            ready = true;
            // The next wait must poll: the data that is reported here may still be there.
            self.drained.set(false);
            if let Ok(mut guard) = guard {
                guard.clear_ready();
            }
        }
        if write && let Poll::Ready(guard) = registration.poll_write_ready(context) {
            ready = true;
            if let Ok(mut guard) = guard {
                guard.clear_ready();
            }
        }
        if ready {
            return Poll::Ready(());
        }
        *self.waker.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    }
}
