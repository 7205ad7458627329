//! Readings of `/proc` for the load generator and the benchmark.
//!
//! All figures are best effort: a missing file means a missing figure, never a failed run.

use std::fs;

/// Returns the text of a file; empty if it cannot be read.
#[must_use]
pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Returns the numbers among the names in a folder.
#[must_use]
pub fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the fields of a `stat` line after the command's name: 0 is the state, 1 the parent, 3 the session.
#[must_use]
pub fn stat_fields(text: &str) -> Vec<&str> {
    text.rsplit_once(") ")
        .map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect())
}

/// Processor time of the whole machine so far, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    total: f64,
    idle: f64,
    stolen: f64,
}

/// Shares of the machine's processor time between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Share used by any process.
    pub busy: f64,
    /// Share stolen by the hypervisor.
    pub stolen: f64,
}

impl Machine {
    /// Reads the processor time from `/proc/stat`.
    #[must_use]
    pub fn now() -> Self {
        Self::of(&read("/proc/stat"))
    }

    fn of(text: &str) -> Self {
        let words = text.lines().next().unwrap_or("").split_whitespace();
        let fields: Vec<f64> = words
            .skip(1)
            .take(8)
            .filter_map(|word| word.parse().ok())
            .collect();
        if fields.len() < 8 {
            return Self::default();
        }
        Self {
            total: fields.iter().sum(),
            idle: fields[3] + fields[4],
            stolen: fields[7],
        }
    }

    /// Returns the shares of the time since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Shares {
        let total = self.total - before.total;
        if total <= 0.0 {
            return Shares::default();
        }
        let idle = (self.idle - before.idle).max(0.0) / total;
        let stolen = (self.stolen - before.stolen).max(0.0) / total;
        Shares {
            busy: (1.0 - idle - stolen).clamp(0.0, 1.0),
            stolen: stolen.min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_blanks_and_parentheses_is_parsed() {
        let stat = "12 (a) b (c) S 7 1 1 0 -1 4 1 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(stat_fields(stat)[1], "7");
    }

    #[test]
    fn the_machine_is_readable() {
        let machine = Machine::now();
        assert!(machine.total > machine.idle, "{machine:?}");
    }

    #[test]
    fn shares_are_those_of_the_time_between() {
        let before = Machine::of("cpu  100 0 100 700 100 0 0 0 0 0\n");
        let after = Machine::of("cpu  120 0 110 740 110 0 0 20 0 0\n");
        let shares = after.since(&before);
        assert!((shares.busy - 0.3).abs() < 1e-9, "{shares:?}");
        assert!((shares.stolen - 0.2).abs() < 1e-9, "{shares:?}");
        assert_eq!(after.since(&after), Shares::default());
    }
}
