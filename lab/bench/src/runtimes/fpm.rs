//! nginx with php-fpm: nginx holds the connections, a static pool of processes runs the requests.

use super::{
    About, Form, Found, Launch, Manner, Runtime, START, Server, Tools, Tuning, setting, version_of,
};
use crate::nginx::{self, Common};
use crate::problem::Result;
use crate::process::Process;
use crate::request_count::{Counter, NGINX_STATUS};
use crate::run_dir::{RunDir, free_port};
use report::{Role, Setting};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug)]
pub(super) struct Fpm;

impl Runtime for Fpm {
    fn about(&self) -> About {
        About {
            id: "fpm",
            name: "nginx, php-fpm",
            form: Form::Classic,
            manner: Manner::OneAtATime,
        }
    }

    fn find(&self, tools: &Tools) -> Found {
        let how = "apt install nginx-light php-fpm (the services need not run)";
        let Some(nginx) = tools.program("nginx", &["nginx"]) else {
            return Found::missing("no nginx", how);
        };
        let Some(fpm) = fpm(tools) else {
            return Found::missing("no php-fpm", how);
        };
        let versions = [version_of(&nginx, &["-v"]), version_of(&fpm, &["-v"])];
        Found::Here {
            version: versions
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", "),
            path: fpm,
        }
    }

    fn start(
        &self,
        program: &Path,
        tools: &Tools,
        launch: &Launch,
        dir: &RunDir,
    ) -> Result<Server> {
        let own = dir.fresh(&launch.name)?;
        let (fpm, settings) = start_pool(program, launch, &own, dir)?;
        let port = free_port()?;
        let text = nginx_configuration(&own, launch, port, dir);
        let front = nginx::start(&text, &own, tools, dir)?;
        let base = format!("{}://127.0.0.1:{port}", super::apache::scheme(launch));
        let mut server = Server {
            base: base.clone(),
            processes: vec![(Role::Server, fpm), (Role::Proxy, front)],
            settings,
            counter: Some(Counter::Nginx(base)),
        };
        server.await_answer(self.entry())?;
        Ok(server)
    }
}

/// Starts the processes of php-fpm.
fn start_pool(
    program: &Path,
    launch: &Launch,
    own: &Path,
    dir: &RunDir,
) -> Result<(Process, Vec<Setting>)> {
    let (text, settings) = pool(own, launch);
    let file = own.join("fpm.conf");
    dir.write(&file, &text)?;
    let mut command = launch.command(program, dir)?;
    command
        .args(["--nodaemonize", "--force-stderr", "--fpm-config"])
        .arg(file);
    let mut fpm = Process::start("php-fpm", command, &own.join("fpm.log"), &dir.guard)?
        .ended_by(Signal::QUIT);
    fpm.until(START, |process| {
        process
            .log()
            .contains("ready to handle connections")
            .then_some(())
    })?;
    Ok((fpm, settings))
}

/// Returns the newest php-fpm: Debian names the program after its version.
fn fpm(tools: &Tools) -> Option<PathBuf> {
    if let Some(given) = tools.program("fpm", &["php-fpm"]) {
        return Some(given);
    }
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/sbin")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("php-fpm"))
        })
        .collect();
    found.sort();
    found.pop()
}

fn pool(own: &Path, launch: &Launch) -> (String, Vec<Setting>) {
    let own = own.display();
    let (manager, children) = match launch.tuning {
        // The values of Debian's www.conf.
        Tuning::AsSeed => ("pm = dynamic\npm.max_children = 5\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3".to_owned(), 5),
        Tuning::Fair => (format!("pm = static\npm.max_children = {}", launch.workers), launch.workers),
    };
    let environment: String = launch
        .environment
        .iter()
        .map(|(name, value)| format!("env[{name}] = \"{value}\"\n"))
        .collect();
    let text = format!(
        "[global]\ndaemonize = no\nerror_log = {own}/error.log\n[www]\nlisten = {own}/fpm.sock\nlisten.mode = 0666\nlisten.backlog = 4096\n\
         {manager}\ncatch_workers_output = yes\n{environment}"
    );
    let first = manager
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("pm = ")
        .to_owned();
    (
        text,
        vec![
            setting("pm", first),
            setting("pm.max_children", children),
            setting("fastcgi_keep_conn", "off"),
        ],
    )
}

fn nginx_configuration(own: &Path, launch: &Launch, port: u16, dir: &RunDir) -> String {
    let Common { main, http } = Common::of(own, dir);
    let (own, root, script) = (own.display(), launch.app.display(), launch.front_script());
    let missing = if launch.front_controller {
        format!("/{script}$is_args$args")
    } else {
        "=404".to_owned()
    };
    let tls = launch.tls.as_ref().map_or_else(String::new, |file| {
        let file = file.display();
        format!(
            "ssl_certificate {file}; ssl_certificate_key {file}; ssl_session_cache shared:tls:1m;"
        )
    });
    let listen = if launch.tls.is_some() { " ssl" } else { "" };
    let gzip = if launch.compress {
        "gzip on; gzip_types application/json text/plain text/html; gzip_min_length 1; gzip_comp_level 6;"
    } else {
        ""
    };
    format!(
        "{main}http {{\naccess_log off; client_max_body_size 64m; {http}\
         include /etc/nginx/mime.types; {gzip}\n\
         server {{\nlisten 127.0.0.1:{port}{listen} backlog=4096; {tls} root {root}; index index.php index.html app.php;\n\
         location = {NGINX_STATUS} {{ stub_status; }}\n\
         location / {{ try_files $uri $uri/ {missing}; }}\n\
         location ~ \\.php$ {{ include /etc/nginx/fastcgi_params; fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n\
         fastcgi_param HTTP_HOST $http_host; fastcgi_buffers 64 16k; fastcgi_buffer_size 32k; fastcgi_pass unix:{own}/fpm.sock; }}\n}}\n}}\n"
    )
}
