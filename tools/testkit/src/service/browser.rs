//! A headless Chromium, told what to do as a person would: open, look for, click, type.
//!
//! It is driven by Debian's chromedriver over the W3C WebDriver protocol, which is JSON over HTTP/1.

use std::path::Path;

use serde_json::{Value, json};

use super::{Daemon, directory, free_port, program};
use crate::http::Client;

/// The name under which WebDriver hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// One window of a browser with a profile of its own.
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
    /// Starts it with an empty window. What it looks for it waits for, a minute at most.
    ///
    /// # Panics
    /// With the driver's log, when it does not start.
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
        // On a busy machine the driver gives a browser up that is only slow to start: once more then.
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

    /// Opens an address and waits until the page is loaded.
    pub fn open(&self, url: &str) {
        self.ask("POST", "/url", &json!({ "url": url }));
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        text(&self.ask("GET", "/url", &Value::Null))
    }

    /// The page as it is now.
    pub fn source(&self) -> String {
        text(&self.ask("GET", "/source", &Value::Null))
    }

    /// Runs JavaScript as the body of a function; what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.ask(
            "POST",
            "/execute/sync",
            &json!({ "script": script, "args": [] }),
        )
    }

    /// Runs JavaScript again until it returns something other than null and false.
    ///
    /// # Panics
    /// With the page, when it does not within a minute.
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

    /// The first element that the CSS selector fits, as soon as there is one.
    ///
    /// # Panics
    /// With the page, when there is none.
    pub fn find(&self, css: &str) -> Element<'_> {
        let body = json!({ "using": "css selector", "value": css });
        let found = self.try_ask("POST", "/element", &body);
        let id = found[ELEMENT]
            .as_str()
            .unwrap_or_else(|| panic!("no {css} on {} ({found}):\n{}", self.url(), self.source()));
        Element {
            browser: self,
            id: id.to_owned(),
        }
    }

    /// Fills the fields of a form, given by CSS selector, and looks whether they show it: scripts that move the focus, as login
    /// pages do, and a page that is still being drawn, take keys away. What is missing is typed again, as a person would.
    ///
    /// # Panics
    /// With what they show, when that is something else after a minute.
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

    /// Looks into the first frame that the CSS selector fits: what is found from now on is in there.
    ///
    /// # Panics
    /// With the page, when there is none.
    pub fn enter(&self, css: &str) {
        let frame = self.find(css);
        self.ask("POST", "/frame", &json!({ "id": { ELEMENT: frame.id } }));
    }

    /// Looks at the whole page again.
    pub fn leave(&self) {
        self.ask("POST", "/frame", &json!({ "id": null }));
    }

    /// From now on it is a stranger to the site of its page.
    pub fn forget_cookies(&self) {
        self.ask("DELETE", "/cookie", &Value::Null);
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}{path}", self.session);
        command(&self.address, method, &path, body)
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_ask(method, path, body);
        assert!(
            answer.get("error").is_none(),
            "{method} {path} {body}: {answer}"
        );
        answer
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver closes the browser; whatever is left ends with the driver's session.
        if !std::thread::panicking() {
            self.try_ask("DELETE", "", &Value::Null);
        }
    }
}

impl Element<'_> {
    /// Clicks it; waits for the page that this loads, if it loads one.
    #[track_caller]
    pub fn click(&self) {
        // Bars that stay at the window's edge would lie over it.
        let script = "arguments[0].scrollIntoView({ block: 'center' })";
        let body = json!({ "script": script, "args": [{ ELEMENT: self.id }] });
        self.browser.ask("POST", "/execute/sync", &body);
        self.ask("POST", "/click", &json!({}));
    }

    /// Types text; into a file field, the path of a file.
    #[track_caller]
    pub fn type_in(&self, words: &str) {
        self.ask("POST", "/value", &json!({ "text": words }));
    }

    fn empty(&self) {
        self.ask("POST", "/clear", &json!({}));
    }

    /// What a field shows.
    fn value(&self) -> String {
        text(&self.ask("GET", "/property/value", &Value::Null))
    }

    /// The text that a person sees.
    #[track_caller]
    pub fn text(&self) -> String {
        text(&self.ask("GET", "/text", &Value::Null))
    }

    /// An attribute; empty when it has none of that name.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> String {
        text(&self.ask("GET", &format!("/attribute/{name}"), &Value::Null))
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        self.browser
            .ask(method, &format!("/element/{}{path}", self.id), body)
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
        // Chromium refuses to sandbox what root runs, as in a container.
        arguments.push("--no-sandbox".to_owned());
    }
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "acceptInsecureCerts": true,
        "timeouts": { "implicit": 60_000, "pageLoad": 60_000 },
        "goog:chromeOptions": { "binary": "/usr/bin/chromium", "args": arguments },
    } } })
}

/// One command; the `value` of its answer.
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
