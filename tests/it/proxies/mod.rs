//! Behind a proxy: what PHP sees of the client is what a trusted proxy says, and of others nothing.

mod forwarded;
mod proxy_protocol;
mod samples;
mod unix;

use testkit::http::Client;

use crate::support::ok;

/// REMOTE_ADDR, REMOTE_PORT, HTTPS, REQUEST_SCHEME, SERVER_PORT, HTTP_HOST, SERVER_NAME and SERVER_ADDR in one line.
const SEEN: &str = "implode(' ', array_map(fn ($name) => $_SERVER[$name] ?? '-', \
    ['REMOTE_ADDR', 'REMOTE_PORT', 'HTTPS', 'REQUEST_SCHEME', 'SERVER_PORT', 'HTTP_HOST', 'SERVER_NAME', 'SERVER_ADDR']))";

/// A request for `shop.example` with these lines; the body of the answer.
fn request(client: &mut Client, lines: &str) -> String {
    client.send(format!(
        "GET / HTTP/1.1\r\nHost: shop.example\r\n{lines}\r\n"
    ));
    ok(&client.response())
}
