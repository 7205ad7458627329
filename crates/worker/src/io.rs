//! Descriptors and waits of PHP code on the runtime.

pub(crate) mod descriptors;
pub(crate) mod waiter;
