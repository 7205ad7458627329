//! Pauses before something that keeps dying is started again.

use std::time::Duration;

/// A process that lived shorter than this died quickly.
const QUICK: Duration = Duration::from_secs(1);
/// A process that lived longer than this was healthy.
const HEALTHY: Duration = Duration::from_secs(10);
/// The number of quick deaths without a pause.
const FREE: u32 = 3;
const FIRST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(5);

/// The deaths of one slot.
#[derive(Debug, Default, Clone)]
pub(crate) struct Backoff {
    quick: u32,
}

impl Backoff {
    /// Returns the pause after a death. A process that has served a request does not suggest that the next will die quickly.
    pub(crate) fn after(&mut self, life: Duration, has_served: bool) -> Duration {
        if has_served || life >= HEALTHY {
            self.quick = 0;
        } else if life < QUICK {
            self.quick += 1;
        }
        match self.quick.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(n) => (FIRST * 2u32.pow(n.min(10))).min(MOST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quick_deaths_are_free_then_it_doubles_to_a_limit_and_health_resets() {
        let mut backoff = Backoff::default();
        let quick = Duration::from_millis(10);
        let waits: Vec<u128> = (0..12)
            .map(|_| backoff.after(quick, false).as_millis())
            .collect();
        assert_eq!(
            waits,
            [0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]
        );
        assert_eq!(
            backoff.after(Duration::from_secs(5), false).as_millis(),
            5000
        );
        assert_eq!(
            backoff.after(Duration::from_secs(11), false),
            Duration::ZERO
        );
        assert_eq!(backoff.after(quick, false), Duration::ZERO);
    }

    #[test]
    fn what_has_served_is_replaced_at_once_however_often() {
        let mut backoff = Backoff::default();
        let quick = Duration::from_millis(10);
        for _ in 0..6 {
            backoff.after(quick, false);
        }
        for _ in 0..100 {
            assert_eq!(backoff.after(quick, true), Duration::ZERO);
        }
        assert_eq!(backoff.after(quick, false), Duration::ZERO);
    }
}
