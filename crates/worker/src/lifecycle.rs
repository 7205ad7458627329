//! Lifecycle of a worker: the probe of a new worker, recycling, graceful drain.

pub(crate) mod drain;
pub(crate) mod probe;
pub(crate) mod recycle;
