//! Memory that the workers of all generations share.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use cache::Cache;
use config::{RedisSettings, Settings};
use shm::{Budgets, Quarantine};
use tier::{Options, Tier};

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
            cache: SharedCache::new(settings)?,
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
    /// With `cache.redis`.
    pub(super) tier: Option<SecondTier>,
}

/// The second tier, and the socket through which processes reach it.
pub(super) struct SecondTier {
    pub(super) tier: Arc<Tier>,
    pub(super) intake: OwnedFd,
}

impl SharedCache {
    /// `None` for no bytes. On the thread that lives as long as the server.
    pub(super) fn new(settings: &Settings) -> io::Result<Option<SharedCache>> {
        let bytes = settings.cache.size;
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
        let redis = settings.cache.redis.as_ref();
        let tier = redis.map(|redis| second_tier(cache, redis)).transpose()?;
        Ok(Some(SharedCache { fd, cache, tier }))
    }

    /// What each process of the server gets of it.
    pub(super) fn fds(&self) -> io::Result<Vec<OwnedFd>> {
        let intake = self.tier.as_ref().map(|tier| &tier.intake);
        [Some(&self.fd), intake]
            .into_iter()
            .flatten()
            .map(OwnedFd::try_clone)
            .collect()
    }

    pub(super) fn figures(&self) -> BTreeMap<String, u64> {
        let figures = self.cache.stats().figures();
        figures
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

fn second_tier(cache: &'static Cache, redis: &RedisSettings) -> io::Result<SecondTier> {
    let (inside, intake) = cache_link::intake()?;
    let options = Options {
        url: redis.url.clone(),
        prefix: redis.prefix.clone(),
        timeout: redis.timeout,
    };
    let tier = Tier::start(cache, options, inside)
        .map_err(|error| io::Error::other(format!("cache.redis: {error}")))?;
    Ok(SecondTier { tier, intake })
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
