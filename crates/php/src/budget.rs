//! Connection budgets for PHP: PHP code holds numbers as handles, and this process is the holder in shared memory.

use std::cell::RefCell;

use shm::{Budgets, Holder};

thread_local! {
    static TABLE: RefCell<Option<(Budgets, Option<Holder>)>> = const { RefCell::new(None) };
}

/// Sets the table that all workers of the server share. A process without one makes a table of its own.
pub fn set_budgets(table: Budgets) {
    TABLE.set(Some((table, None)));
}

/// Forgets the holder after a fork, so that this process acquires as itself and not as its sibling.
pub(crate) fn forget_holder() {
    TABLE.with_borrow_mut(|table| {
        if let Some((_, holder)) = table {
            *holder = None;
        }
    });
}

fn with<T>(otherwise: T, f: impl FnOnce(&Budgets, Holder) -> T) -> T {
    TABLE.with_borrow_mut(|place| {
        if place.is_none() {
            *place = Budgets::create()
                .and_then(|fd| Budgets::map(&fd))
                .ok()
                .map(|table| (table, None));
        }
        let Some((table, holder)) = place else {
            return otherwise;
        };
        if holder.is_none() {
            *holder = table.claim(std::process::id());
        }
        match *holder {
            Some(holder) => f(table, holder),
            None => otherwise,
        }
    })
}

fn index(handle: i64) -> Option<usize> {
    usize::try_from(handle).ok().filter(|index| *index < 32)
}

/// Returns the handle of a budget; -1 when the table has no room for another name, and then nothing can be acquired.
pub(crate) fn open(name: &[u8], total: i64) -> i64 {
    let total = u64::try_from(total).unwrap_or(0);
    with(None, |table, _| table.open(name, total))
        .and_then(|index| i64::try_from(index).ok())
        .unwrap_or(-1)
}

pub(crate) fn acquire(handle: i64, n: i64) -> bool {
    let (Some(index), Ok(n)) = (index(handle), u64::try_from(n)) else {
        return false;
    };
    with(false, |table, holder| table.acquire(holder, index, n))
}

pub(crate) fn release(handle: i64, n: i64) {
    if let (Some(index), Ok(n)) = (index(handle), u64::try_from(n)) {
        with((), |table, holder| table.release(holder, index, n));
    }
}

pub(crate) fn used(handle: i64) -> i64 {
    index(handle).map_or(0, |index| {
        with(0, |table, _| {
            i64::try_from(table.used(index)).unwrap_or(i64::MAX)
        })
    })
}
