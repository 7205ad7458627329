//! The cache that a process uses: its server's, its own, or none.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;

use cache::{Cache, Counter, Refused};
use cache_link::{Client, Tiered, Waiting};
use php_sys as sys;

use super::outcome;
use crate::wait::{HookBypass, is_unwinding};

/// Bytes of the cache of a script whose app has no server.
const OWN_SIZE: u64 = 64 * 1024 * 1024;
/// Microseconds between two searches for a server by a script without one.
const SEARCH_INTERVAL: u64 = 1_000_000;
/// Hits that are counted in this process before they are added to the counter in shared memory.
const HITS: u64 = 64;

/// Finds the cache of the server of a script's app, and the connector of its second tier.
pub type FindCache = Box<dyn Fn() -> Option<(Cache, Option<OwnedFd>)>>;

/// A cache, and the client of its second tier.
pub(crate) struct Store {
    cache: Cache,
    /// Asks the second tier; `None` without one.
    client: Option<Client>,
}

impl Store {
    fn new(cache: Cache, connector: Option<OwnedFd>) -> &'static Store {
        let client = connector.map(|connector| Client::new(connector, WAITING));
        Box::leak(Box::new(Store { cache, client }))
    }
}

/// Calls that wait for the second tier pass through the hooks as PHP's own do, so another task may run meanwhile.
const WAITING: Waiting = Waiting {
    around: |call| {
        let _let_wait = HookBypass::leave();
        call();
    },
    is_over: is_unwinding,
};

#[derive(Clone, Copy)]
enum Place {
    /// A script that has not used a cache yet.
    Unset,
    None,
    /// The server's own cache, which lives as long as this process.
    There(&'static Store),
    /// The cache of a server that may end before this process does.
    Lent(&'static Store),
    /// This process's own cache, until a server is found; the number is the time of the last search for one.
    Own(&'static Store, u64),
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Unset) };
    static FIND: RefCell<Option<FindCache>> = const { RefCell::new(None) };
    static HITS_HERE: Cell<u64> = const { Cell::new(0) };
    /// Operations under way. One that asks the second tier may be suspended.
    static UNDER_WAY: Cell<u32> = const { Cell::new(0) };
}

/// Sets the cache that all workers of the server share, or none.
pub fn set_cache(cache: Option<Cache>, connector: Option<OwnedFd>) {
    let place = cache.map_or(Place::None, |cache| {
        Place::There(Store::new(cache, connector))
    });
    PLACE.set(place);
}

/// Sets how a script finds its cache: called at the first use, and again when the cache's server has ended.
pub fn find_cache_with(find: FindCache) {
    FIND.with_borrow_mut(|place| *place = Some(find));
}

/// Finds the cache of the app's server. The hooks are bypassed, because no other task may run while it connects.
fn lent() -> Option<(Cache, Option<OwnedFd>)> {
    let _bypass = HookBypass::enter();
    FIND.with_borrow(|find| find.as_ref().and_then(|find| find()))
}

fn own() -> Place {
    let made = Cache::create(OWN_SIZE).and_then(|fd| Cache::map(&fd));
    let Ok(cache) = made else { return Place::None };
    let now = cache.now();
    Place::Own(Store::new(cache, None), now)
}

/// Frees a cache that is no longer used, unless another task is in the middle of an operation on it: then its memory stays.
fn forget(store: &'static Store) {
    if UNDER_WAY.get() > 0 {
        return;
    }
    // SAFETY: it was leaked from a box by this module, and the reference in PLACE, which the caller replaces, was the only one
    // that outlived a call of this module; none is under way.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(store).cast_mut()) });
}

pub(crate) fn cache() -> Option<&'static Cache> {
    store().map(|store| &store.cache)
}

fn store() -> Option<&'static Store> {
    match PLACE.get() {
        Place::There(store) => Some(store),
        Place::None => None,
        Place::Lent(store) if store.cache.is_served() => Some(store),
        Place::Own(store, searched) if store.cache.now() < searched + SEARCH_INTERVAL => {
            Some(store)
        }
        other => find(other),
    }
}

/// Finds a script's cache: the server's if there is one, else its own.
#[cold]
fn find(before: Place) -> Option<&'static Store> {
    let place = match (lent(), before) {
        (Some((found, connector)), _) => Place::Lent(Store::new(found, connector)),
        (None, Place::Own(store, _)) => {
            PLACE.set(Place::Own(store, store.cache.now()));
            return Some(store);
        }
        (None, _) => own(),
    };
    PLACE.set(place);
    if let Place::Lent(store) | Place::Own(store, _) = before {
        HITS_HERE.set(0);
        forget(store);
    }
    match place {
        Place::Lent(store) | Place::Own(store, _) => Some(store),
        _ => None,
    }
}

/// Returns the cache for a check without the lock; `None` if it has to be searched for first.
#[inline]
pub(super) fn at_hand() -> Option<&'static Cache> {
    match PLACE.get() {
        Place::There(store) => Some(&store.cache),
        Place::Lent(store) if store.cache.is_served() => Some(&store.cache),
        Place::Own(store, searched) if store.cache.now() < searched + SEARCH_INTERVAL => {
            Some(&store.cache)
        }
        _ => None,
    }
}

pub(super) fn count_hits(cache: &Cache) {
    let hits = HITS_HERE.take();
    if hits > 0 {
        cache.count(Counter::Hits, hits);
    }
}

/// Counts a value that was read from this process's copies.
#[inline]
pub(super) fn count_hit(cache: &Cache) {
    let hits = HITS_HERE.get() + 1;
    HITS_HERE.set(hits);
    if hits >= HITS {
        count_hits(cache);
    }
}

pub(crate) fn with(f: impl FnOnce(&Cache) -> Result<bool, Refused>) -> i32 {
    cache().map_or(sys::HEARTH_CACHE_NONE, |cache| {
        count_hits(cache);
        outcome(f(cache))
    })
}

/// Runs an operation that may ask the second tier, and wait for the answer.
pub(crate) fn with_tiers(f: impl FnOnce(Tiered<'_>) -> Result<bool, Refused>) -> i32 {
    store().map_or(sys::HEARTH_CACHE_NONE, |store| {
        count_hits(&store.cache);
        UNDER_WAY.set(UNDER_WAY.get() + 1);
        let result = f(Tiered::new(&store.cache, store.client.as_ref()));
        UNDER_WAY.set(UNDER_WAY.get() - 1);
        outcome(result)
    })
}
