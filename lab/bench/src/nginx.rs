//! A private nginx: the program, the common part of its configurations, and its start.

use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::run_dir::RunDir;
use crate::runtimes::Tools;
use std::path::Path;

/// Settings outside of any block, and the paths of temporary files for the `http` block; all below `own`.
pub(crate) struct Common {
    pub(crate) main: String,
    pub(crate) http: String,
}

impl Common {
    pub(crate) fn of(own: &Path, dir: &RunDir) -> Self {
        let (own, processes) = (own.display(), dir.processors.servers.len());
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {own}/{kind};\n"));
        Self {
            main: format!(
                "daemon off; worker_processes {processes}; pid {own}/nginx.pid; error_log {own}/nginx.log;\n\
                 events {{ worker_connections 16384; }}\n"
            ),
            http: format!("keepalive_requests 1000000000;\n{}", folders.concat()),
        }
    }
}

/// Starts nginx with this configuration, with its files in `own`.
pub(crate) fn start(
    configuration: &str,
    own: &Path,
    tools: &Tools,
    dir: &RunDir,
) -> Result<Process> {
    let program = tools
        .program("nginx", &["nginx"])
        .ok_or_else(|| Problem::failed("no nginx (apt install nginx-light)"))?;
    let file = own.join("nginx.conf");
    dir.write(&file, configuration)?;
    let mut command = dir.command(&program);
    command.arg("-c").arg(file).arg("-p").arg(own);
    command.arg("-e").arg(own.join("nginx.log"));
    Process::start("nginx", command, &own.join("nginx.out"), &dir.guard)
}
