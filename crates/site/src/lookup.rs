//! Looks up a file and opens it in one step, and checks that it belongs to the site.
//!
//! `openat2` without symbolic links opens exactly what the clean path names: one call for nearly every file. Where there are
//! links, the kernel is asked for the path of the opened file, so that a link changed in between cannot lead outside.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::files::StaticFile;
use crate::names;

pub(crate) enum Found {
    File {
        file: StaticFile,
        /// The path of the file, if symbolic links were followed.
        real: Option<PathBuf>,
    },
    Directory,
    Missing,
    /// Not readable, neither file nor directory, or outside of the site.
    Refused,
    /// The lookup itself failed.
    Failed(io::Error),
}

/// The directories that a symbolic link may lead into.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// Paths without symbolic links; the document root is the first.
    directories: Vec<PathBuf>,
}

/// A FIFO in a site must not block, and a terminal must not become the controlling terminal.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Bounds {
    pub(crate) fn new(root: PathBuf) -> Bounds {
        Bounds {
            directories: vec![root],
        }
    }

    pub(crate) fn add(&mut self, directory: &Path) -> io::Result<()> {
        self.directories.push(directory.canonicalize()?);
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.directories[0]
    }

    /// Returns whether the path is one of the directories or in one, and not hidden. In the root nothing below a hidden name
    /// is public. Elsewhere the link's author has chosen the directory, but a hidden file stays hidden.
    fn hold(&self, real: &Path) -> bool {
        if let Ok(inside) = real.strip_prefix(self.root()) {
            return !names::is_hidden(inside.as_os_str().as_bytes());
        }
        let name = real.file_name().unwrap_or_default();
        !names::is_hidden(name.as_bytes())
            && self
                .directories
                .iter()
                .any(|directory| real.starts_with(directory))
    }

    /// Looks up `path`, a clean path below the root.
    pub(crate) fn find(&self, path: PathBuf) -> Found {
        match rustix::fs::openat2(CWD, &path, READ, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(fd) => seen(fd, path, None),
            // There are links; or the kernel or the container has no openat2; or a rename happened at the same moment.
            Err(Errno::LOOP | Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {
                self.find_by_links(path)
            }
            Err(error) => self.not_opened(error, &path),
        }
    }

    fn find_by_links(&self, path: PathBuf) -> Found {
        let fd = match rustix::fs::open(&path, READ, Mode::empty()) {
            Ok(fd) => fd,
            Err(error) => return self.not_opened(error, &path),
        };
        match real_path(&fd) {
            Ok(real) if self.hold(&real) => {
                let real = (real != path).then_some(real);
                seen(fd, path, real)
            }
            Ok(_) => Found::Refused,
            Err(error) => Found::Failed(error),
        }
    }

    fn not_opened(&self, error: Errno, path: &Path) -> Found {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Found::Missing,
            Errno::ACCESS => self.unreadable(path),
            // A loop of links, a socket, or a device without a driver.
            Errno::LOOP | Errno::NXIO | Errno::NODEV => Found::Refused,
            error => Found::Failed(error.into()),
        }
    }

    /// Returns [`Found::Directory`] for a directory that may be entered but not listed.
    fn unreadable(&self, path: &Path) -> Found {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
        let directory = rustix::fs::open(path, flags, Mode::empty());
        match directory.map(|fd| real_path(&fd)) {
            Ok(Ok(real)) if self.hold(&real) => Found::Directory,
            _ => Found::Refused,
        }
    }

    /// Returns whether there is a regular file at `path`, without opening it.
    pub(crate) fn is_plain_file(path: &Path) -> bool {
        rustix::fs::lstat(path).is_ok_and(|stat| kind(&stat) == FileType::RegularFile)
    }
}

fn seen(fd: OwnedFd, path: PathBuf, real: Option<PathBuf>) -> Found {
    let stat = match rustix::fs::fstat(&fd) {
        Ok(stat) => stat,
        Err(error) => return Found::Failed(error.into()),
    };
    match kind(&stat) {
        FileType::Directory => Found::Directory,
        // The file was just deleted, so the kernel no longer knows its name.
        FileType::RegularFile if real.is_some() && stat.st_nlink == 0 => Found::Missing,
        FileType::RegularFile => Found::File {
            file: StaticFile::new(fd, &stat, path),
            real,
        },
        _ => Found::Refused,
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns the path that the kernel has for an open file.
pub(crate) fn real_path(fd: &impl AsRawFd) -> io::Result<PathBuf> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let name = rustix::fs::readlink(link, Vec::new())?.into_bytes();
    Ok(std::ffi::OsString::from_vec(name).into())
}

/// Returns the clean path `path` below `root`.
pub(crate) fn below(root: &Path, path: &[u8]) -> PathBuf {
    let root = root.as_os_str().as_bytes();
    // The root of the file system already ends with the slash that `path` begins with.
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let mut name = Vec::with_capacity(root.len() + path.len() + 16);
    name.extend_from_slice(root);
    name.extend_from_slice(path);
    OsStr::from_bytes(&name).into()
}
