//! Connection budgets: how many connections the workers of this server may have to one database, all together.
//!
//! Counted in this process so far: with one worker the limit is exact, with several it is per worker.

use std::cell::RefCell;

thread_local! {
    static BUDGETS: RefCell<Vec<(i64, i64)>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn open(total: i64) -> i64 {
    BUDGETS.with_borrow_mut(|budgets| {
        budgets.push((total, 0));
        i64::try_from(budgets.len()).unwrap_or(i64::MAX) - 1
    })
}

pub(crate) fn acquire(handle: i64, n: i64) -> bool {
    BUDGETS.with_borrow_mut(|budgets| {
        let Some((total, used)) = usize::try_from(handle).ok().and_then(|handle| budgets.get_mut(handle)) else { return false };
        let fits = *used + n <= *total;
        if fits {
            *used += n;
        }
        fits
    })
}

pub(crate) fn release(handle: i64, n: i64) {
    BUDGETS.with_borrow_mut(|budgets| {
        if let Some((_, used)) = usize::try_from(handle).ok().and_then(|handle| budgets.get_mut(handle)) {
            *used = (*used - n).max(0);
        }
    });
}
