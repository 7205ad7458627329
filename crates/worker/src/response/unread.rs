//! Large responses whose clients read slowly: they leave PHP's memory.
//!
//! All requests of a worker share one `memory_limit`, and a response is a PHP string until it is sent. So the bytes that
//! clients have not read are limited there, for all responses together. Beyond the limit a response goes to an unnamed file;
//! if there is no room for that, it keeps a permit, as if its request still ran.

use std::cell::Cell;
use std::io;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use bytes::Bytes;
use http1::Spool;
use server::{Acquire, WaitQueue};

/// Bytes of large responses that may stay in PHP's memory, in this worker.
const IN_MEMORY: u64 = 8 << 20;
/// Bytes of a response that are sent at a time; a response that is not larger is never an [`Unread`].
pub(crate) const PIECE: usize = 64 << 10;

thread_local! {
    static KEPT: Cell<u64> = const { Cell::new(0) };
}

/// The rest of a response.
pub(crate) struct Unread {
    kept: Storage,
    permits: Rc<WaitQueue<()>>,
}

enum Storage {
    Memory {
        rest: Bytes,
        counted: u64,
        /// The permit that the response keeps, because there is no room for a file.
        held: Option<Acquire<()>>,
    },
    File {
        spool: Spool,
        at: u64,
    },
}

impl Unread {
    pub(crate) fn new(answer: Bytes, permits: &Rc<WaitQueue<()>>) -> Unread {
        let counted = answer.len() as u64;
        KEPT.set(KEPT.get() + counted);
        Unread {
            kept: Storage::Memory {
                rest: answer,
                counted,
                held: None,
            },
            permits: Rc::clone(permits),
        }
    }

    pub(crate) fn length(&self) -> u64 {
        match &self.kept {
            Storage::Memory { rest, .. } => rest.len() as u64,
            Storage::File { spool, at } => spool.len() - at,
        }
    }

    pub(crate) fn next(&mut self) -> Option<io::Result<Bytes>> {
        let length = self.length().min(PIECE as u64) as usize;
        if length == 0 {
            return None;
        }
        Some(match &mut self.kept {
            Storage::Memory { rest, .. } => Ok(rest.split_to(length)),
            Storage::File { spool, at } => {
                let mut piece = vec![0; length];
                let read = spool.file().read_exact_at(&mut piece, *at);
                *at += length as u64;
                read.map(|()| piece.into())
            }
        })
    }

    /// Moves the rest out of PHP's memory if necessary, because the client reads no more for now.
    pub(crate) fn stalled(&mut self) {
        let Storage::Memory { rest, held, .. } = &mut self.kept else {
            return;
        };
        if KEPT.get() <= IN_MEMORY || rest.is_empty() {
            return;
        }
        let moved = Spool::create().and_then(|mut spool| spool.append(rest).map(|()| spool));
        match moved {
            Ok(spool) => self.keep(Storage::File { spool, at: 0 }),
            Err(_) => {
                held.get_or_insert_with(|| self.permits.hold());
            }
        }
    }

    fn keep(&mut self, kept: Storage) {
        if let Storage::Memory { counted, .. } = std::mem::replace(&mut self.kept, kept) {
            KEPT.set(KEPT.get() - counted);
        }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.keep(Storage::Memory {
            rest: Bytes::new(),
            counted: 0,
            held: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(unread: &mut Unread) -> Vec<u8> {
        std::iter::from_fn(|| unread.next())
            .flat_map(|piece| piece.expect("a piece"))
            .collect()
    }

    #[test]
    fn more_than_may_stay_in_memory_goes_to_files_or_keeps_a_place() {
        let permits = WaitQueue::new([()]);
        let answer = Bytes::from(vec![7; 3 << 20]);
        let mut unread: Vec<_> = (0..4)
            .map(|_| Unread::new(answer.clone(), &permits))
            .collect();
        let first = unread[0].next().expect("some").expect("a piece");
        assert_eq!(first.len(), PIECE);
        for one in &mut unread {
            one.stalled();
        }
        let in_files = unread
            .iter()
            .filter(|one| matches!(one.kept, Storage::File { .. }));
        assert_eq!(in_files.count(), 2, "until the others fit");
        assert_eq!(KEPT.get(), 6 << 20);
        assert_eq!(all(&mut unread[0]).len(), (3 << 20) - PIECE);
        assert_eq!(all(&mut unread[3]), answer);
        drop(unread);
        assert_eq!(KEPT.get(), 0);
        // Where there is no room for a file, the response keeps a permit.
        http1::set_spool_limit(1 << 20);
        let mut unread = Unread::new(vec![7; 9 << 20].into(), &permits);
        unread.stalled();
        unread.stalled();
        http1::set_spool_limit(0);
        assert_eq!(permits.try_acquire(), None, "its place is taken");
        assert_eq!(all(&mut unread).len(), 9 << 20);
        drop(unread);
        let left = [permits.try_acquire(), permits.try_acquire()];
        assert_eq!(left, [Some(()), None]);
    }
}
