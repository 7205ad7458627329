//! The memory of the cache as a file that processes pass on.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use shm::Mapping;

use crate::cache::Cache;
use crate::geometry::{
    AT_CELLS, AT_LOCK, AT_SECRET, AT_SEQUENCE, AT_SERVED, CELL, Geometry, MAGIC,
};
use crate::memory::Memory;

/// Returns the nanoseconds since 1970. They exceed every sequence number of an earlier memory, because a write takes longer
/// than a nanosecond.
fn first_sequence() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(0))
}

impl Memory {
    /// Creates a memory of at most `bytes` bytes.
    pub(crate) fn create(bytes: u64) -> io::Result<OwnedFd> {
        let geometry = Geometry::of_size(bytes);
        let fd = shm::create_file(c"hearth-cache", geometry.words())?;
        let mapping = Mapping::of(&fd)?;
        shm::create_lock(&mapping, AT_LOCK)?;
        shm::create_lock(&mapping, AT_SERVED)?;
        mapping[AT_CELLS].store(geometry.cells as u64, Ordering::Relaxed);
        // No earlier memory had a sequence number as high. So a copy of an old memory's entry is not current here, and
        // fencing tokens keep growing.
        mapping[AT_SEQUENCE].store(first_sequence(), Ordering::Relaxed);
        for word in 0..2 {
            let random = RandomState::new().hash_one(word);
            mapping[AT_SECRET + word].store(random, Ordering::Relaxed);
        }
        mapping[0].store(MAGIC, Ordering::Release);
        Ok(fd)
    }

    pub(crate) fn map(fd: &OwnedFd) -> io::Result<Memory> {
        let refuse = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let mapping = Mapping::of(fd)?;
        if mapping.len() < crate::geometry::HEADER || mapping[0].load(Ordering::Acquire) != MAGIC {
            return Err(refuse("this is not a cache, or one of another version"));
        }
        let cells = mapping[AT_CELLS].load(Ordering::Relaxed);
        let geometry = usize::try_from(cells)
            .ok()
            .filter(|cells| cells.saturating_mul(CELL) <= mapping.len())
            .map(Geometry::of_cells)
            .filter(|geometry| geometry.words() == mapping.len())
            .ok_or_else(|| refuse("the cache says another size than it has"))?;
        Ok(Memory::of(mapping, geometry))
    }
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000 + now.tv_nsec.unsigned_abs() / 1000
}

impl Cache {
    /// Creates the memory of a cache, in at most `bytes` bytes; each process maps it with [`Cache::map`].
    pub fn create(bytes: u64) -> io::Result<OwnedFd> {
        Memory::create(bytes)
    }

    pub fn map(fd: &OwnedFd) -> io::Result<Cache> {
        Ok(Cache {
            memory: Memory::map(fd)?,
            clock: monotonic,
        })
    }

    /// Marks this thread as the cache's server: see [`Cache::is_served`]. Returns false if another thread is.
    pub fn serve(&'static self) -> bool {
        shm::hold_for_life(&self.memory.mapping, AT_SERVED)
    }

    /// Returns whether the thread lives that called [`Cache::serve`]. A process that is no child of the server checks this
    /// before each use.
    #[inline]
    pub fn is_served(&self) -> bool {
        shm::is_held(&self.memory.mapping, AT_SERVED)
    }
}
