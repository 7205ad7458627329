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

/// Memory that all workers share.
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

/// The table of budgets, and its descriptor for zygotes.
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

/// The cache of all workers, and its descriptor for zygotes.
pub(super) struct SharedCache {
    pub(super) fd: OwnedFd,
    pub(super) cache: &'static Cache,
    /// Present with `cache.redis`.
    pub(super) tier: Option<SecondTier>,
}

/// The second tier, and the socket through which processes reach it.
pub(super) struct SecondTier {
    pub(super) tier: Arc<Tier>,
    pub(super) connector: OwnedFd,
}

impl SharedCache {
    /// Creates the cache; `None` if its size is 0. Called on a thread that lives as long as the server.
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
        // By this, scripts that use the cache notice the end of the server.
        cache.serve();
        let redis = settings.cache.redis.as_ref();
        let tier = redis.map(|redis| second_tier(cache, redis)).transpose()?;
        Ok(Some(SharedCache { fd, cache, tier }))
    }

    /// Copies the descriptors that each process of the server gets.
    pub(super) fn fds(&self) -> io::Result<Vec<OwnedFd>> {
        let connector = self.tier.as_ref().map(|tier| &tier.connector);
        [Some(&self.fd), connector]
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
    let (listener, connector) = cache_link::listener()?;
    let options = Options {
        url: redis.url.clone(),
        prefix: redis.prefix.clone(),
        timeout: redis.timeout,
    };
    let tier = Tier::start(cache, options, listener)
        .map_err(|error| io::Error::other(format!("cache.redis: {error}")))?;
    Ok(SecondTier { tier, connector })
}

/// The table of requests that have killed workers, and its descriptor for workers.
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
