//! nginx between the load and a server, as many sites have it.

use crate::nginx::{self, Common};
use crate::problem::Result;
use crate::request_count::{Counter, NGINX_STATUS};
use crate::run_dir::{RunDir, free_port};
use crate::runtimes::{Server, Tools, setting};
use crate::scenarios::Proxy;
use report::Role;
use std::path::Path;

/// Starts nginx before the server, whose address then is nginx's.
pub(crate) fn put_before(
    server: &mut Server,
    proxy: Proxy,
    entry: &str,
    tools: &Tools,
    dir: &RunDir,
) -> Result<()> {
    let own = dir.fresh("proxy")?;
    let port = free_port()?;
    let text = configuration(server, proxy, port, &own, dir);
    let front = nginx::start(&text, &own, tools, dir)?;
    server.processes.push((Role::Proxy, front));
    server.base = format!("http://127.0.0.1:{port}");
    server.counter = Some(Counter::Nginx(server.base.clone()));
    server.settings.push(setting(
        "access_log",
        if proxy.access_log { "on" } else { "off" },
    ));
    server.settings.push(setting(
        "upstream keepalive",
        if proxy.keep_alive { "64" } else { "off" },
    ));
    server.await_answer(entry)
}

fn configuration(server: &Server, proxy: Proxy, port: u16, own: &Path, dir: &RunDir) -> String {
    let upstream = server.base.trim_start_matches("http://");
    let log = if proxy.access_log {
        format!("access_log {}/access.log;", own.display())
    } else {
        "access_log off;".to_owned()
    };
    let (kept, headers) = if proxy.keep_alive {
        (
            "keepalive 64; keepalive_requests 1000000000;",
            "proxy_http_version 1.1; proxy_set_header Connection \"\";",
        )
    } else {
        ("", "")
    };
    let Common { main, http } = Common::of(own, dir);
    format!(
        "{main}http {{\n{log} {http}\
         upstream app {{ server {upstream}; {kept} }}\n\
         server {{ listen 127.0.0.1:{port} backlog=4096; location = {NGINX_STATUS} {{ stub_status; }} location / {{ proxy_pass http://app; {headers} proxy_set_header Host $http_host; }} }}\n}}\n"
    )
}
