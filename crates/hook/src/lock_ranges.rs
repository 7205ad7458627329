//! The byte ranges of one file that this process has locked, each with the descriptor that locked it.
//!
//! Closing a descriptor unlocks what it has locked, and no more: the kernel cannot do that for us, because all locks of the
//! process on a file belong to one descriptor of ours.

use libc::c_int;

/// A range of bytes; `end` is its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    span: Span,
    locked_by: c_int,
}

/// Disjoint ranges, sorted. Neighbours that one descriptor has locked are one range.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Vec<Held>);

impl Ranges {
    /// Adds a range that `locked_by` has locked, whatever had locked it before.
    #[inline]
    pub(crate) fn add(&mut self, span: Span, locked_by: c_int) {
        self.remove(span);
        let mut index = self.first_from(span.start);
        self.0.insert(index, Held { span, locked_by });
        if index > 0 && self.joins_next(index - 1) {
            index -= 1;
            self.join_next(index);
        }
        if self.joins_next(index) {
            self.join_next(index);
        }
    }

    /// Removes a range, whatever has locked it.
    #[inline]
    pub(crate) fn remove(&mut self, Span { start, end }: Span) {
        let first = self.first_from(start);
        let next = self.0.partition_point(|held| held.span.start <= end);
        if first >= next {
            return;
        }
        let (mut before, mut after) = (self.0[first], self.0[next - 1]);
        let has_before = before.span.start < start;
        let has_after = after.span.end > end;
        if !has_before && !has_after {
            self.0.drain(first..next);
            return;
        }
        // The last byte has no successor, and the first one no predecessor; neither is used then.
        before.span.end = start.wrapping_sub(1);
        after.span.start = end.wrapping_add(1);
        let rest = has_before.then_some(before).into_iter();
        let rest = rest.chain(has_after.then_some(after));
        self.0.splice(first..next, rest);
    }

    /// Removes what `locked_by` has locked. Returns the ranges.
    pub(crate) fn take(&mut self, locked_by: c_int) -> Vec<Span> {
        let all = std::mem::take(&mut self.0);
        let (taken, left) = all
            .into_iter()
            .partition(|held: &Held| held.locked_by == locked_by);
        self.0 = left;
        taken.into_iter().map(|held| held.span).collect()
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        self.0.iter().map(|held| held.span)
    }

    /// The index of the first range that does not end before `start`.
    #[inline]
    fn first_from(&self, start: i64) -> usize {
        self.0.partition_point(|held| held.span.end < start)
    }

    #[inline]
    fn joins_next(&self, index: usize) -> bool {
        let (Some(one), Some(next)) = (self.0.get(index), self.0.get(index + 1)) else {
            return false;
        };
        one.locked_by == next.locked_by && one.span.end + 1 == next.span.start
    }

    fn join_next(&mut self, index: usize) {
        self.0[index].span.end = self.0[index + 1].span.end;
        self.0.remove(index + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As many bytes as the model has; the last one stands for the end of all files.
    const BYTES: i64 = 24;

    fn byte(index: i64) -> i64 {
        if index == BYTES - 1 { i64::MAX } else { index }
    }

    /// Which descriptor has locked each byte.
    type Model = [Option<c_int>; BYTES as usize];

    #[derive(Debug, Clone)]
    enum Step {
        Add(i64, i64, c_int),
        Remove(i64, i64),
        Take(c_int),
    }

    fn step() -> impl Strategy<Value = Step> {
        let ends = || (0..BYTES, 0..BYTES).prop_map(|(a, b)| (a.min(b), a.max(b)));
        prop_oneof![
            4 => (ends(), 3..6_i32).prop_map(|((from, to), fd)| Step::Add(from, to, fd)),
            3 => ends().prop_map(|(from, to)| Step::Remove(from, to)),
            1 => (3..6_i32).prop_map(Step::Take),
        ]
    }

    fn span(from: i64, to: i64) -> Span {
        Span {
            start: byte(from),
            end: byte(to),
        }
    }

    fn apply(step: &Step, ranges: &mut Ranges, model: &mut Model) {
        let mut set = |from: i64, to: i64, owner| {
            (from..=to).for_each(|index| model[usize::try_from(index).unwrap()] = owner);
        };
        match *step {
            Step::Add(from, to, fd) => {
                set(from, to, Some(fd));
                ranges.add(span(from, to), fd);
            }
            Step::Remove(from, to) => {
                set(from, to, None);
                ranges.remove(span(from, to));
            }
            Step::Take(fd) => {
                let taken = ranges.take(fd);
                let is_taken = |at: i64| taken.iter().any(|one| one.start <= at && at <= one.end);
                for (index, owner) in (0..).zip(model.iter_mut()) {
                    assert_eq!(*owner == Some(fd), is_taken(byte(index)), "byte {index}");
                    owner.take_if(|owner| *owner == fd);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_ranges_are_those_of_a_table_of_bytes(steps in prop::collection::vec(step(), 1..40)) {
            let (mut ranges, mut model) = (Ranges::default(), Model::default());
            for step in steps {
                apply(&step, &mut ranges, &mut model);
                for (index, owner) in (0..).zip(model) {
                    let at = byte(index);
                    let found = ranges.0.iter().find(|held| held.span.start <= at && at <= held.span.end);
                    prop_assert_eq!(found.map(|held| held.locked_by), owner, "byte {}", index);
                }
                for pair in ranges.0.windows(2) {
                    prop_assert!(pair[0].span.end < pair[1].span.start, "sorted: {:?}", ranges);
                }
                prop_assert!((0..ranges.0.len()).all(|index| !ranges.joins_next(index)), "joined: {:?}", ranges);
            }
        }
    }
}
