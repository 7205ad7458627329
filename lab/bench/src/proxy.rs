//! nginx between the load and a server, as many sites have it.

use crate::counted::{Counter, NGINX_STATUS};
use crate::place::{Place, free_port};
use crate::problem::{Problem, Result};
use crate::process::Process;
use crate::runtimes::{Server, Tools, setting};
use crate::scenarios::Proxy;
use report::Role;

/// Puts it in front: afterwards the server's address is nginx's.
pub(crate) fn put_before(
    server: &mut Server,
    proxy: Proxy,
    entry: &str,
    tools: &Tools,
    place: &Place,
) -> Result<()> {
    let nginx = tools
        .program("nginx", &["nginx"])
        .ok_or_else(|| Problem::failed("no nginx (apt install nginx-light)"))?;
    let own = place.fresh("proxy")?;
    let port = free_port()?;
    let upstream = server.base.trim_start_matches("http://").to_owned();
    let directory = own.display();
    let log = if proxy.access_log {
        format!("access_log {directory}/access.log;")
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
    let processes = place.processors.servers.len();
    let text = format!(
        "daemon off; worker_processes {processes}; pid {directory}/nginx.pid; error_log {directory}/nginx.log;\n\
         events {{ worker_connections 16384; }}\nhttp {{\n{log} keepalive_requests 1000000000;\n\
         client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;\n\
         uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;\n\
         upstream app {{ server {upstream}; {kept} }}\n\
         server {{ listen 127.0.0.1:{port} backlog=4096; location = {NGINX_STATUS} {{ stub_status; }} location / {{ proxy_pass http://app; {headers} proxy_set_header Host $http_host; }} }}\n}}\n"
    );
    place.write(&own.join("nginx.conf"), &text)?;
    let mut command = place.command(&nginx);
    command
        .arg("-c")
        .arg(own.join("nginx.conf"))
        .arg("-p")
        .arg(&own)
        .arg("-e")
        .arg(own.join("nginx.log"));
    let front = Process::start("nginx", command, &own.join("nginx.out"), &place.guard)?;
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
