//! Nothing: the tests in `it/` are this package, and cargo wants a target that is not one.
#![forbid(unsafe_code)]
