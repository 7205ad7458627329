//! Several keys of the shared cache at once, as C code asks for them.

use std::cell::RefCell;

use cache::{Cache, Refused, Stored, Write};
use cache_link::Placed;
use php_sys::{self as sys, hearth_cache_found, hearth_cache_mark, hearth_cache_write, hearth_str};

use crate::cache::{KEPT_BUFFER, lists_of, mark_for_c, outcome, with_tiers, write_of};

/// What was read last: bytes, then marks.
#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    marks: Vec<hearth_cache_mark>,
}

thread_local! {
    static READ: RefCell<Buffers> = RefCell::default();
}

/// `out` is as long as `keys`. What stands there lives until the next call.
pub(crate) fn read(keys: &[&[u8]], out: &mut [hearth_cache_found]) -> i32 {
    with_tiers(|cache| {
        // Not borrowed while it waits: other tasks read too.
        let mut buffers = READ.take();
        if buffers.bytes.capacity() > KEPT_BUFFER {
            buffers = Buffers::default();
        }
        let placed = cache.read_many(keys, &mut buffers.bytes);
        READ.with_borrow_mut(|place| {
            *place = buffers;
            place.give(&placed?, out);
            Ok(true)
        })
    })
}

impl Buffers {
    fn give(&mut self, placed: &[Option<Placed>], out: &mut [hearth_cache_found]) {
        self.marks.clear();
        for (found, _) in placed.iter().flatten() {
            self.marks.extend(found.marks.iter().map(mark_for_c));
        }
        let mut marks = &self.marks[..];
        for (placed, out) in placed.iter().zip(out) {
            let Some((found, range)) = placed else {
                out.form = sys::HEARTH_CACHE_NOTHING;
                continue;
            };
            let own;
            (own, marks) = marks.split_at(found.marks.len());
            *out = hearth_cache_found {
                bytes: hearth_str::new(&self.bytes[range.clone()]),
                marks: own.as_ptr(),
                mark_count: own.len(),
                form: found.form as i32,
                number: found.int,
                expires: found.expires,
                stale: found.stale,
            };
        }
    }
}

/// What became of each. If one of them can never be written, none is.
///
/// # Safety
/// As `lists_of` and `write_of`, of each.
pub(crate) unsafe fn write(writes: &[hearth_cache_write], outcomes: &mut [i32]) {
    // SAFETY: the caller's promise is that of `with_all`.
    let whole = with_tiers(|cache| unsafe {
        with_all(writes, |writes| {
            if let Some((at, why)) = mistake(cache.memory(), writes) {
                outcomes.fill(sys::HEARTH_CACHE_NO);
                outcomes[at] = outcome(Err(why));
                return;
            }
            for (place, stored) in outcomes.iter_mut().zip(cache.write_many(writes)) {
                *place = outcome(stored.map(|stored| stored == Stored::Yes));
            }
        });
        Ok(true)
    });
    if whole != sys::HEARTH_CACHE_YES {
        outcomes.fill(whole);
    }
}

fn mistake(cache: &Cache, writes: &[Write<'_>]) -> Option<(usize, Refused)> {
    let refused = |write| cache.check(write).err();
    writes
        .iter()
        .enumerate()
        .find_map(|(at, write)| refused(write).map(|why| (at, why)))
}

/// # Safety
/// As `lists_of` and `write_of`, of each.
unsafe fn with_all<T>(writes: &[hearth_cache_write], f: impl FnOnce(&[Write<'_>]) -> T) -> T {
    // SAFETY: the caller's promise is that of both.
    let lists_of = |write| unsafe { lists_of(write) };
    let lists: Vec<_> = writes.iter().map(lists_of).collect();
    let both = writes.iter().zip(&lists);
    // SAFETY: as above.
    let writes: Vec<_> = both
        .map(|(write, lists)| unsafe { write_of(write, lists) })
        .collect();
    f(&writes)
}

pub(crate) fn delete(keys: &[&[u8]], deleted: &mut usize) -> i32 {
    with_tiers(|cache| {
        *deleted = cache.delete_many(keys)?;
        Ok(true)
    })
}
