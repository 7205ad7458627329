//! The configurations that the guide shows for each proxy, run by that proxy in front of a site.

use std::io::Read;

use testkit::Server;
use testkit::http::{Client, Response};
use testkit::service::{Front, ReverseProxy};

use super::SEEN;
use crate::sites::wordpress_addresses::{configure, installed};
use crate::sites::wordpress_files;
use crate::support::user_agent::UserAgent;
use crate::support::{UNTIL_GO, example, let_go, ok};

const PAGE: &str = "docs/guide/proxies.md";

/// What a proxy could be made to say by its client, if it let these pass.
const FORGED: &str = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\nForwarded: for=6.6.6.6\r\n";

fn get(client: &mut Client, path: &str, fields: &str) -> Response {
    client.send(format!(
        "GET {path} HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n"
    ));
    client.response()
}

/// A style sheet that no buffer takes whole.
fn style() -> String {
    "a { color: red }\n".repeat(100_000)
}

fn site() -> Server {
    let upload = "<?php $file = $_FILES['file']; echo json_encode([$file['error'], $file['size'], md5_file($file['tmp_name'])]);";
    let stream = format!("<?php echo 'first'; @ob_flush(); flush(); {UNTIL_GO} echo 'second';");
    Server::app(".")
        .file("index.php", format!("<?php echo {SEEN};"))
        .file("upload.php", upload)
        .file("stream.php", stream)
        .file("style.css", style())
        .args([
            "--trusted-proxies",
            "127.0.0.1",
            "--trusted-proxies",
            "unix",
        ])
        .args([
            "--ini",
            "upload_max_filesize=64M",
            "--ini",
            "post_max_size=64M",
        ])
        .args(["--listen", "127.0.0.1:0", "--listen", "unix:web.sock"])
        .args(["--socket-group", "www-data"])
        .start()
}

fn the_client_is_seen(client: &mut Client, port: &str) {
    for fields in ["", FORGED] {
        let seen = ok(&get(client, "/", fields));
        let mut words: Vec<&str> = seen.split(' ').collect();
        // Its port, where the proxy says it, and our own address.
        words.remove(1);
        words.pop();
        assert_eq!(
            words,
            [
                "127.0.0.2",
                "on",
                "https",
                port,
                "shop.example",
                "shop.example"
            ]
        );
    }
}

fn files_are_sent(client: &mut Client) {
    let file = get(client, "/style.css", "");
    let media_type = file.header("content-type").unwrap_or_default();
    assert!(media_type.starts_with("text/css"), "{media_type}");
    assert!(ok(&file) == style(), "{} bytes came", file.body.len());
    let known = file.header("etag").expect("a validator");
    let again = get(client, "/style.css", &format!("If-None-Match: {known}\r\n"));
    assert_eq!(again.status, 304);
}

fn uploads_arrive(client: &mut Client) {
    const LENGTH: usize = 20 << 20;
    // Made at once: a proxy closes a connection on which nothing comes for some seconds (Apache: KeepAliveTimeout).
    let period: Vec<u8> = (0..251).map(|at| (at * 31 % 251) as u8).collect();
    let mut content = period.repeat(LENGTH / period.len() + 1);
    content.truncate(LENGTH);
    let before =
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n";
    let body = [before.as_bytes(), &content, b"\r\n--XX--\r\n"].concat();
    client.send(format!(
        "POST /upload.php HTTP/1.1\r\nHost: shop.example\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    client.send(&body);
    let answer = ok(&client.response());
    assert_eq!(answer, format!(r#"[0,{LENGTH},"{}"]"#, MD5));
}

/// Of the content above.
const MD5: &str = "caa579e5f6b695d4951bfd7d5d63231d";

/// The second piece is made only when the first has come.
fn pieces_come_at_once(proxy: &ReverseProxy, server: &Server) {
    let mut client = Client::connect(&proxy.address());
    client.send("GET /stream.php HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n");
    let mut came = Vec::new();
    let mut stream = client.stream();
    while !came.windows(5).any(|bytes| bytes == b"first") {
        let mut buffer = [0; 4096];
        let read = stream
            .read(&mut buffer)
            .expect("the first piece comes in time");
        assert!(read > 0, "{}", String::from_utf8_lossy(&came));
        came.extend_from_slice(&buffer[..read]);
    }
    let_go(server);
    stream
        .read_to_end(&mut came)
        .expect("the rest comes in time");
    assert!(came.windows(6).any(|bytes| bytes == b"second"));
}

fn runs(front: Front, name: &str) {
    let server = site();
    let proxy = ReverseProxy::start(front, &example(PAGE, name), &server.address());
    visit(&proxy, &server, "443");
    server.stop();
}

fn visit(proxy: &ReverseProxy, server: &Server, port: &str) {
    let mut client = Client::connect(&proxy.address());
    the_client_is_seen(&mut client, port);
    files_are_sent(&mut client);
    uploads_arrive(&mut client);
    pieces_come_at_once(proxy, server);
}

#[test]
fn nginx() {
    runs(Front::Nginx, "nginx");
}

/// Its workers are www-data's, as the socket's group is.
#[test]
fn nginx_on_a_unix_socket() {
    let server = site();
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(server.directory(), open).expect("it is ours");
    let socket = format!("unix:{}", server.directory().join("web.sock").display());
    let proxy = ReverseProxy::start(Front::Nginx, &example(PAGE, "nginx"), &socket);
    visit(&proxy, &server, "443");
    server.stop();
}

#[test]
fn haproxy() {
    runs(Front::HaProxy, "haproxy");
}

#[test]
fn apache() {
    runs(Front::Apache, "apache");
}

#[test]
fn caddy() {
    runs(Front::Caddy, "caddy");
}

/// It leaves HTTP alone: what its client forges is the client's word, and the port is that of its own socket.
#[test]
fn haproxy_with_the_proxy_protocol() {
    let server = site();
    let sample = example(PAGE, "haproxy-tcp");
    let proxy = ReverseProxy::start(Front::HaProxy, &sample, &server.address());
    visit(&proxy, &server, &proxy.port.to_string());
    server.stop();
}

/// Its authors' files, and what its installer writes into wp-config.php.
fn wordpress(front: Front, name: &str) {
    let root = wordpress_files();
    configure(
        root.path(),
        &format!("wordpress_{}", name.replace('-', "_")),
        "",
    );
    let server = Server::app(root.path())
        .args(["--trusted-proxies", "127.0.0.1"])
        .start();
    let proxy = ReverseProxy::start(front, &example(PAGE, name), &server.address());
    let mut agent = installed(&proxy.address(), "");
    let site = format!("https://{}/", proxy.address());
    let page = ok(&UserAgent::new(proxy.address()).get("/"));
    assert!(
        page.contains(&site) && !page.contains(&site.replace("https", "http")),
        "{page}"
    );
    assert!(ok(&agent.get("/wp-admin/")).contains("Dashboard"));
    let style = ok(&agent.get("/wp-includes/css/buttons.css"));
    assert!(style.contains(".wp-core-ui"), "{style}");
    let stranger = UserAgent::new(proxy.address()).get("/wp-admin/");
    let to = stranger.header("location").unwrap_or_default();
    assert!(
        stranger.status == 302 && to.starts_with(&format!("{site}wp-login.php?")),
        "{to}"
    );
    server.stop();
}

#[test]
fn wordpress_behind_nginx() {
    wordpress(Front::Nginx, "nginx");
}

#[test]
fn wordpress_behind_haproxy() {
    wordpress(Front::HaProxy, "haproxy");
    wordpress(Front::HaProxy, "haproxy-tcp");
}

#[test]
fn wordpress_behind_apache() {
    wordpress(Front::Apache, "apache");
}

#[test]
fn wordpress_behind_caddy() {
    wordpress(Front::Caddy, "caddy");
}
