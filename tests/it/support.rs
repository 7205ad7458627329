//! What several of the tests need.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder};

/// A server with one worker: what runs at the same time there, runs in one process.
pub(crate) fn one_worker(code: &str) -> ServerBuilder {
    Server::script(code).args(["--workers", "1"])
}

/// One GET of each target on a connection of its own, all at once; the answers in order and how long all took.
pub(crate) fn at_once<T: AsRef<str>>(server: &Server, targets: &[T]) -> (Vec<Response>, Duration) {
    let mut clients: Vec<Client> = targets.iter().map(|_| server.connect()).collect();
    let start = Instant::now();
    for (client, target) in clients.iter_mut().zip(targets) {
        client.send(format!(
            "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            target.as_ref()
        ));
    }
    let answers = clients.iter_mut().map(Client::response).collect();
    (answers, start.elapsed())
}

/// The same target `count` times.
pub(crate) fn same(target: &str, count: usize) -> Vec<String> {
    vec![target.to_owned(); count]
}

/// Asserts status 200 and gives the body.
#[track_caller]
pub(crate) fn ok(response: &Response) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    response.text()
}

/// `hearth` with these words, in the environment of this server.
pub(crate) fn hearth(server: &Server, words: &[&str]) -> Output {
    Command::new(testkit::hearth())
        .args(words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory())
        .output()
        .expect("hearth starts")
}

/// Asks until the answer is right: for what has no event, such as a new process in `/proc`.
#[track_caller]
pub(crate) fn eventually(what: &str, mut ask: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !ask() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A visitor of a site: keeps cookies as a browser does, without following anything by itself.
pub(crate) struct Visitor {
    address: String,
    client: Option<Client>,
    cookies: Vec<(String, String)>,
}

impl Visitor {
    /// Somebody who has not been there before.
    pub(crate) fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            client: None,
            cookies: Vec::new(),
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1\r\n"), b"")
    }

    /// A form as a browser sends it.
    pub(crate) fn post(&mut self, path: &str, form: &str) -> Response {
        self.send(path, "application/x-www-form-urlencoded", form.as_bytes())
    }

    pub(crate) fn send(&mut self, path: &str, media_type: &str, body: &[u8]) -> Response {
        let length = body.len();
        self.ask(
            &format!(
                "POST {path} HTTP/1.1\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n"
            ),
            body,
        )
    }

    /// Where the answer sends the visitor, within the site; what is relative, to its root.
    #[track_caller]
    pub(crate) fn follow(&mut self, response: &Response) -> Response {
        let to = response
            .header("location")
            .unwrap_or_else(|| panic!("{}: no Location: {}", response.status, response.text()));
        let here = format!("http://{}/", self.address);
        let path = to.strip_prefix(&here).unwrap_or(to).trim_start_matches('/');
        assert!(!path.contains("://"), "sent to {path}");
        let path = format!("/{path}");
        self.get(&path)
    }

    fn ask(&mut self, head: &str, body: &[u8]) -> Response {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let client = self
            .client
            .get_or_insert_with(|| Client::connect(&self.address));
        client.send(format!(
            "{head}Host: {}\r\nCookie: {}\r\n\r\n",
            self.address,
            cookies.join("; ")
        ));
        client.send(body);
        let response = client.response();
        if response.header("connection") == Some("close") {
            self.client = None;
        }
        for cookie in response.header_all("set-cookie") {
            self.keep(cookie);
        }
        response
    }

    fn keep(&mut self, cookie: &str) {
        let (name, value) = cookie
            .split(';')
            .next()
            .and_then(|pair| pair.split_once('='))
            .expect("a cookie");
        self.cookies.retain(|(known, _)| known != name);
        if !cookie.contains("Max-Age=0") && value != "deleted" {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// Resident memory in bytes.
pub(crate) fn memory(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("the worker runs");
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .expect("a number")
        * 4096
}
