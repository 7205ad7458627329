//! The cell that another is compared with, and whether that comparison is allowed.

use crate::{Cell, Scenario};
use std::collections::BTreeSet;

impl Cell {
    /// Returns why the rate of this cell may not be compared with that of `base`; none if it may.
    #[must_use]
    pub fn unlike(&self, base: &Self) -> Option<String> {
        let deliberate = self.runtime == base.runtime && self.variant != base.variant;
        if self.connections != base.connections {
            return Some(format!(
                "{} and {} connections",
                base.connections, self.connections
            ));
        }
        if self.keep_alive != base.keep_alive && !deliberate {
            return Some("one keeps connections, the other does not".to_owned());
        }
        if self.is_open() != base.is_open() {
            return Some(
                "one has requests come at a rate of their own, the other as answers do".to_owned(),
            );
        }
        if self.column != base.column {
            return Some("one is configured as in the write-up, the other as advised".to_owned());
        }
        [base, self]
            .into_iter()
            .find(|cell| cell.failing())
            .map(|cell| {
                let (failed, all) = cell.failures();
                format!(
                    "{} of {} requests failed on {}",
                    measure::text::count(failed),
                    measure::text::count(all),
                    cell.runtime
                )
            })
    }
}

impl Scenario {
    /// Returns whether the cells compare ways of doing something on each runtime, rather than runtimes: then most
    /// runtimes have several variants.
    #[must_use]
    pub(crate) fn compares_variants(&self) -> bool {
        let tried = self.cells.iter().filter(|cell| cell.status.was_tried());
        let runtimes: BTreeSet<&str> = tried.map(|cell| cell.runtime.as_str()).collect();
        let varied = runtimes.iter().filter(|runtime| {
            let mut own = self.cells.iter().filter(|cell| cell.runtime == **runtime);
            own.clone()
                .any(|cell| own.any(|other| cell.is_variant_of(other)))
        });
        varied.count() * 2 > runtimes.len()
    }

    /// Returns the cell that `cell` is compared with: in a sweep the same server's smallest number, else the same
    /// runtime's first variant, else the first runtime with the same variant and load. None for the reference itself.
    #[must_use]
    pub(crate) fn base_of(&self, cell: &Cell) -> Option<&Cell> {
        let variants = self.compares_variants();
        let own = |other: &Cell| other.runtime == cell.runtime && other.column == cell.column;
        let beside = |other: &Cell| {
            other.column == cell.column
                && other.x == cell.x
                && other.variant == cell.variant
                && other.connections == cell.connections
        };
        let mut figures = self.cells.iter().filter(|other| other.has_figures());
        let base = if self.axis.is_some() {
            figures
                .filter(|other| own(other) && other.variant == cell.variant)
                .min_by(|a, b| a.x.unwrap_or(0.0).total_cmp(&b.x.unwrap_or(0.0)))
        } else if variants {
            let wanted = |other: &Cell| {
                let against = cell.against.as_ref();
                against.is_none_or(|variant| *variant == other.variant)
            };
            figures.find(|other| own(other) && other.x == cell.x && wanted(other))
        } else {
            // A server that is measured twice is compared with its first cell.
            let first = figures.clone().find(|other| beside(other));
            let alone =
                first.is_none_or(|first| first.key() == cell.key()) && !cell.variant.is_empty();
            if alone {
                figures.find(|other| own(other))
            } else {
                first
            }
        }?;
        (base.key() != cell.key()).then_some(base)
    }
}

impl Cell {
    fn is_variant_of(&self, other: &Self) -> bool {
        self.runtime == other.runtime
            && self.variant != other.variant
            && self.x == other.x
            && self.column == other.column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Repeat;

    fn cell(runtime: &str, variant: &str) -> Cell {
        let mut repeat = Repeat::default();
        repeat.load.counts.good = 10;
        Cell {
            runtime: runtime.to_owned(),
            variant: variant.to_owned(),
            repeats: vec![repeat],
            ..Cell::default()
        }
    }

    fn bases(cells: &[(&str, &str)]) -> Vec<Option<String>> {
        let scenario = Scenario {
            cells: cells
                .iter()
                .map(|(runtime, variant)| cell(runtime, variant))
                .collect(),
            ..Scenario::default()
        };
        let name = |base: &Cell| {
            format!("{} {}", base.runtime, base.variant)
                .trim()
                .to_owned()
        };
        scenario
            .cells
            .iter()
            .map(|cell| scenario.base_of(cell).map(name))
            .collect()
    }

    #[test]
    fn servers_are_compared_with_the_first_and_one_taken_twice_with_itself() {
        let found = bases(&[
            ("hearth", ""),
            ("apache", ""),
            ("fpm", ""),
            ("hearth", "again"),
        ]);
        let hearth = Some("hearth".to_owned());
        assert_eq!(found, [None, hearth.clone(), hearth.clone(), hearth]);
    }

    #[test]
    fn variants_are_compared_with_the_same_servers_first() {
        let found = bases(&[
            ("hearth", "pdo"),
            ("hearth", "builder"),
            ("fpm", "pdo"),
            ("fpm", "builder"),
            ("gin", "pdo"),
        ]);
        let of = |name: &str| Some(name.to_owned());
        assert_eq!(found, [None, of("hearth pdo"), None, of("fpm pdo"), None]);
    }

    #[test]
    fn a_variant_may_name_the_one_that_it_is_compared_with() {
        let mut cells = ["1 off", "1 on", "2 off", "2 on"].map(|variant| cell("hearth", variant));
        cells[2].against = Some("2 off".to_owned());
        cells[3].against = Some("2 off".to_owned());
        let scenario = Scenario {
            cells: cells.to_vec(),
            ..Scenario::default()
        };
        let bases = scenario.cells.iter().map(|cell| scenario.base_of(cell));
        let names: Vec<_> = bases
            .map(|base| base.map(|base| base.variant.as_str()))
            .collect();
        assert_eq!(names, [None, Some("1 off"), None, Some("2 off")]);
    }
}
