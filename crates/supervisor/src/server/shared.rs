//! Memory that the workers of all generations share.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;

use cache::Cache;
use config::Settings;
use shm::{Budgets, Quarantine};

/// What all workers share.
pub(super) struct Shared {
    pub(super) budgets: SharedBudgets,
    pub(super) quarantine: SharedQuarantine,
    pub(super) cache: Option<SharedCache>,
}

impl Shared {
    pub(super) fn new(settings: &Settings) -> io::Result<Shared> {
        Ok(Shared {
            budgets: SharedBudgets::new()?,
            quarantine: SharedQuarantine::new()?,
            cache: SharedCache::new(settings.cache_size)?,
        })
    }
}

/// The table of budgets, and the descriptor that zygotes get of it.
pub(super) struct SharedBudgets {
    pub(super) fd: OwnedFd,
    pub(super) table: Budgets,
}

impl SharedBudgets {
    pub(super) fn new() -> io::Result<SharedBudgets> {
        let fd = Budgets::create()?;
        let table = Budgets::map(&fd)?;
        Ok(SharedBudgets { fd, table })
    }
}

/// The cache of all workers, and the descriptor that zygotes get of it.
pub(super) struct SharedCache {
    pub(super) fd: OwnedFd,
    pub(super) cache: &'static Cache,
}

impl SharedCache {
    /// `None` for no bytes. On the thread that lives as long as the server.
    pub(super) fn new(bytes: u64) -> io::Result<Option<SharedCache>> {
        if bytes == 0 {
            return Ok(None);
        }
        let fd = Cache::create(bytes).map_err(|error| {
            let what = format!("cannot have a cache of {bytes} bytes (cache.size): {error}");
            io::Error::new(error.kind(), what)
        })?;
        let cache: &'static Cache = Box::leak(Box::new(Cache::map(&fd)?));
        // Scripts that have it see by this that the server has ended.
        cache.serve();
        Ok(Some(SharedCache { fd, cache }))
    }

    pub(super) fn figures(&self) -> BTreeMap<String, u64> {
        let figures = self.cache.stats().figures();
        figures
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

/// Which requests killed workers, and the descriptor that workers get of it.
pub(super) struct SharedQuarantine {
    pub(super) fd: OwnedFd,
    pub(super) table: Quarantine,
}

impl SharedQuarantine {
    pub(super) fn new() -> io::Result<SharedQuarantine> {
        let random = |n: u32| RandomState::new().hash_one(n);
        let fd = Quarantine::create([random(0), random(1)])?;
        let table = Quarantine::map(&fd)?;
        Ok(SharedQuarantine { fd, table })
    }
}
