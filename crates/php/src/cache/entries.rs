//! The cache's entries, figures and clock, for C code.

use std::cell::RefCell;
use std::ffi::c_int;

use cache::{Cache, Counter, Entry};
use php_sys::{self as sys, hearth_cache_entry, hearth_cache_figure, hearth_str};

use super::cache;
use super::place::count_hits;

thread_local! {
    /// The entries that C code is iterating over.
    static LISTED: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

fn entry_for_c(entry: &Entry) -> hearth_cache_entry {
    hearth_cache_entry {
        key: hearth_str::new(&entry.key),
        size: entry.size as u64,
        reads: entry.reads,
        left: entry.left.unwrap_or_default(),
    }
}

quick_callbacks! {
    fn hearth_on_cache_count(event: c_int) {
        let counter = if event == sys::HEARTH_CACHE_COMPUTED { Counter::Computed } else { Counter::Coalesced };
        if let Some(cache) = cache() {
            cache.count(counter, 1);
        }
    }

    fn hearth_on_cache_now() -> u64 {
        cache().map_or(0, Cache::now)
    }

    fn hearth_on_cache_largest() -> usize {
        cache().map_or(0, Cache::largest)
    }

    fn hearth_on_cache_list(prefix: &[u8]) -> usize {
        let entries = cache().and_then(|cache| cache.largest_entries(usize::MAX).ok());
        let mut entries = entries.unwrap_or_default();
        entries.retain(|entry| entry.key.starts_with(prefix));
        LISTED.with_borrow_mut(|listed| {
            *listed = entries;
            listed.len()
        })
    }

    fn hearth_on_cache_listed(at: usize) -> hearth_cache_entry {
        LISTED.with_borrow(|entries| entry_for_c(&entries[at]))
    }

    fn hearth_on_cache_stats(out: *mut hearth_cache_figure, capacity: usize) -> usize {
        // SAFETY: C passes zeroed room for `capacity` figures.
        let out = unsafe { std::slice::from_raw_parts_mut(out, capacity) };
        let Some(cache) = cache() else { return 0 };
        count_hits(cache);
        let figures = cache.stats().figures();
        for (place, (name, value)) in out.iter_mut().zip(figures) {
            *place = hearth_cache_figure { name: hearth_str::new(name.as_bytes()), value };
        }
        figures.len().min(out.len())
    }
}
