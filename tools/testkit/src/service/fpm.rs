//! A private php-fpm behind a private nginx, which classic mode replaces.

use std::path::{Path, PathBuf};

use super::{Daemon, Nginx, WEB, directory, program};

/// A php-fpm with a static pool of four and one document root; Debian's `fastcgi_params`, files tried first, `index.php`
/// for the rest.
#[derive(Debug)]
pub struct Fpm {
    nginx: Nginx,
    daemon: Daemon,
}

impl Fpm {
    /// Starts both for `root`, which the user `www-data` must be able to read if this process is root; `ini` are PHP
    /// settings, `more` further lines in nginx's server block.
    ///
    /// # Panics
    /// If one of them does not start; with its log.
    pub fn start(root: &Path, ini: &[(&str, &str)], more: &str) -> Self {
        Self::start_with(root, ini, &[], more)
    }

    /// Starts both with settings of the process, such as `opcache.preload`, which a pool cannot set.
    ///
    /// # Panics
    /// If one of them does not start; with its log.
    pub fn start_with(
        root: &Path,
        ini: &[(&str, &str)],
        process: &[(&str, &str)],
        more: &str,
    ) -> Self {
        Self::launch(WEB, root, ini, process, more)
    }

    /// Starts php-fpm as another user than `www-data`, if this process is root.
    ///
    /// # Panics
    /// If one of them does not start; with its log.
    pub fn start_as(user: &str, root: &Path, ini: &[(&str, &str)]) -> Self {
        Self::launch(Some(user), root, ini, &[], "")
    }

    fn launch(
        user: Option<&str>,
        root: &Path,
        ini: &[(&str, &str)],
        process: &[(&str, &str)],
        more: &str,
    ) -> Self {
        let place = directory("fpm", user);
        let socket = place.join("socket");
        let ini: String = ini
            .iter()
            .map(|(name, value)| format!("php_admin_value[{name}] = {value}\n"))
            .collect();
        let configuration = format!(
            "[global]\ndaemonize = no\nerror_log = {}/log\n[www]\nlisten = {}\nlisten.mode = 0666\npm = static\n\
             pm.max_children = 4\ncatch_workers_output = yes\n{ini}",
            place.display(),
            socket.display()
        );
        std::fs::write(place.join("fpm.conf"), configuration).expect("a file can be written");
        let mut server = program(fpm(), user);
        server
            .args(["--nodaemonize", "--force-stderr", "--fpm-config"])
            .arg(place.join("fpm.conf"));
        for (name, value) in process {
            server.arg("-d").arg(format!("{name}={value}"));
        }
        let daemon = Daemon::start(server, &place, "ready to handle connections");
        Self {
            nginx: Nginx::start_readable(&locations(root, &socket, more)),
            daemon,
        }
    }

    /// Returns the log of php-fpm, which contains PHP's messages at its start.
    pub fn log_text(&self) -> String {
        self.daemon.log.text()
    }

    /// Returns the address of the nginx in front: `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.nginx.port)
    }
}

/// Returns nginx's locations. Debian's parameters set `HTTP_HOST` without its port since 2026, which breaks every site on
/// a non-standard port.
fn locations(root: &Path, socket: &Path, more: &str) -> String {
    format!(
        "root {}; index index.php index.html; client_max_body_size 0; types {{ text/css css; image/png png; image/jpeg jpg; \
         text/html html; application/javascript js; }} {more}\n\
         location / {{ try_files $uri $uri/ /index.php?$args; }}\n\
         location ~ [^/]\\.php(/|$) {{ fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $fastcgi_script_name =404;\n\
         set $path_info $fastcgi_path_info; include /etc/nginx/fastcgi_params; fastcgi_param PATH_INFO $path_info;\n\
         fastcgi_param HTTP_HOST $http_host;\n\
         fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name; fastcgi_pass unix:{}; }}",
        root.display(),
        socket.display()
    )
}

/// Returns the newest php-fpm: Debian names the program after its version.
fn fpm() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/sbin")
        .expect("/usr/sbin can be read")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("php-fpm8"))
        })
        .collect();
    found.sort();
    found.pop().expect("php-fpm is installed")
}
