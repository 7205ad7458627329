//! Waits of PHP code on the runtime, and the descriptors for which it waits.

pub(crate) mod descriptors;
pub(crate) mod reactor;
pub(crate) mod waiter;
