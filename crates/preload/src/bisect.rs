//! Finds the files of a list that break the start of PHP, by starting it with parts of the list.

/// Returns the numbers below `count` that must go so that `boots` succeeds with the rest. `None` if it fails even without
/// any file, or if more than `most` would have to go.
///
/// Each is the last file of the shortest prefix of the list that fails. So of two files that do not work together, the later
/// one goes.
pub fn culprits(
    count: usize,
    most: usize,
    mut boots: impl FnMut(&[usize]) -> bool,
) -> Option<Vec<usize>> {
    let mut kept: Vec<usize> = (0..count).collect();
    let mut gone = Vec::new();
    while !boots(&kept) {
        if gone.len() == most || !boots(&[]) {
            return None;
        }
        // The first `good` files boot, the first `bad` do not.
        let (mut good, mut bad) = (0, kept.len());
        while bad - good > 1 {
            let middle = usize::midpoint(good, bad);
            match boots(&kept[..middle]) {
                true => good = middle,
                false => bad = middle,
            }
        }
        gone.push(kept.remove(good));
    }
    gone.sort_unstable();
    Some(gone)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_that_never_boots_has_no_culprits() {
        assert_eq!(culprits(8, 8, |_| false), None);
        assert_eq!(culprits(8, 1, |part| part.len() < 4), None);
    }

    proptest! {
        #[test]
        fn all_that_break_are_found_and_nothing_else(count in 1_usize..200, broken in prop::collection::btree_set(0_usize..200, 0..6)) {
            let broken: Vec<usize> = broken.into_iter().filter(|number| *number < count).collect();
            let found = culprits(count, 10, |part| !part.iter().any(|number| broken.contains(number)));
            prop_assert_eq!(found, Some(broken));
        }

        #[test]
        fn of_a_pair_the_later_goes(count in 2_usize..100, a in 0_usize..100, b in 0_usize..100) {
            let (a, b) = (a % count, b % count);
            prop_assume!(a != b);
            let found = culprits(count, 10, |part| !(part.contains(&a) && part.contains(&b)));
            prop_assert_eq!(found, Some(vec![a.max(b)]));
        }
    }
}
