//! Makes a failing run smaller: fewer handlers first, then fewer pieces in each.

use crate::piece;
use crate::run::{Plan, run};

/// What failed by chance may need more than one attempt to fail again.
const ATTEMPTS: usize = 3;

fn fails(plan: &Plan) -> bool {
    (0..ATTEMPTS).any(|_| !run(plan).is_empty())
}

/// Leaves out handlers, in halves, quarters, …
fn fewer_handlers(mut plan: Plan) -> Plan {
    let mut part = plan.handlers.len() / 2;
    while part >= 1 {
        let mut at = 0;
        while at < plan.handlers.len() && plan.handlers.len() > 1 {
            let mut less = plan.clone();
            less.handlers
                .drain(at..(at + part).min(plan.handlers.len()));
            if !less.handlers.is_empty() && fails(&less) {
                plan = less;
                eprintln!("{} handlers", plan.handlers.len());
            } else {
                at += part;
            }
        }
        part /= 2;
    }
    plan
}

fn fewer_pieces(mut plan: Plan) -> Plan {
    for at in 0..plan.handlers.len() {
        while let Some(less) = piece::smaller(&plan.handlers[at])
            .into_iter()
            .map(|handler| {
                let mut less = plan.clone();
                less.handlers[at] = handler;
                less
            })
            .find(fails)
        {
            plan = less;
        }
    }
    plan
}

/// Prints what is left of it.
pub(crate) fn shrink(mut plan: Plan) {
    if let Some(only) = plan.handler.take() {
        plan.handlers = vec![plan.handlers[usize::try_from(only).expect("an index")].clone()];
    }
    plan = fewer_pieces(fewer_handlers(plan));
    for handler in &plan.handlers {
        eprintln!("--- a handler that is left:\n{}", piece::php(handler));
    }
}
