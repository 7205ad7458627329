//! Memory of this process in place of a shared file, for Miri, which runs neither memfd_create nor shared mappings.
//!
//! A file is the descriptor that stands for it. What Miri checks here is the order of the accesses: it has the weak memory of
//! real processors, which the models of shuttle do not.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

type Words = Arc<[AtomicU64]>;

static FILES: Mutex<BTreeMap<RawFd, Words>> = Mutex::new(BTreeMap::new());

pub fn create_file(_: &CStr, words: usize) -> io::Result<OwnedFd> {
    let fd = OwnedFd::from(std::fs::File::open("/dev/null")?);
    let memory = (0..words).map(|_| AtomicU64::new(0)).collect();
    FILES
        .lock()
        .expect("no test panics with it")
        .insert(fd.as_raw_fd(), memory);
    Ok(fd)
}

#[derive(Debug)]
pub struct Mapping(Words);

impl Mapping {
    pub fn of(fd: &OwnedFd) -> io::Result<Mapping> {
        let files = FILES.lock().expect("no test panics with it");
        let memory = files.get(&fd.as_raw_fd()).cloned();
        memory
            .map(Mapping)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Deref for Mapping {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        &self.0
    }
}
