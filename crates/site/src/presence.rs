//! A check whether there is nothing under a name. It runs before each request of an app, so it is as cheap as possible:
//! relative to the open folder, and without opening the file. It takes a third of the time of `openat2` with the whole path.

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

/// How long the folder is assumed to be the one at its path, where it may be deleted and created again.
const RECENT: Duration = Duration::from_secs(1);

impl Presence {
    /// Returns true if there is nothing; false also if that cannot be told. `name` is clean and relative to the folder.
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
