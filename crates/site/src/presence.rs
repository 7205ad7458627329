//! Is there nothing under a name? Asked before each request of an app, so as cheaply as the kernel can tell: relative to the
//! open folder, and without opening what is there. A third of what `openat2` of the whole path takes.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// A folder, held open.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    opened: RefCell<Option<(OwnedFd, Instant)>>,
}

/// For how long the folder is taken to be the one at its path: it may be deleted and made anew.
const RECENT: Duration = Duration::from_secs(1);

impl Presence {
    /// Is nothing there? False where that cannot be told. `name` is clean and relative to the folder.
    pub(crate) fn lacks(&self, folder: &Path, name: &[u8]) -> bool {
        let mut opened = self.opened.borrow_mut();
        let now = Instant::now();
        if opened.as_ref().is_none_or(|(_, until)| now > *until) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = rustix::fs::open(folder, flags, Mode::empty());
            *opened = fd.ok().map(|fd| (fd, now + RECENT));
        }
        let Some((fd, _)) = opened.as_ref() else {
            return false;
        };
        let found = rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW);
        matches!(found, Err(Errno::NOENT | Errno::NOTDIR))
    }
}
