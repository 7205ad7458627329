//! A private Apache with mod_php, which classic mode replaces.

use std::net::TcpStream;
use std::path::Path;

use super::{Daemon, START, WEB, directory, free_port, program};
use crate::server::until;

/// An Apache with prefork, mod_php and one document root; Debian's own module and handler settings.
#[derive(Debug)]
pub struct Apache {
    /// The port on 127.0.0.1.
    pub port: u16,
    _daemon: Daemon,
}

impl Apache {
    /// Starts Apache for `root`, which the user `www-data` must be able to read if this process is root; `ini` are PHP
    /// settings, `more` further lines in the server's configuration.
    ///
    /// # Panics
    /// If Apache does not listen; with its log.
    pub fn start(root: &Path, ini: &[(&str, &str)], more: &str) -> Self {
        Self::start_with(root, ini, &[], more)
    }

    /// Starts Apache with settings of the process, such as `opcache.preload`, which the server's configuration cannot
    /// set.
    ///
    /// # Panics
    /// If Apache does not listen; with its log.
    pub fn start_with(
        root: &Path,
        ini: &[(&str, &str)],
        process: &[(&str, &str)],
        more: &str,
    ) -> Self {
        let place = directory("apache", WEB);
        let port = free_port();
        let process = process
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\"\n"));
        std::fs::create_dir(place.join("php.d")).expect("a directory can be made");
        std::fs::write(place.join("php.d/test.ini"), process.collect::<String>())
            .expect("a file can be written");
        std::fs::write(
            place.join("apache.conf"),
            configuration(&place, root, port, ini, more),
        )
        .expect("a file can be written");
        let mut server = program("/usr/sbin/apache2", WEB);
        server
            .args(["-D", "FOREGROUND", "-f"])
            .arg(place.join("apache.conf"))
            .env(
                "PHP_INI_SCAN_DIR",
                format!(":{}", place.join("php.d").display()),
            );
        let daemon = Daemon::spawn(&mut server, &place);
        let up = until(START, || TcpStream::connect(("127.0.0.1", port)).ok());
        assert!(
            up.is_some(),
            "Apache does not listen:\n{}\n{}",
            daemon.log.text(),
            std::fs::read_to_string(place.join("error.log")).unwrap_or_default()
        );
        Self {
            port,
            _daemon: daemon,
        }
    }

    /// Returns the address: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn configuration(place: &Path, root: &Path, port: u16, ini: &[(&str, &str)], more: &str) -> String {
    let (place, root) = (place.display(), root.display());
    let ini: String = ini
        .iter()
        .map(|(name, value)| format!("php_admin_value {name} \"{value}\"\n"))
        .collect();
    format!(
        "ServerRoot {place}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {place}/pid\n\
         Mutex file:{place}\nDefaultRuntimeDir {place}\nErrorLog {place}/error.log\n\
         Include /etc/apache2/mods-available/mpm_prefork.load\n\
         Include /etc/apache2/mods-available/authz_core.load\n\
         Include /etc/apache2/mods-available/alias.load\n\
         Include /etc/apache2/mods-available/dir.load\n\
         Include /etc/apache2/mods-available/mime.load\n\
         Include /etc/apache2/mods-available/mime.conf\n\
         Include /etc/apache2/mods-available/php8.*.load\n\
         Include /etc/apache2/mods-available/php8.*.conf\n\
         StartServers 2\nMinSpareServers 1\nMaxSpareServers 4\nMaxRequestWorkers 8\n\
         DirectoryIndex index.php index.html\nDocumentRoot {root}\n\
         <Directory {root}>\nOptions FollowSymLinks\nAllowOverride None\nRequire all granted\n</Directory>\n\
         {ini}{more}\n"
    )
}
