//! A self-signed certificate.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run;

/// Creates key and certificate in one file in `place`, which every user can read.
pub(super) fn certificate(place: &Path) -> PathBuf {
    let [key, certificate, both] =
        ["key.pem", "certificate.pem", "both.pem"].map(|name| place.join(name));
    let mut openssl = Command::new("openssl");
    let kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
    openssl
        .arg("req")
        .args(kind)
        .args(["-subj", "/CN=localhost"]);
    run(openssl
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate));
    let read = |path| std::fs::read_to_string(path).expect("openssl has written it");
    std::fs::write(&both, read(&key) + &read(&certificate)).expect("a file can be written");
    std::fs::set_permissions(&both, Permissions::from_mode(0o644)).expect("it is ours");
    both
}
