//! From the start of a worker to its end: the probe of a new one, recycling, graceful drain.

pub(crate) mod drain;
pub(crate) mod probe;
pub(crate) mod recycle;
