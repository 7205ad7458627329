//! Apache with mod_php: prefork, one process per open connection.

use super::{
    About, Form, Found, Launch, Manner, Runtime, Server, Tools, Tuning, setting, version_of,
};
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::run_dir::{RunDir, free_port};
use report::{Role, Setting};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub(super) struct Apache;

/// The folders in which distributions keep the modules.
const MODULES: [&str; 3] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
];

impl Runtime for Apache {
    fn about(&self) -> About {
        About {
            id: "apache",
            name: "Apache, mod_php",
            form: Form::Classic,
            manner: Manner::OneAtATime,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = "apt install apache2 libapache2-mod-php (the service need not run)";
        let Some(path) = tools.program("apache", &["apache2", "httpd"]) else {
            return Found::missing("no apache2 or httpd", how);
        };
        match modules() {
            Ok(_) => Found::Here {
                version: version_of(&path, &["-v"]).unwrap_or_default(),
                path,
            },
            Err(why) => Found::missing(why, how),
        }
    }

    fn start(&self, program: &Path, _: &Tools, launch: &Launch, dir: &RunDir) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let port = free_port()?;
        let (folder, php) = modules().map_err(Problem::Failed)?;
        let slots = Slots::of(launch);
        let text = configuration(&own, launch, port, &folder, &php, &slots);
        dir.write(&own.join("apache.conf"), &text)?;
        let mut command = launch.command(program, dir)?;
        command
            .args(["-D", "FOREGROUND", "-f"])
            .arg(own.join("apache.conf"));
        let process = Process::start(self.name(), command, &own.join("log"), &dir.guard)?
            .ended_by(Signal::KILL);
        let mut server = Server {
            base: format!("{}://127.0.0.1:{port}", scheme(launch)),
            processes: vec![(Role::Server, process)],
            settings: slots.settings(),
            counter: None,
        };
        server
            .await_answer(self.entry())
            .map_err(|problem| with_error_log(problem, &own))?;
        Ok(server)
    }
}

pub(super) fn scheme(launch: &Launch) -> &'static str {
    if launch.tls.is_some() {
        "https"
    } else {
        "http"
    }
}

fn with_error_log(problem: Problem, own: &Path) -> Problem {
    let log = std::fs::read_to_string(own.join("error.log")).unwrap_or_default();
    let last = log.lines().next_back().unwrap_or_default();
    match problem {
        Problem::Failed(why) => Problem::Failed(format!("{why}\n{last}").trim_end().to_owned()),
        other => other,
    }
}

/// Returns the folder of the modules, and PHP's module.
fn modules() -> std::result::Result<(PathBuf, PathBuf), String> {
    let folder = MODULES
        .iter()
        .map(PathBuf::from)
        .find(|folder| folder.join("mod_mpm_prefork.so").exists());
    let folder = folder.ok_or("no mod_mpm_prefork.so")?;
    let mut php: Vec<PathBuf> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libphp"))
        })
        .collect();
    php.sort();
    let php = php
        .pop()
        .ok_or_else(|| format!("no libphp in {}", folder.display()))?;
    Ok((folder, php))
}

/// The settings that decide how many connections Apache serves, and how long each is kept.
#[derive(Debug)]
struct Slots {
    start: u32,
    spare: (u32, u32),
    most: u32,
    requests_per_connection: u32,
    keep_alive_timeout: u32,
}

impl Slots {
    fn of(launch: &Launch) -> Self {
        match launch.tuning {
            // The values of Debian's mpm_prefork.conf and apache2.conf.
            Tuning::AsSeed => Self {
                start: 5,
                spare: (5, 10),
                most: 150,
                requests_per_connection: 100,
                keep_alive_timeout: 5,
            },
            // A process for every connection, started before the load.
            Tuning::Fair => {
                let slots = launch.connections + 8;
                Self {
                    start: slots,
                    spare: (1, slots),
                    most: slots,
                    requests_per_connection: 0,
                    keep_alive_timeout: 5,
                }
            }
        }
    }

    fn settings(&self) -> Vec<Setting> {
        vec![
            setting("MPM", "prefork"),
            setting("StartServers", self.start),
            setting("MaxRequestWorkers", self.most),
            setting("KeepAliveTimeout", self.keep_alive_timeout),
            setting("MaxKeepAliveRequests", self.requests_per_connection),
        ]
    }
}

fn configuration(
    own: &Path,
    launch: &Launch,
    port: u16,
    modules: &Path,
    php: &Path,
    slots: &Slots,
) -> String {
    let (own, root, folder) = (own.display(), launch.app.display(), modules.display());
    let Slots {
        start,
        spare: (least, most_spare),
        most,
        requests_per_connection,
        keep_alive_timeout,
    } = slots;
    let mut text = format!(
        "ServerRoot {own}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {own}/pid\nMutex file:{own}\n\
         DefaultRuntimeDir {own}\nErrorLog {own}/error.log\nListenBacklog 4096\n\
         LoadModule mpm_prefork_module {folder}/mod_mpm_prefork.so\nLoadModule authz_core_module {folder}/mod_authz_core.so\n\
         LoadModule dir_module {folder}/mod_dir.so\nLoadModule mime_module {folder}/mod_mime.so\n\
         LoadModule php_module {}\n\
         StartServers {start}\nMinSpareServers {least}\nMaxSpareServers {most_spare}\nServerLimit {most}\nMaxRequestWorkers {most}\n\
         KeepAlive On\nKeepAliveTimeout {keep_alive_timeout}\nMaxKeepAliveRequests {requests_per_connection}\n\
         TypesConfig /etc/mime.types\nDirectoryIndex index.php index.html app.php\nDocumentRoot {root}\n\
         <FilesMatch \"\\.php$\">\nSetHandler application/x-httpd-php\n</FilesMatch>\n\
         <Directory {root}>\nOptions FollowSymLinks\nAllowOverride None\nRequire all granted\n</Directory>\n",
        php.display()
    );
    if launch.front_controller {
        text += &format!("FallbackResource /{}\n", launch.front_script());
    }
    if launch.compress {
        text += &format!(
            "LoadModule filter_module {folder}/mod_filter.so\nLoadModule deflate_module {folder}/mod_deflate.so\nSetOutputFilter DEFLATE\n"
        );
    }
    if let Some(certificate) = &launch.tls {
        text += &format!(
            "LoadModule socache_shmcb_module {folder}/mod_socache_shmcb.so\nLoadModule ssl_module {folder}/mod_ssl.so\nSSLEngine on\n\
             SSLSessionCache shmcb:{own}/tls(512000)\nSSLCertificateFile {}\n",
            certificate.display()
        );
    }
    text
}

impl Launch {
    /// Returns the script that gets requests for paths without a file: the scenario's, or a site's `index.php`.
    pub(super) fn front_script(&self) -> &'static str {
        if self.app.join("app.php").exists() {
            "app.php"
        } else {
            "index.php"
        }
    }
}
