//! Claims of the cache: locks, and the right to compute a value.

use std::ffi::c_int;

use cache::{Owner, Space};
use php_sys as sys;

use super::place::with_tiers;
use super::{is_taken, owner};

fn space(number: c_int) -> Space {
    if number == sys::HEARTH_CACHE_COMPUTATION {
        Space::Computation
    } else {
        Space::Lock
    }
}

/// Returns the owner of that name; `None` for an empty name.
fn named(owner: &[u8]) -> Option<Owner> {
    (!owner.is_empty()).then(|| Owner::named(owner))
}

quick_callbacks! {
    fn hearth_on_cache_claim(kind: c_int, name: &[u8], owner_name: &[u8], time: u64, number: &mut u64) -> c_int {
        let owner = named(owner_name).unwrap_or_else(owner);
        with_tiers(|cache| Ok(is_taken(cache.claim(space(kind), name, owner, time)?, number)))
    }

    fn hearth_on_cache_token(kind: c_int, name: &[u8], owner_name: &[u8], number: &mut u64) -> c_int {
        with_tiers(|cache| {
            let token = cache.token(space(kind), name, named(owner_name))?;
            *number = token.unwrap_or_default();
            Ok(token.is_some())
        })
    }

    fn hearth_on_cache_give_back(kind: c_int, name: &[u8], token: u64) -> c_int {
        with_tiers(|cache| cache.give_back(space(kind), name, token))
    }

    fn hearth_on_cache_extend(kind: c_int, name: &[u8], token: u64, time: u64) -> c_int {
        with_tiers(|cache| cache.extend(space(kind), name, token, time))
    }

    fn hearth_on_cache_holds(kind: c_int, name: &[u8], token: u64) -> c_int {
        with_tiers(|cache| cache.holds_claim(space(kind), name, token))
    }

    /// Waits until something happens to a key that another machine computes, or for a moment.
    fn hearth_on_cache_wait(key: &[u8]) -> c_int {
        with_tiers(|cache| cache.wait_for(key).map(|()| true))
    }
}
