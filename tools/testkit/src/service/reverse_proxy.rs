//! A private reverse proxy with TLS, configured as the documentation shows, and a tunnel to it for clients that use plain
//! HTTP.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::certificate::certificate;
use super::{Daemon, START, WEB, directory, free_port, program};
use crate::server::until;

/// The program of a reverse proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// nginx.
    Nginx,
    /// HAProxy.
    HaProxy,
    /// Apache with the event MPM.
    Apache,
    /// Caddy.
    Caddy,
}

/// A reverse proxy for the site shop.example.
#[derive(Debug)]
pub struct ReverseProxy {
    /// The port on 127.0.0.1.
    pub port: u16,
    tunnel: u16,
    _daemons: [Daemon; 2],
}

impl ReverseProxy {
    /// Starts the proxy with an example of the documentation, in which port 443, the certificate and the backend are
    /// replaced by those of this test. `backend` is `127.0.0.1:PORT`, or `unix:PATH` if the program supports it.
    ///
    /// # Panics
    /// If the proxy does not listen; with its log.
    pub fn start(front: Front, example: &str, backend: &str) -> Self {
        let place = directory("proxy", WEB);
        let port = free_port();
        let pem = certificate(&place);
        let example = example
            .replace("127.0.0.1:8080", backend)
            .replace("/etc/ssl/shop.pem", &pem.display().to_string());
        let file = place.join("configuration");
        std::fs::write(&file, front.configuration(&example, &place, port))
            .expect("a file can be written");
        let daemon = listening(&mut front.command(&file, &place), &place, port);
        let tunnel = free_port();
        Self {
            port,
            tunnel,
            _daemons: [daemon, start_tunnel(tunnel, port)],
        }
    }

    /// Returns the address of the tunnel, for plain HTTP; the tunnel forwards to the proxy over TLS, from the address
    /// 127.0.0.2.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.tunnel)
    }
}

fn listening(command: &mut Command, place: &Path, port: u16) -> Daemon {
    let daemon = Daemon::spawn(command, place);
    let up = until(START, || TcpStream::connect(("127.0.0.1", port)).ok());
    let log = daemon.log.text();
    assert!(up.is_some(), "{command:?} does not listen:\n{log}");
    daemon
}

fn start_tunnel(from: u16, to: u16) -> Daemon {
    let place = directory("tunnel", None);
    let file = place.join("configuration");
    let configuration = format!(
        "defaults\n mode tcp\n timeout connect 10s\n timeout client 60s\n timeout server 60s\n\
         listen tunnel\n bind 127.0.0.1:{from}\n\
         server proxy 127.0.0.1:{to} source 127.0.0.2 ssl verify none sni str(shop.example)\n"
    );
    std::fs::write(&file, configuration).expect("a file can be written");
    listening(&mut Front::HaProxy.command(&file, &place), &place, from)
}

impl Front {
    /// Returns the example within the surrounding lines of Debian's own configuration, without its paths and users.
    fn configuration(self, example: &str, place: &Path, port: u16) -> String {
        let place = place.display();
        let here = format!("127.0.0.1:{port}");
        match self {
            Front::Nginx => format!(
                "user www-data; daemon off; worker_processes 1; pid {place}/pid; error_log stderr;\n\
                 events {{ worker_connections 512; }}\n\
                 http {{ access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;\n\
                 fastcgi_temp_path {place}/fastcgi; uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;\n\
                 {}\n}}\n",
                example.replace("listen 443", &format!("listen {here}"))
            ),
            Front::HaProxy => example.replace("bind :443", &format!("bind {here}")) + "\n",
            Front::Apache => apache(&place, &here, &example.replace("*:443", &here)),
            Front::Caddy => format!(
                "{{\nadmin off\nhttps_port {port}\nauto_https disable_redirects\nstorage file_system {place}/caddy\n}}\n{}",
                example.replace("shop.example {", &format!(":{port} {{"))
            ),
        }
    }

    fn command(self, file: &Path, place: &Path) -> Command {
        let mut command = match self {
            Front::Nginx => program("/usr/sbin/nginx", None),
            Front::HaProxy => program("/usr/sbin/haproxy", None),
            Front::Apache => program("/usr/sbin/apache2", WEB),
            Front::Caddy => program("/usr/bin/caddy", None),
        };
        match self {
            Front::Nginx => command.arg("-p").arg(place).arg("-c"),
            Front::HaProxy => command.args(["-db", "-f"]),
            Front::Apache => command.args(["-D", "FOREGROUND", "-f"]),
            Front::Caddy => command.args(["run", "--adapter", "caddyfile", "--config"]),
        };
        command.arg(file).env("HOME", place);
        command
    }
}

fn apache(place: &impl std::fmt::Display, here: &str, example: &str) -> String {
    let modules = [
        "mpm_event",
        "authz_core",
        "socache_shmcb",
        "ssl",
        "headers",
        "proxy",
        "proxy_http",
    ];
    let include = |name| format!("Include /etc/apache2/mods-available/{name}.load\n");
    let modules: String = modules.into_iter().map(include).collect();
    format!(
        "ServerRoot {place}\nServerName localhost\nListen {here}\nPidFile {place}/pid\nMutex file:{place}\n\
         DefaultRuntimeDir {place}\nErrorLog {place}/error.log\n{modules}{example}\n"
    )
}
