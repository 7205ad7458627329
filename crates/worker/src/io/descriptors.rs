//! Descriptors that PHP waits on, registered with the reactor and kept registered between waits.
//!
//! A database connection waits thousands of times; registering it each time would cost two system calls per wait. The
//! price of keeping is that a closed descriptor's number comes back as something else: `close` is hooked and drops the
//! registration first, and an entry whose inode has changed behind our back is made anew.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
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
    registration: RefCell<Option<AsyncFd<Number>>>,
    /// Whether the reactor also says when there is room to write.
    watches_room: Cell<bool>,
    /// The task that waits on it, and how to wake it.
    waiting: Cell<Option<TaskRef>>,
    waker: RefCell<Option<Waker>>,
    /// PHP has read everything that was there, and the reactor has not said anything since.
    drained: Cell<bool>,
    is_stream: bool,
}

thread_local! {
    static TABLE: RefCell<Vec<Option<Rc<Descriptor>>>> = const { RefCell::new(Vec::new()) };
}

/// What to ask the reactor for. Room to write only while a task waits for it: a Unix socket announces room each time its
/// other end reads, so that a database that takes up a query would wake us once more than its answer does.
fn interest(room: bool) -> Interest {
    if room {
        Interest::READABLE | Interest::WRITABLE
    } else {
        Interest::READABLE
    }
}

/// The registration of `fd`, made if there is none; `room`: its first wait is for room to write.
pub(crate) fn get(fd: RawFd, room: bool) -> io::Result<Rc<Descriptor>> {
    let identity = hook::identity(fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
    let index = usize::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    TABLE.with_borrow_mut(|table| {
        if table.len() <= index {
            table.resize(index + 1, None);
        }
        if let Some(known) = &table[index] {
            if known.identity == identity && known.registration.borrow().is_some() {
                return Ok(Rc::clone(known));
            }
            known.drop_registration();
        }
        let registration = watch(Number(fd), interest(room))?;
        let made = Rc::new(Descriptor {
            fd,
            identity,
            registration: RefCell::new(Some(registration)),
            watches_room: Cell::new(room),
            waiting: Cell::new(None),
            waker: RefCell::new(None),
            drained: Cell::new(false),
            is_stream: hook::is_stream(fd),
        });
        table[index] = Some(Rc::clone(&made));
        Ok(made)
    })
}

/// The registration of `fd`, if there is one. Only for a descriptor that PHP has just used itself.
pub(crate) fn known(fd: RawFd) -> Option<Rc<Descriptor>> {
    let index = usize::try_from(fd).ok()?;
    TABLE.with_borrow(|table| table.get(index)?.clone())
}

/// `fd` is about to be closed: forget it, and let a task that waits on it see the close.
pub(crate) fn closing(fd: RawFd) {
    let Ok(index) = usize::try_from(fd) else {
        return;
    };
    // During thread exit the table may be gone; then nothing is registered any more.
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

/// After a fork: the registrations are in a reactor that is shared with the parent, and are the parent's.
#[expect(
    clippy::mem_forget,
    reason = "dropping would deregister the parent's descriptors"
)]
pub(crate) fn forget() {
    hook::disown_all();
    for known in TABLE.take().into_iter().flatten() {
        std::mem::forget(known.registration.take());
    }
}

/// `intruder` was refused what `owner` waits on: where both have sent something, the wait fails, and so does everything else
/// on that descriptor until it is closed.
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

    pub(crate) fn fd(&self) -> RawFd {
        self.fd
    }

    /// The task that waits on it.
    pub(crate) fn holder(&self) -> Option<TaskRef> {
        self.waiting.get()
    }

    /// The other task that waits on it, if one does.
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

    /// Have the reactor say what the wait that begins is for. No other task waits: the descriptor is claimed.
    pub(crate) fn watch_room(&self, room: bool) -> io::Result<()> {
        if room != self.watches_room.get() {
            let mut registration = self.registration.borrow_mut();
            *registration = None;
            *registration = Some(watch(Number(self.fd), interest(room))?);
            self.watches_room.set(room);
        }
        Ok(())
    }

    /// Everything that was there has been read.
    pub(crate) fn set_drained(&self) {
        // Of datagrams there may be more: a receive never gets two.
        if !self.is_stream {
            return;
        }
        let registration = self.registration.borrow();
        let Some(registration) = registration.as_ref() else {
            return;
        };
        // What the reactor said before is about bytes that are gone now.
        let _ = registration.try_io(Interest::READABLE, |_| -> io::Result<()> {
            Err(io::ErrorKind::WouldBlock.into())
        });
        self.drained.set(true);
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.drained.get()
    }

    /// Wait for the reactor's next word on a drained descriptor: true when it is plainly readable, false when a look is
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

    /// Ready when one of the wanted directions may be ready, or the descriptor was closed meanwhile. Clears what it
    /// reports: the caller looks at the descriptor itself, and asks again if there was nothing.
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
            // The next wait must poll: what is announced here may still be there.
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
