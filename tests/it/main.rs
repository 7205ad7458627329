//! Black-box tests of the programs, by what a user sees. Each starts the real `hearth` on a free port and checks
//! afterwards that it left nothing behind (`testkit::Server`).
#![forbid(unsafe_code)]

mod boot;
mod classic;
mod classic_site;
mod concurrency;
mod deploy;
mod examples;
mod faults;
mod frameworks;
mod front;
mod guides;
mod hooks;
mod http;
mod input;
mod isolation;
mod lifecycle;
mod load;
mod locks;
mod opcache;
mod parity;
mod pool_hangups;
mod pool_load;
mod pools;
mod processes;
mod profiler;
mod programs;
mod request_end;
mod run;
mod services;
mod shared_connections;
mod sites;
mod sites_guide;
mod spin;
mod spread;
mod state;
mod state_check;
mod superglobals;
mod supervision;
mod support;
mod two_tasks;
mod uploads;
mod user_ini;
mod visitor;
