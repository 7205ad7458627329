//! Makes a failing run smaller: fewer handlers first, then fewer pieces in each.

use crate::piece;
use crate::run::{Plan, run};

/// Attempts of each smaller run, because a failure that depends on chance may not occur at once.
const ATTEMPTS: usize = 3;
/// Signs of the findings, the worst first: a smaller run must show the same.
const SIGNS: [&str; 6] = [
    "SIGSEGV",
    "SIGABRT",
    "SIGKILL",
    "CHAOS ",
    "got no answer",
    "",
];

struct Shrinking {
    plan: Plan,
    sign: &'static str,
}

impl Shrinking {
    /// Keeps the smaller plan if it shows the same sign.
    fn try_instead(&mut self, less: Plan) -> bool {
        let sign = self.sign;
        let shows = |found: &[String]| found.iter().any(|line| line.contains(sign));
        if !(0..ATTEMPTS).any(|_| shows(&run(&less))) {
            return false;
        }
        eprintln!("--- {} handlers; the first:", less.handlers.len());
        eprintln!("{}", piece::php(&less.handlers[0]));
        self.plan = less;
        true
    }

    /// Leaves out handlers, in halves, quarters, …
    fn fewer_handlers(&mut self) {
        let mut part = self.plan.handlers.len() / 2;
        while part >= 1 {
            let mut at = 0;
            while at < self.plan.handlers.len() && self.plan.handlers.len() > 1 {
                let mut less = self.plan.clone();
                less.handlers
                    .drain(at..(at + part).min(less.handlers.len()));
                if less.handlers.is_empty() || !self.try_instead(less) {
                    at += part;
                }
            }
            part /= 2;
        }
    }

    /// Leaves out pieces that the failure does not need.
    fn fewer_pieces(&mut self, at: usize) {
        let mut tried = 0;
        loop {
            let Some(handler) = piece::smaller(&self.plan.handlers[at])
                .into_iter()
                .nth(tried)
            else {
                return;
            };
            let mut less = self.plan.clone();
            less.handlers[at] = handler;
            if self.try_instead(less) {
                tried = 0;
            } else {
                tried += 1;
            }
        }
    }
}

/// Prints each smaller run that shows the same sign.
pub(crate) fn shrink(mut plan: Plan, found: &[String]) {
    if let Some(only) = plan.handler.take() {
        plan.handlers = vec![plan.handlers[usize::try_from(only).expect("an index")].clone()];
    }
    let sign = SIGNS
        .into_iter()
        .find(|sign| found.iter().any(|line| line.contains(sign)));
    let sign = sign.expect("the last one is in every line");
    let mut shrinking = Shrinking { plan, sign };
    shrinking.fewer_handlers();
    for at in 0..shrinking.plan.handlers.len() {
        shrinking.fewer_pieces(at);
    }
    for handler in &shrinking.plan.handlers {
        eprintln!("--- a handler that is left:\n{}", piece::php(handler));
    }
}
