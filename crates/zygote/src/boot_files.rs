//! The files and directories that the entry script left open, which each worker opens again for itself.
//!
//! A forked process shares the open file description with its parent and siblings: the position of one worker would be that
//! of all, and a `flock()` in one would not exclude the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{FlockOperation, MemfdFlags, Mode, OFlags};

use crate::descriptors;
use crate::fdinfo::{Info, Lock};

/// What another opening of the file takes over: not what creates, truncates or finds it.
const KEPT: OFlags = OFlags::RWMODE
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::DIRECT)
    .union(OFlags::NOATIME)
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC);

/// Files that belong to all workers: shared memory.
const SHARED_MEMORY: [&str; 2] = ["/memfd:", "/dev/shm/"];

#[derive(Debug, Default)]
pub(crate) struct BootFiles(Vec<BootFile>);

#[derive(Debug)]
struct BootFile {
    fd: i32,
    target: String,
    info: Info,
    flags: OFlags,
    /// A file that no other process can find: each worker gets a copy of what is in it.
    is_private: bool,
}

impl BootFiles {
    /// Finds the files that were opened since `before`. Those that stay shared although they should not be are logged.
    pub(crate) fn opened_since(before: &BTreeMap<i32, String>) -> BootFiles {
        let earlier: BTreeSet<_> = before.keys().filter_map(|fd| identity(*fd)).collect();
        let opened = descriptors::open().into_iter();
        let opened = opened.filter(|(fd, _)| !hook::has_record_locks(*fd));
        // A log, for example, that has another descriptor for php://stderr.
        let opened = opened.filter(|(fd, target)| before.get(fd) != Some(target));
        let opened =
            opened.filter(|(fd, _)| identity(*fd).is_some_and(|id| !earlier.contains(&id)));
        let files = opened.filter_map(|(fd, target)| BootFile::of(fd, target));
        BootFiles(files.filter(BootFile::can_be_opened).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives this process, a new worker, open file descriptions of its own.
    pub(crate) fn open_again(&self) {
        for file in &self.0 {
            if let Err(error) = file.open_again() {
                file.stays_shared(&error);
            }
        }
    }
}

impl BootFile {
    /// `None` for what stays shared: an exclusive lock, for example, is held by the entry script for the whole server.
    fn of(fd: i32, target: String) -> Option<BootFile> {
        let metadata = metadata(fd).ok()?;
        let info = Info::of(fd).ok()?;
        let file = BootFile {
            flags: flags(&info, &metadata),
            is_private: info.flags.intersects(OFlags::WRONLY | OFlags::RDWR)
                && (metadata.nlink() == 0 || php::is_temporary_file(fd)),
            fd,
            target,
            info,
        };
        let kind = metadata.file_type();
        if kind.is_fifo() || kind.is_block_device() {
            file.stays_shared(&io::Error::other("special file"));
        }
        ((kind.is_file() || kind.is_dir()) && !file.is_shared_on_purpose(&metadata)).then_some(file)
    }

    fn is_shared_on_purpose(&self, metadata: &Metadata) -> bool {
        let is_memory = metadata.nlink() == 0
            && SHARED_MEMORY
                .iter()
                .any(|folder| self.target.starts_with(folder));
        is_memory || self.info.lock == Lock::Held || self.info.flags.contains(OFlags::PATH)
    }

    /// Tries what the workers will do. Says so in the log if it fails.
    fn can_be_opened(&self) -> bool {
        let opened = match self.is_private {
            true => open(self.fd, OFlags::RDONLY),
            false => open(self.fd, self.flags),
        };
        if let Err(error) = &opened {
            self.stays_shared(error);
        }
        opened.is_ok()
    }

    fn open_again(&self) -> io::Result<()> {
        let mut file = match self.is_private {
            true => open(self.copy()?.as_raw_fd(), self.flags)?,
            false => open(self.fd, self.flags)?,
        };
        file.seek(SeekFrom::Start(self.info.position))?;
        if self.info.lock == Lock::Shared {
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared)?;
        }
        self.replace(file)
    }

    /// Copies the file to one without a name.
    fn copy(&self) -> io::Result<OwnedFd> {
        let beside = Path::new(&self.target).parent();
        let folders = beside
            .map(Path::to_path_buf)
            .into_iter()
            .chain([std::env::temp_dir()]);
        let copy = folders
            .map(|folder| nameless_in(&folder))
            .find_map(Result::ok)
            .map_or_else(
                || rustix::fs::memfd_create("boot file", MemfdFlags::CLOEXEC),
                Ok,
            )?;
        io::copy(
            &mut open(self.fd, OFlags::RDONLY)?,
            &mut File::from(copy.try_clone()?),
        )?;
        Ok(copy)
    }

    /// Puts the file in the place of the shared one.
    #[allow(unsafe_code)]
    fn replace(&self, file: File) -> io::Result<()> {
        let close_on_exec = self.info.flags.bits() as i32 & libc::O_CLOEXEC;
        // SAFETY: dup3 touches no memory. What owns the descriptor is a stream or a library of the entry script, for which
        // the new description is the same file at the same position.
        match unsafe { libc::dup3(file.as_fd().as_raw_fd(), self.fd, close_on_exec) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn stays_shared(&self, error: &io::Error) {
        logging::warning!(
            "a file left open at boot stays shared by all workers, with its position and its lock: cannot open it again \
             path={} descriptor={} error=\"{error}\"",
            self.target,
            self.fd
        );
    }
}

/// The flags for opening it again. What is written at the end of a file without being read, such as a log or an export, keeps
/// its place behind what other workers write.
fn flags(info: &Info, metadata: &Metadata) -> OFlags {
    let flags = info.flags & KEPT;
    let is_at_end = metadata.is_file() && info.position == metadata.len();
    match flags & OFlags::RWMODE == OFlags::WRONLY && is_at_end {
        true => flags | OFlags::APPEND,
        false => flags,
    }
}

fn path(fd: i32) -> String {
    format!("/proc/self/fd/{fd}")
}

fn metadata(fd: i32) -> io::Result<Metadata> {
    std::fs::metadata(path(fd))
}

fn identity(fd: i32) -> Option<(u64, u64)> {
    metadata(fd)
        .ok()
        .map(|metadata| (metadata.dev(), metadata.ino()))
}

fn open(fd: i32, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::open(
        path(fd),
        flags,
        Mode::empty(),
    )?))
}

fn nameless_in(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?)
}
