//! Black-box tests of the programs, by what a user sees. Each starts the real `hearth` on a free port and checks
//! afterwards that it left nothing behind (`testkit::Server`).
#![forbid(unsafe_code)]

mod services;
