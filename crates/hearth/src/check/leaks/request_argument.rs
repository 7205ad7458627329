//! The value of `--request`: `/path`, `POST /path` or `POST /path name=value`.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

use crate::http_client::{self, Response};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestArgument {
    method: String,
    target: String,
    form: Option<String>,
}

impl RequestArgument {
    pub(super) fn get(target: &str) -> Self {
        Self {
            method: "GET".to_owned(),
            target: target.to_owned(),
            form: None,
        }
    }

    /// Parses the value; `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let first = words.next()?;
        let (method, target) = match first.starts_with('/') {
            true => ("GET", first),
            false => (first, words.next()?),
        };
        let form = words.next().map(str::to_owned);
        let is_method = !method.is_empty() && method.bytes().all(|one| one.is_ascii_uppercase());
        let is_target = target.starts_with('/') && target.bytes().all(|one| one.is_ascii_graphic());
        let is_form = form
            .as_ref()
            .is_none_or(|form| form.bytes().all(|one| one.is_ascii_graphic()));
        (is_method && is_target && is_form && words.next().is_none()).then(|| Self {
            method: method.to_owned(),
            target: target.to_owned(),
            form,
        })
    }

    pub(super) fn send(&self, socket: &Path) -> io::Result<Response> {
        http_client::send(socket, "", &self.method, &self.target, self.form.as_deref())
    }
}

impl Display for RequestArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::RequestArgument;

    #[test]
    fn a_method_may_stand_before_the_path_and_a_form_behind_it() {
        let shown = |text: &str| {
            let request = RequestArgument::parse(text)?;
            Some((request.to_string(), request.form))
        };
        assert_eq!(shown("/a?b=1"), Some(("GET /a?b=1".to_owned(), None)));
        assert_eq!(shown("DELETE /a"), Some(("DELETE /a".to_owned(), None)));
        let form = Some("b=1&c=%20".to_owned());
        assert_eq!(
            shown("POST /a b=1&c=%20"),
            Some(("POST /a".to_owned(), form))
        );
        for text in [
            "",
            "a",
            "a /b",
            "POST",
            "POST a",
            "POST /a b c",
            "/a\r\nX: 1",
            " /a",
        ] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }
}
