//! Foundations of the black-box tests: the real server, real services, raw HTTP, and a runner for `.phpt` files.
//!
//! Every process started here listens on 127.0.0.1 at a free port or on a private socket, keeps its files in a temporary
//! directory, and ends with the test process, however that ends (see [`guard`]). [`Server`] also checks, when it stops,
//! that the server left nothing behind.
#![forbid(unsafe_code)]

mod binaries;
mod guard;
pub mod http;
mod log;
pub mod phpt;
mod processes;
mod server;
pub mod service;
pub mod state;

pub use binaries::{checkout, hearth, unpacked, unpacked_extension};
pub use log::Log;
pub use processes::{cpu_time, descriptors, in_session};
pub use server::{Server, ServerBuilder, Stopped, kill};

/// Creates a temporary directory that is removed when it is dropped.
///
/// # Panics
/// If the directory cannot be created.
pub fn temporary() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("hearth-it-")
        .tempdir()
        .expect("a temporary directory")
}

/// Creates a temporary directory that web servers running as another user can read and write; it is removed when it is
/// dropped.
///
/// # Panics
/// If the directory cannot be created.
pub fn document_root() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let directory = temporary();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777))
        .expect("the owner may open a directory");
    directory
}
