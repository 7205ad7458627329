//! A headless Chromium that a test controls like a user: open, find, click, type.
//!
//! Debian's chromedriver controls it by the W3C WebDriver protocol, which is JSON over HTTP/1.

use std::path::Path;

use serde_json::{Value, json};

use super::{Daemon, directory, free_port, program};
use crate::http::Client;

/// The key under which WebDriver returns elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A window of a browser with its own profile.
#[derive(Debug)]
pub struct Browser {
    address: String,
    session: String,
    _daemon: Daemon,
}

/// An element of the page.
#[derive(Debug)]
pub struct Element<'browser> {
    browser: &'browser Browser,
    id: String,
}

impl Browser {
    /// Starts the browser with an empty window. Each search for an element waits for it, a minute at most.
    ///
    /// # Panics
    /// If the browser does not start; with the driver's log.
    pub fn start() -> Self {
        let place = directory("browser", None);
        let port = free_port();
        let mut driver = program("chromedriver", None);
        driver
            .arg(format!("--port={port}"))
            .env("HOME", &place)
            .env("TMPDIR", &place);
        let daemon = Daemon::start(driver, &place, "started successfully");
        let address = format!("127.0.0.1:{port}");
        // On a busy machine the driver gives up a browser that is only slow to start: then try once more.
        let mut answer = command(&address, "POST", "/session", &capabilities(&place));
        if !answer["sessionId"].is_string() {
            answer = command(&address, "POST", "/session", &capabilities(&place));
        }
        let session = answer["sessionId"].as_str().unwrap_or_else(|| {
            panic!(
                "no browser: {answer}\nthe driver's log:\n{}",
                daemon.log.text()
            )
        });
        Self {
            session: session.to_owned(),
            address,
            _daemon: daemon,
        }
    }

    /// Opens a URL and waits until the page is loaded.
    pub fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({ "url": url }));
    }

    /// Returns the URL of the page.
    pub fn url(&self) -> String {
        text(&self.command("GET", "/url", &Value::Null))
    }

    /// Returns the current source of the page.
    pub fn source(&self) -> String {
        text(&self.command("GET", "/source", &Value::Null))
    }

    /// Runs JavaScript as the body of a function; returns its result.
    pub fn run(&self, script: &str) -> Value {
        self.command(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// Runs JavaScript again until it returns something other than null and false.
    ///
    /// # Panics
    /// If that does not happen within a minute; with the page.
    pub fn wait_for(&self, script: &str) -> Value {
        crate::server::until(std::time::Duration::from_secs(60), || {
            Some(self.run(script))
                .filter(|value| !matches!(value, Value::Null | Value::Bool(false)))
        })
        .unwrap_or_else(|| {
            panic!(
                "{script} never came true on {}:\n{}",
                self.url(),
                self.source()
            )
        })
    }

    /// Returns the first element that matches the CSS selector, as soon as it exists.
    ///
    /// # Panics
    /// If no element matches; with the page.
    pub fn find(&self, css: &str) -> Element<'_> {
        let body = json!({ "using": "css selector", "value": css });
        let found = self.try_command("POST", "/element", &body);
        let id = found[ELEMENT]
            .as_str()
            .unwrap_or_else(|| panic!("no {css} on {} ({found}):\n{}", self.url(), self.source()));
        Element {
            browser: self,
            id: id.to_owned(),
        }
    }

    /// Fills the fields of a form, given by CSS selector, and checks that they show the values: scripts that move the
    /// focus, as on login pages, and a page that is still being drawn, swallow keys. Missing text is typed again.
    ///
    /// # Panics
    /// If the fields do not show the values after a minute; with what they show.
    #[track_caller]
    pub fn fill(&self, fields: &[(&str, &str)]) {
        let filled = crate::server::until(std::time::Duration::from_secs(60), || {
            let wrong: Vec<_> = fields
                .iter()
                .filter(|(css, words)| self.find(css).value() != *words)
                .collect();
            for (css, words) in &wrong {
                self.find(css).empty();
                self.find(css).type_in(words);
            }
            wrong.is_empty().then_some(())
        });
        let shown = || fields.iter().map(|(css, _)| self.find(css).value());
        assert!(
            filled.is_some(),
            "{fields:?} show {:?}",
            shown().collect::<Vec<_>>()
        );
    }

    /// Enters the first frame that matches the CSS selector: further searches are inside it.
    ///
    /// # Panics
    /// If no frame matches; with the page.
    pub fn enter(&self, css: &str) {
        let frame = self.find(css);
        self.command("POST", "/frame", &json!({ "id": { ELEMENT: frame.id } }));
    }

    /// Returns from frames to the whole page.
    pub fn leave(&self) {
        self.command("POST", "/frame", &json!({ "id": null }));
    }

    /// Deletes the cookies of the page's site.
    pub fn forget_cookies(&self) {
        self.command("DELETE", "/cookie", &Value::Null);
    }

    fn try_command(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        command(&self.address, method, &path, body)
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_command(method, path, body);
        assert!(
            answer.get("error").is_none(),
            "{method} {path} {body}: {answer}"
        );
        answer
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser; processes that remain end with the driver's session.
        if !std::thread::panicking() {
            self.try_command("DELETE", "", &Value::Null);
        }
    }
}

impl Element<'_> {
    /// Clicks the element and waits for the page that this loads, if any.
    #[track_caller]
    pub fn click(&self) {
        // At the window's edge, fixed bars would cover the element.
        let script = "arguments[0].scrollIntoView({ block: 'center' })";
        let body = json!({ "script": script, "args": [{ ELEMENT: self.id }] });
        self.browser.command("POST", "/execute/sync", &body);
        self.command("POST", "/click", &json!({}));
    }

    /// Types text; into a file field, the path of a file.
    #[track_caller]
    pub fn type_in(&self, words: &str) {
        self.command("POST", "/value", &json!({ "text": words }));
    }

    fn empty(&self) {
        self.command("POST", "/clear", &json!({}));
    }

    /// Returns the value of a field.
    fn value(&self) -> String {
        text(&self.command("GET", "/property/value", &Value::Null))
    }

    /// Returns the visible text.
    #[track_caller]
    pub fn text(&self) -> String {
        text(&self.command("GET", "/text", &Value::Null))
    }

    /// Returns an attribute; empty if the element does not have it.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> String {
        text(&self.command("GET", &format!("/attribute/{name}"), &Value::Null))
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.browser
            .command(method, &format!("/element/{}{path}", self.id), body)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn capabilities(place: &Path) -> Value {
    let mut arguments = vec![
        "--headless=new".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--window-size=1280,3000".to_owned(),
        format!("--user-data-dir={}/profile", place.display()),
    ];
    if rustix::process::geteuid().is_root() {
        // Chromium refuses to start with a sandbox as root, as in a container.
        arguments.push("--no-sandbox".to_owned());
    }
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "acceptInsecureCerts": true,
        "timeouts": { "implicit": 60_000, "pageLoad": 60_000 },
        "goog:chromeOptions": { "binary": "/usr/bin/chromium", "args": arguments },
    } } })
}

/// Sends one command; returns the `value` of its response.
fn command(address: &str, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let mut client = Client::connect(address);
    client.set_timeout(std::time::Duration::from_secs(120));
    client.send(format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    let response = client.response();
    serde_json::from_slice::<Value>(&response.body)
        .map(|mut answer| answer["value"].take())
        .unwrap_or_else(|_| panic!("{method} {path}: {} {}", response.status, response.text()))
}
