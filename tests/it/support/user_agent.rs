//! A minimal browser for sessions: it keeps cookies and finds a form's fields, and follows no redirect by itself.

use testkit::http::{Client, Response};

/// A visitor of a site.
pub(crate) struct UserAgent {
    address: String,
    /// The value of the Host field.
    host: String,
    client: Option<Client>,
    cookies: Vec<(String, String)>,
}

impl UserAgent {
    /// Returns a visitor without cookies.
    pub(crate) fn new(address: impl Into<String>) -> Self {
        let address = address.into();
        Self::of_host(address.clone(), &address)
    }

    /// Returns a visitor that uses the given host name with the address.
    pub(crate) fn of_host(address: impl Into<String>, host: &str) -> Self {
        Self {
            address: address.into(),
            host: host.to_owned(),
            client: None,
            cookies: Vec::new(),
        }
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.request(&format!("GET {path} HTTP/1.1\r\n"), b"")
    }

    /// Sends a form as a browser does.
    pub(crate) fn post(&mut self, path: &str, form: &str) -> Response {
        self.send(path, "application/x-www-form-urlencoded", form.as_bytes())
    }

    pub(crate) fn send(&mut self, path: &str, media_type: &str, body: &[u8]) -> Response {
        let length = body.len();
        self.request(
            &format!(
                "POST {path} HTTP/1.1\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n"
            ),
            body,
        )
    }

    /// Sends a form with one file, `a.txt`, beside its other fields.
    pub(crate) fn upload(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        content: &str,
    ) -> Response {
        let mut body: String = fields
            .iter()
            .map(|(name, value)| {
                format!(
                    "--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
                )
            })
            .collect();
        body += &format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--XX--\r\n"
        );
        self.send(path, "multipart/form-data; boundary=XX", body.as_bytes())
    }

    /// Follows the response's redirect within the site; a relative one starts at its root.
    #[track_caller]
    pub(crate) fn follow(&mut self, response: &Response) -> Response {
        let to = response
            .header("location")
            .unwrap_or_else(|| panic!("{}: no Location: {}", response.status, response.text()));
        let here = format!("http://{}/", self.host);
        let path = to.strip_prefix(&here).unwrap_or(to).trim_start_matches('/');
        assert!(!path.contains("://"), "sent to {path}");
        let path = format!("/{path}");
        self.get(&path)
    }

    /// Sends a custom request: its first line and fields, each with its line end, and its body.
    pub(crate) fn request(&mut self, head: &str, body: &[u8]) -> Response {
        let cookie = self.cookie();
        let client = self
            .client
            .get_or_insert_with(|| Client::connect(&self.address));
        client.send(format!(
            "{head}Host: {}\r\nCookie: {cookie}\r\n\r\n",
            self.host,
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

    /// Sends a GET, and closes the connection after `begun`.
    pub(crate) fn leave(&mut self, path: &str, begun: impl FnOnce()) {
        let mut client = Client::connect(&self.address);
        client.send(format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            self.host,
            self.cookie()
        ));
        begun();
    }

    /// The value of the Cookie field.
    fn cookie(&self) -> String {
        let cookies = self.cookies.iter();
        let cookies: Vec<String> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        cookies.join("; ")
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

/// Returns the value of a form's field, whichever quotes the page uses.
#[track_caller]
pub(crate) fn field(page: &str, name: &str) -> String {
    let page = page.replace('\'', "\"");
    let tag = page
        .split('<')
        .find(|tag| tag.starts_with("input") && tag.contains(&format!("name=\"{name}\"")))
        .unwrap_or_else(|| panic!("no field {name} in {page}"));
    tag.split("value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned()
}
