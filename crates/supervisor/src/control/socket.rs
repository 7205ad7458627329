//! The control socket and its directory.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::sockets::{Access, UnixSocket};

/// Creates the socket: at `configured`, or at the first candidate that is possible.
pub(crate) fn open(configured: Option<&Path>, candidates: &[PathBuf]) -> Result<UnixSocket, Error> {
    if let Some(path) = configured {
        return bind(path);
    }
    let mut last = None;
    for path in candidates {
        let made = path.parent().map_or(Ok(()), private_directory);
        match made
            .map_err(|source| Error::Control {
                path: path.clone(),
                source,
            })
            .and_then(|()| bind(path))
        {
            Err(error @ Error::Control { .. }) => last = Some(error),
            result => return result,
        }
    }
    Err(last.unwrap_or_else(|| {
        Error::Io(io::Error::other(
            "no directory for the control socket; name a path with --control",
        ))
    }))
}

fn bind(path: &Path) -> Result<UnixSocket, Error> {
    UnixSocket::open(path, Access::Owner).map_err(|error| match error {
        Error::SocketTaken(path) => Error::Running(path),
        Error::Listen { source, .. } => Error::Control {
            path: path.into(),
            source,
        },
        other => other,
    })
}

/// Creates the directory with access for this user only. Fails if another user has created it before, or if it is a symbolic
/// link, as is possible in `/tmp`.
fn private_directory(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let found = path.symlink_metadata()?;
    let why = if !found.is_dir() {
        "is not a directory".into()
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        format!("belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!(
            "has mode {:04o}, so other users may write in it",
            found.mode() & 0o7777
        )
    } else {
        return Ok(());
    };
    Err(io::Error::other(format!(
        "{} {why}; remove it, or set XDG_RUNTIME_DIR to a directory of this user",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_socket_is_private_and_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hearth/a.sock");
        let socket = open(None, std::slice::from_ref(&path)).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(
            path.parent()
                .unwrap()
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o777,
            0o700
        );
        assert!(matches!(
            open(None, std::slice::from_ref(&path)),
            Err(Error::Running(_))
        ));
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_that_others_may_write_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let (open_to_all, private) = (dir.path().join("all"), dir.path().join("mine"));
        std::fs::create_dir(&open_to_all).unwrap();
        std::fs::set_permissions(&open_to_all, std::fs::Permissions::from_mode(0o777)).unwrap();
        let socket = open(None, &[open_to_all.join("s"), private.join("s")]).unwrap();
        assert_eq!(socket.path, private.join("s"));
        let error = open(None, &[open_to_all.join("s")]).unwrap_err();
        assert!(error.to_string().contains("has mode 0777"), "{error}");
    }

    #[test]
    fn a_link_in_place_of_the_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let error = open(None, &[link.join("s")]).unwrap_err().to_string();
        assert!(error.contains("is not a directory; remove it"), "{error}");
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    }
}
