//! A request body that the front or this worker keeps in a file.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::task::{Context, Poll};

use bytes::Bytes;
use http1::{BodyError, Spool};
use php::BodySource;

/// Bytes read at a time: from the page cache, to which they were just written.
const PIECE: usize = 64 << 10;

/// The file, and the offset up to which it was read. The file's own offset is shared with the front.
pub(crate) struct Upload {
    file: Storage,
    at: u64,
}

enum Storage {
    ByFront(File),
    Here(Spool),
}

impl Upload {
    pub(crate) fn new(file: OwnedFd) -> Upload {
        let file = Storage::ByFront(file.into());
        Upload { file, at: 0 }
    }

    pub(crate) fn spooled(spool: Spool) -> Upload {
        let file = Storage::Here(spool);
        Upload { file, at: 0 }
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; PIECE];
        let file = match &self.file {
            Storage::ByFront(file) => file,
            Storage::Here(spool) => spool.file(),
        };
        let length = file.read_at(&mut piece, self.at)?;
        piece.truncate(length);
        self.at += length as u64;
        Ok(piece)
    }

    pub(crate) fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            match self.read()? {
                piece if piece.is_empty() => return Ok(all),
                piece => all.extend_from_slice(&piece),
            }
        }
    }
}

impl BodySource for Upload {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(match self.read() {
            Ok(piece) if piece.is_empty() => None,
            Ok(piece) => Some(Ok(piece.into())),
            Err(error) => {
                logging::error!("cannot read a request's body: {error}");
                Some(Err(BodyError::Storage))
            }
        })
    }
}
