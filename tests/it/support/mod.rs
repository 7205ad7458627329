//! Helpers that several tests share.

pub(crate) mod every_worker;
pub(crate) mod modes;
pub(crate) mod traffic;
pub(crate) mod user_agent;

use std::io::Write as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use testkit::http::{Client, Response};
use testkit::{Server, ServerBuilder};

/// The time after which an event that has not occurred counts as missing: more than a busy machine needs, and less than
/// the 20 s and more of the waits that tests expect to be cut short.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(18);

/// Returns a server with one worker: concurrent requests run in one process.
pub(crate) fn one_worker(code: &str) -> ServerBuilder {
    Server::script(code).args(["--workers", "1"])
}

/// Sends one GET of each target on a connection of its own, all at once; returns the responses in order and the total
/// time.
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

/// Sends a request without a body on a connection of its own. Each line of `headers` ends in CRLF.
pub(crate) fn request(server: &Server, method: &str, target: &str, headers: &str) -> Response {
    let mut client = server.connect();
    client.send(format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
    ));
    if method == "HEAD" {
        return client.response_to_head();
    }
    client.response()
}

/// Returns the same target `count` times.
pub(crate) fn same(target: &str, count: usize) -> Vec<String> {
    vec![target.to_owned(); count]
}

/// Asserts status 200 and returns the body.
#[track_caller]
pub(crate) fn ok(response: &Response) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    response.text()
}

/// Returns the target whose query contains this PHP code as `code`.
pub(crate) fn encoded(code: &str) -> String {
    let bytes = code.bytes().map(|byte| format!("%{byte:02X}"));
    format!("/?code={}", bytes.collect::<String>())
}

/// Sends code to a handler that runs the code of its query; returns the body.
#[track_caller]
pub(crate) fn run(server: &Server, code: &str) -> String {
    ok(&server.get(&encoded(code)))
}

/// Returns the block below the mark `<!-- example: NAME -->` on a page of the documentation: a fenced block, or the lines
/// up to the first empty one.
#[track_caller]
pub(crate) fn example(page: &str, name: &str) -> String {
    let text = std::fs::read_to_string(testkit::checkout().join(page)).expect("the page");
    let after = text
        .split(&format!("<!-- example: {name} -->\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("no example {name} in {page}"));
    let block = match after.strip_prefix("```") {
        Some(fenced) => fenced
            .split_once('\n')
            .and_then(|(_, rest)| rest.split_once("```")),
        None => after.split_once("\n\n"),
    };
    block.expect("a block with an end").0.to_owned()
}

/// Runs `hearth` with these arguments, in the environment of this server.
pub(crate) fn hearth(server: &Server, words: &[&str]) -> Output {
    Command::new(testkit::hearth())
        .args(words)
        .env("XDG_RUNTIME_DIR", server.directory())
        .current_dir(server.directory())
        .output()
        .expect("hearth starts")
}

/// The command that runs a program as a user without other processes, to which resource limits apply.
pub(crate) const OTHER_USER: [&str; 6] = [
    "setpriv",
    "--reuid",
    "54321",
    "--regid",
    "54321",
    "--clear-groups",
];

pub(crate) fn as_other_user(words: &[&str]) -> bool {
    let mut command = Command::new(OTHER_USER[0]);
    let status = command.args(&OTHER_USER[1..]).args(words).status();
    status.is_ok_and(|status| status.success())
}

/// Returns the `sh -c` script that starts a server as that user; `None` if the user cannot run the program.
pub(crate) fn start_as_other_user() -> Option<String> {
    // That user may have no access to the folder of this checkout.
    let program = testkit::hearth().with_file_name("hearth-php");
    if !as_other_user(&["test", "-x", &program.display().to_string()]) {
        eprintln!("skipped: no server can be started as another user here");
        return None;
    }
    Some(format!(
        r#"chown -R 54321 "$TMPDIR" && exec {} "$@""#,
        OTHER_USER.join(" ")
    ))
}

/// Returns a page of the admin server.
pub(crate) fn admin(server: &Server, path: &str) -> Response {
    let line = server.expect_log("hearth: admin on http://");
    Client::connect(line.rsplit('/').next().expect("an address")).get(path)
}

/// A stand-in for systemd: it receives the server's notifications.
pub(crate) struct ServiceManager {
    directory: tempfile::TempDir,
    socket: std::os::unix::net::UnixDatagram,
}

impl ServiceManager {
    pub(crate) fn new() -> Self {
        let directory = testkit::temporary();
        let socket = std::os::unix::net::UnixDatagram::bind(directory.path().join("notify"));
        let socket = socket.expect("a socket");
        socket
            .set_read_timeout(Some(TIMEOUT))
            .expect("a timeout can be set");
        Self { directory, socket }
    }

    /// Returns a directory that exists as long as the manager.
    pub(crate) fn directory(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Starts the server with `NOTIFY_SOCKET`.
    pub(crate) fn start(&self, server: ServerBuilder) -> Server {
        let path = self.directory() + "/notify";
        let server = server.args(["--allow-root"]).env("NOTIFY_SOCKET", path);
        server.start()
    }

    pub(crate) fn received(&self) -> String {
        let mut buffer = [0; 200];
        let length = self.socket.recv(&mut buffer).expect("a message in time");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }
}

/// Polls until the condition holds; for events that the kernel does not signal, such as a new process in `/proc`.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a check of times, which other load on the machine can spoil: it must succeed in one of three attempts.
#[track_caller]
pub(crate) fn one_of_three(mut attempt: impl FnMut() -> Result<(), String>) {
    let spoilt: Vec<String> = (0..3).map_while(|_| attempt().err()).collect();
    assert!(spoilt.len() < 3, "{spoilt:#?}");
    if !spoilt.is_empty() {
        // Bypasses the harness, which shows a test's output only if it fails.
        let attempt = spoilt.len() + 1;
        let _ = writeln!(
            std::io::stderr(),
            "came true in attempt {attempt}: {spoilt:#?}"
        );
    }
}

/// Waits until this number of requests is being handled: each has begun, and has reached its first wait.
#[track_caller]
pub(crate) fn until_handled(server: &Server, count: u64) {
    eventually("the requests are handled", || server.in_flight() >= count);
}

/// Returns a POST of a form that is so large that its handler begins before all of it has arrived, in two parts: the text
/// before `end`, and `end`.
pub(crate) fn large_form(path: &str, end: &str) -> (String, String) {
    let first = format!("pad={}&", "x".repeat(70_000));
    let length = first.len() + end.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n"
    );
    (head + &first, end.to_owned())
}

/// Creates the file that a request with [`UNTIL_GO`] waits for.
pub(crate) fn let_go(server: &Server) {
    std::fs::write(server.directory().join("go"), "").expect("a file can be written");
}

/// PHP code that waits, without blocking its worker, until the test has called [`let_go`].
pub(crate) const UNTIL_GO: &str = "while (!file_exists('go')) { usleep(5000); clearstatcache(); }";

/// Returns the resident memory of a process in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("the worker runs");
    text.split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .expect("a number")
        * 4096
}
