//! The shared cache as C code asks for it: bytes in, bytes out.

use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;

use cache::{
    Cache, Claim, Condition, Counter, Form, Found, Mark, Owner, Refused, Space, Stored, Write,
};
use cache_link::{Client, Tiered, Waiting};
use php_sys::{
    self as sys, hearth_cache_entry, hearth_cache_figure, hearth_cache_found, hearth_cache_mark,
    hearth_cache_write, hearth_str,
};

use crate::wait::{HookBypass, is_unwinding};

/// Of a script whose app has no server.
const OWN_SIZE: u64 = 64 * 1024 * 1024;
/// How often a script without a server looks whether there is one now, in microseconds.
const LOOK_AGAIN: u64 = 1_000_000;
/// What was read last may be larger than that; its memory is then given back by the next read.
pub(crate) const KEPT_BUFFER: usize = 1 << 20;
/// Hits are counted in the process first; this number of them is one addition in shared memory.
const HITS: u64 = 64;

/// Finds the cache of the server of a script's app, and the intake to its second tier.
pub type FindCache = Box<dyn Fn() -> Option<(Cache, Option<OwnedFd>)>>;

/// The cache as this process has it.
pub(crate) struct Store {
    cache: Cache,
    /// Asks the second tier.
    client: Option<Client>,
}

impl Store {
    fn new(cache: Cache, intake: Option<OwnedFd>) -> &'static Store {
        let client = intake.map(|intake| Client::new(intake, WAITING));
        Box::leak(Box::new(Store { cache, client }))
    }
}

/// The calls that wait for an answer are made as PHP's own: another task may run meanwhile.
const WAITING: Waiting = Waiting {
    around: |call| {
        let _let_wait = HookBypass::leave();
        call();
    },
    is_over: is_unwinding,
};

#[derive(Clone, Copy)]
enum Place {
    /// A script has not used one yet.
    Unset,
    None,
    /// The server's own: it lives as long as this process.
    There(&'static Store),
    /// A server's that may end before this process does.
    Lent(&'static Store),
    /// This process's own, until a server is there; when that was looked for last.
    Own(&'static Store, u64),
}

thread_local! {
    /// What C code goes through now.
    static LISTED: RefCell<Vec<cache::Entry>> = const { RefCell::new(Vec::new()) };
    static PLACE: Cell<Place> = const { Cell::new(Place::Unset) };
    static FIND: RefCell<Option<FindCache>> = const { RefCell::new(None) };
    static HITS_HERE: Cell<u64> = const { Cell::new(0) };
    /// Operations that are under way: one that asks the second tier may be left meanwhile.
    static UNDER_WAY: Cell<u32> = const { Cell::new(0) };
    /// What was read last: C code decodes it at once.
    static READ: RefCell<(Vec<u8>, Vec<hearth_cache_mark>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Use the cache that all workers of the server share, or none.
pub fn set_cache(cache: Option<Cache>, intake: Option<OwnedFd>) {
    let place = cache.map_or(Place::None, |cache| Place::There(Store::new(cache, intake)));
    PLACE.set(place);
}

/// How much memory the decoded values of this process may take.
pub fn limit_cache_copies(bytes: u64) {
    // SAFETY: writes one number of the C side.
    unsafe { sys::hearth_cache_copies_limit(usize::try_from(bytes).unwrap_or(usize::MAX)) }
}

/// In a script: where the cache is found when it is first used, and again when its server has ended.
pub fn find_cache_with(find: FindCache) {
    FIND.with_borrow_mut(|place| *place = Some(find));
}

/// The cache of the app's server. It connects to that, which no task may do in place of this one.
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

/// A cache that is used no more. Where another task is in the middle of an operation, its memory stays.
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
        Place::Own(store, looked) if store.cache.now() < looked + LOOK_AGAIN => Some(store),
        other => look(other),
    }
}

/// A script's cache: its server's if there is one, else its own.
#[cold]
fn look(before: Place) -> Option<&'static Store> {
    let place = match (lent(), before) {
        (Some((found, intake)), _) => Place::Lent(Store::new(found, intake)),
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

/// For a look without the lock: `None` where the place has to be looked for first.
#[inline]
fn at_hand() -> Option<&'static Cache> {
    match PLACE.get() {
        Place::There(store) => Some(&store.cache),
        Place::Lent(store) if store.cache.is_served() => Some(&store.cache),
        Place::Own(store, looked) if store.cache.now() < looked + LOOK_AGAIN => Some(&store.cache),
        _ => None,
    }
}

fn count_hits(cache: &Cache) {
    let hits = HITS_HERE.take();
    if hits > 0 {
        cache.count(Counter::Hits, hits);
    }
}

pub(crate) fn outcome(result: Result<bool, Refused>) -> i32 {
    match result {
        Ok(true) => sys::HEARTH_CACHE_YES,
        Ok(false) => sys::HEARTH_CACHE_NO,
        Err(Refused::TooLarge { .. }) => sys::HEARTH_CACHE_TOO_LARGE,
        Err(Refused::Full) => sys::HEARTH_CACHE_FULL,
        Err(Refused::Stuck) => sys::HEARTH_CACHE_STUCK,
        Err(Refused::NotInt) => sys::HEARTH_CACHE_NOT_INT,
        Err(Refused::Overflow) => sys::HEARTH_CACHE_OVERFLOW,
        Err(Refused::Key) => sys::HEARTH_CACHE_BAD_KEY,
        Err(Refused::NotHeld) => sys::HEARTH_CACHE_NOT_HELD,
        Err(Refused::Away) => sys::HEARTH_CACHE_AWAY,
        Err(Refused::Denied) => sys::HEARTH_CACHE_DENIED,
    }
}

pub(crate) fn with(f: impl FnOnce(&Cache) -> Result<bool, Refused>) -> i32 {
    cache().map_or(sys::HEARTH_CACHE_NONE, |cache| {
        count_hits(cache);
        outcome(f(cache))
    })
}

/// An operation that may ask the second tier, and then wait.
pub(crate) fn with_tiers(f: impl FnOnce(Tiered<'_>) -> Result<bool, Refused>) -> i32 {
    store().map_or(sys::HEARTH_CACHE_NONE, |store| {
        count_hits(&store.cache);
        UNDER_WAY.set(UNDER_WAY.get() + 1);
        let result = f(Tiered::new(&store.cache, store.client.as_ref()));
        UNDER_WAY.set(UNDER_WAY.get() - 1);
        outcome(result)
    })
}

fn mark(mark: &hearth_cache_mark) -> Mark {
    Mark {
        stamp: mark.stamp,
        cell: mark.cell,
    }
}

pub(crate) fn mark_for_c(mark: &Mark) -> hearth_cache_mark {
    hearth_cache_mark {
        stamp: mark.stamp,
        cell: mark.cell,
    }
}

/// The fast path of every get: one look at each stamp, no lock.
#[inline]
pub(crate) fn is_current(marks: &[hearth_cache_mark], expires: u64) -> bool {
    let Some(cache) = at_hand() else {
        return false;
    };
    if !cache.are_current(marks.iter().map(mark), expires) {
        return false;
    }
    let hits = HITS_HERE.get() + 1;
    HITS_HERE.set(hits);
    if hits >= HITS {
        count_hits(cache);
    }
    true
}

pub(crate) fn read(key: &[u8]) -> (i32, Option<hearth_cache_found>) {
    let mut found = None;
    let outcome = with_tiers(|cache| {
        // Not borrowed while it waits: other tasks read too.
        let mut buffer = READ.with_borrow_mut(|(bytes, _)| std::mem::take(bytes));
        if buffer.capacity() > KEPT_BUFFER {
            buffer = Vec::new();
        }
        let read = cache.read(key, &mut buffer);
        READ.with_borrow_mut(|(bytes, marks)| {
            *bytes = buffer;
            found = read?.map(|read| found_for_c(&read, bytes, marks));
            Ok(found.is_some())
        })
    });
    (outcome, found)
}

fn found_for_c(
    found: &Found,
    bytes: &[u8],
    marks: &mut Vec<hearth_cache_mark>,
) -> hearth_cache_found {
    marks.clear();
    marks.extend(found.marks.iter().map(mark_for_c));
    hearth_cache_found {
        bytes: hearth_str::new(bytes),
        marks: marks.as_ptr(),
        mark_count: marks.len(),
        form: found.form as i32,
        number: found.int,
        expires: found.expires,
        stale: found.stale,
    }
}

fn form(number: i32) -> Form {
    match number {
        sys::HEARTH_CACHE_INT => Form::Int,
        sys::HEARTH_CACHE_PLAIN => Form::Plain,
        _ => Form::Serialized,
    }
}

/// Tags and marks of a write, as Rust has them.
pub(crate) type Lists<'a> = (Vec<&'a [u8]>, Vec<Mark>);

/// # Safety
/// Pointers and lengths of both lists must be valid for `'a`; an absent list has no length.
pub(crate) unsafe fn lists_of<'a>(write: &hearth_cache_write) -> Lists<'a> {
    // SAFETY: the caller vouches for them.
    let tags = unsafe { names(write.tags, write.tag_count) };
    // SAFETY: as above.
    let marks = unsafe { items(write.marks, write.mark_count) };
    (tags, marks.iter().map(mark).collect())
}

/// # Safety
/// The bytes of key, value and what is expected must be valid for `'a`.
pub(crate) unsafe fn write_of<'a>(write: &hearth_cache_write, lists: &'a Lists<'a>) -> Write<'a> {
    // SAFETY: the caller vouches for the bytes of each.
    let bytes_of = |text: hearth_str| unsafe { text.bytes() };
    let expected = bytes_of(write.expected);
    let condition = match write.condition {
        sys::HEARTH_CACHE_IF_ABSENT => Condition::Absent,
        sys::HEARTH_CACHE_IF_EQUAL => {
            Condition::Equals(form(write.expected_form), write.expected_number, expected)
        }
        sys::HEARTH_CACHE_IF_CLAIMED => Condition::Claimed(write.token),
        _ => Condition::Always,
    };
    Write {
        key: bytes_of(write.key),
        form: form(write.form),
        int: write.number,
        bytes: bytes_of(write.bytes),
        ttl: write.ttl,
        fresh: write.fresh,
        tags: &lists.0,
        marks: &lists.1,
        condition,
    }
}

/// # Safety
/// Pointers and lengths in `write` must be valid during the call.
unsafe fn with_write<T>(write: &hearth_cache_write, f: impl FnOnce(&Write<'_>) -> T) -> T {
    // SAFETY: the caller's promise is that of both.
    let lists = unsafe { lists_of(write) };
    // SAFETY: as above.
    f(&unsafe { write_of(write, &lists) })
}

/// # Safety
/// `count` of them must be there, initialised and valid for `'a`; an absent list is empty.
unsafe fn items<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() {
        return &[];
    }
    // SAFETY: there are `count` of them, valid for `'a`, as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// # Safety
/// As [`items`], and the bytes of each too.
pub(crate) unsafe fn names<'a>(first: *const hearth_str, count: usize) -> Vec<&'a [u8]> {
    // SAFETY: the caller's promise is that of `items`.
    let names = unsafe { items(first, count) };
    // SAFETY: the bytes of each are valid for `'a`, as the caller promises.
    names.iter().map(|name| unsafe { name.bytes() }).collect()
}

/// # Safety
/// As [`with_write`].
pub(crate) unsafe fn write(what: &hearth_cache_write) -> i32 {
    // SAFETY: the caller's promise is that of `with_write`.
    with_tiers(|cache| unsafe { with_write(what, |write| Ok(cache.write(write)? == Stored::Yes)) })
}

/// # Safety
/// As [`with_write`].
pub(crate) unsafe fn increment(what: &hearth_cache_write, sum: &mut i64) -> i32 {
    with_tiers(|cache| {
        // SAFETY: the caller's promise is that of `with_write`.
        *sum = unsafe { with_write(what, |write| cache.increment(write.int, write)) }?;
        Ok(true)
    })
}

pub(crate) fn delete(key: &[u8]) -> i32 {
    with_tiers(|cache| cache.delete(key))
}

pub(crate) fn delete_tag(tag: &[u8]) -> i32 {
    with_tiers(|cache| cache.delete_tag(tag))
}

pub(crate) fn clear() -> i32 {
    with_tiers(|cache| cache.clear().map(|()| true))
}

pub(crate) fn tags(names: &[&[u8]], out: &mut [hearth_cache_mark]) -> i32 {
    with_tiers(|cache| {
        let marks = cache.tags(names)?;
        for (place, mark) in out.iter_mut().zip(&marks) {
            *place = mark_for_c(mark);
        }
        Ok(true)
    })
}

fn space(number: i32) -> Space {
    if number == sys::HEARTH_CACHE_COMPUTATION {
        Space::Computation
    } else {
        Space::Lock
    }
}

pub(crate) fn owner() -> Owner {
    // SAFETY: reads a number of the task that runs.
    let task = unsafe { sys::hearth_current_task_id() };
    Owner::here(task as u32)
}

/// `name_of_owner` is empty for the task that runs.
pub(crate) fn claim(
    kind: i32,
    name: &[u8],
    name_of_owner: &[u8],
    time: u64,
    number: &mut u64,
) -> i32 {
    let owner = match name_of_owner {
        [] => owner(),
        name => Owner::named(name),
    };
    with_tiers(|cache| match cache.claim(space(kind), name, owner, time)? {
        Claim::Taken(token) => {
            *number = token;
            Ok(true)
        }
        Claim::Held(holder) => {
            *number = u64::from(holder.process) << 32 | u64::from(holder.task);
            Ok(false)
        }
    })
}

/// Of the holder with that name, or of any for no name.
pub(crate) fn token(kind: i32, name: &[u8], name_of_owner: &[u8], number: &mut u64) -> i32 {
    let owner = (!name_of_owner.is_empty()).then(|| Owner::named(name_of_owner));
    with_tiers(|cache| {
        let token = cache.token(space(kind), name, owner)?;
        *number = token.unwrap_or_default();
        Ok(token.is_some())
    })
}

pub(crate) fn give_back(kind: i32, name: &[u8], token: u64) -> i32 {
    with_tiers(|cache| cache.give_back(space(kind), name, token))
}

pub(crate) fn extend(kind: i32, name: &[u8], token: u64, time: u64) -> i32 {
    with_tiers(|cache| cache.extend(space(kind), name, token, time))
}

pub(crate) fn holds(kind: i32, name: &[u8], token: u64) -> i32 {
    with_tiers(|cache| cache.holds_claim(space(kind), name, token))
}

/// Until something happens to a key that another machine computes.
pub(crate) fn wait_for(key: &[u8]) -> i32 {
    with_tiers(|cache| cache.wait_for(key).map(|()| true))
}

pub(crate) fn count(event: i32) {
    let counter = if event == sys::HEARTH_CACHE_COMPUTED {
        Counter::Computed
    } else {
        Counter::Spared
    };
    if let Some(cache) = cache() {
        cache.count(counter, 1);
    }
}

pub(crate) fn now() -> u64 {
    cache().map_or(0, Cache::now)
}

pub(crate) fn largest() -> usize {
    cache().map_or(0, Cache::largest)
}

pub(crate) fn list(prefix: &[u8]) -> usize {
    let entries = cache().and_then(|cache| cache.largest_entries(usize::MAX).ok());
    let mut entries = entries.unwrap_or_default();
    entries.retain(|entry| entry.key.starts_with(prefix));
    let count = entries.len();
    LISTED.set(entries);
    count
}

pub(crate) fn listed(at: usize) -> hearth_cache_entry {
    LISTED.with_borrow(|entries| {
        let entry = entries.get(at);
        hearth_cache_entry {
            key: hearth_str::new(entry.map_or(&[], |entry| &entry.key)),
            size: entry.map_or(0, |entry| entry.size as u64),
            reads: entry.map_or(0, |entry| entry.reads),
            left: entry.and_then(|entry| entry.left).unwrap_or_default(),
        }
    })
}

pub(crate) fn stats(out: &mut [hearth_cache_figure]) -> usize {
    let Some(cache) = cache() else { return 0 };
    count_hits(cache);
    let figures = cache.stats().figures();
    for (place, (name, value)) in out.iter_mut().zip(figures) {
        *place = hearth_cache_figure {
            name: hearth_str::new(name.as_bytes()),
            value,
        };
    }
    figures.len().min(out.len())
}
