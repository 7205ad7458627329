//! A private nginx.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::certificate::certificate;
use super::{Daemon, START, directory, free_port, program};
use crate::server::until;

/// An nginx with one server block on a free port.
#[derive(Debug)]
pub struct Nginx {
    /// The port on 127.0.0.1.
    pub port: u16,
    scheme: &'static str,
    _daemon: Daemon,
}

impl Nginx {
    /// Starts nginx with `locations` in its server block.
    ///
    /// # Panics
    /// If nginx does not listen; with its log.
    pub fn start(locations: &str) -> Self {
        Self::start_in(&directory("nginx", None), "", "http", locations)
    }

    /// Returns the major and minor version of nginx.
    ///
    /// # Panics
    /// If nginx is not installed, or prints no version.
    pub fn version() -> (u32, u32) {
        let output = Command::new("/usr/sbin/nginx")
            .arg("-v")
            .output()
            .expect("nginx starts");
        // "nginx version: nginx/1.22.1"
        let text = String::from_utf8_lossy(&output.stderr);
        let mut numbers = text
            .split_once("nginx/")
            .into_iter()
            .flat_map(|(_, version)| version.split('.'))
            .map_while(|number| number.parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), Some(minor)) => (major, minor),
            _ => panic!("nginx -v says {text:?}"),
        }
    }

    /// Starts nginx with a directory that its unprivileged processes can access: they store long bodies there.
    pub(super) fn start_readable(locations: &str) -> Self {
        Self::start_in(&directory("nginx", super::WEB), "", "http", locations)
    }

    /// Starts nginx with TLS and a self-signed certificate.
    ///
    /// # Panics
    /// As [`Nginx::start`].
    pub fn start_tls(locations: &str) -> Self {
        let place = directory("nginx", None);
        let file = certificate(&place);
        let file = file.display();
        let files = format!("ssl_certificate {file}; ssl_certificate_key {file};");
        Self::start_in(&place, " ssl", "https", &format!("{files} {locations}"))
    }

    fn start_in(place: &Path, listen: &str, scheme: &'static str, locations: &str) -> Self {
        let port = free_port();
        let path = place.display();
        let configuration = format!(
            "daemon off; worker_processes 1; pid {path}/pid; error_log stderr;\n\
             events {{ worker_connections 2048; }}\n\
             http {{ access_log off; client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;\n\
             fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;\n\
             server {{ listen 127.0.0.1:{port}{listen}; {locations} }} }}\n"
        );
        std::fs::write(place.join("nginx.conf"), configuration).expect("a file can be written");
        let mut server = program("/usr/sbin/nginx", None);
        server
            .arg("-c")
            .arg(place.join("nginx.conf"))
            .arg("-p")
            .arg(place);
        let daemon = Daemon::spawn(&mut server, place);
        // nginx prints nothing when it begins to listen.
        let up = until(START, || TcpStream::connect(("127.0.0.1", port)).ok());
        assert!(
            up.is_some(),
            "nginx does not listen:\n{}",
            daemon.log.text()
        );
        Self {
            port,
            scheme,
            _daemon: daemon,
        }
    }

    /// Returns the URL.
    pub fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }
}
