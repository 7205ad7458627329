//! Memory of one process in place of a shared file, for Miri, which supports neither memfd_create nor shared mappings.
//!
//! A file is represented by its descriptor. Miri checks the order of the accesses here: it models the weak memory of real
//! processors, which shuttle does not.

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
