//! Finds the highest rate: doubles the connections until more of them no longer help.

use crate::plan::Plan;
use measure::Run;

/// The number of connections at which the search ends.
const MOST: usize = 16_384;

/// Doubles the connections, starting with one, until two steps in a row gain less than 3 %.
///
/// # Errors
/// The first error of `run`.
pub(crate) fn find_max<E>(
    plan: &Plan,
    mut run: impl FnMut(&Plan) -> Result<Run, E>,
) -> Result<(), E> {
    let (mut best, mut flat, mut connections) = (0.0_f64, 0, 1);
    while connections <= MOST && flat < 2 {
        let step = Plan {
            connections,
            ..plan.clone()
        };
        let result = run(&step)?;
        if result.stopped_by == measure::StoppedBy::Interrupt {
            break;
        }
        let rate = result.rates.goodput;
        flat = if rate < best * 1.03 { flat + 1 } else { 0 };
        best = best.max(rate);
        connections *= 2;
    }
    Ok(())
}
