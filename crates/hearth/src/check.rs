//! `hearth check`: what the app's code shows, and which options fit it.

pub(crate) mod recommend;
pub(crate) mod scan;
