//! A script to run in a request, from a file or out of a `.phpt`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::phpt::sections;

/// What to run, and the request to run it in.
#[derive(Debug, Default)]
pub struct Script {
    /// The file that is included.
    pub file: PathBuf,
    /// Settings for `ini_set()`.
    pub settings: Vec<(String, String)>,
    /// What to append to the query.
    pub query: String,
    pub cookie: Option<String>,
    /// A form, as it is sent.
    pub form: Option<String>,
    /// The file, when it was made for this and goes with it.
    _made: Option<Made>,
}

#[derive(Debug)]
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Tests that reach for the world, take long, or are for another system say so in SKIPIF by these words.
const NOT_HERE: [&str; 4] = [
    "SKIP_SLOW",
    "SKIP_ONLINE",
    "only for Windows",
    "Windows only",
];

impl Script {
    /// A PHP file as it is.
    pub fn of(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            ..Self::default()
        }
    }

    /// The script in a `.phpt`, written beside it; why not, if it is none for a request here.
    ///
    /// # Errors
    /// The reason.
    pub fn from_phpt(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        // Tests are of any encoding: as Latin-1 no byte is lost.
        let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        let sections = sections(&text);
        let code = sections
            .get("FILE")
            .or_else(|| sections.get("FILEEOF"))
            .ok_or("it has no FILE section")?;
        if let Some(word) = unfit(&sections) {
            return Err(format!("its SKIPIF names {word}"));
        }
        let file = path.with_extension("state.php");
        let code: Vec<u8> = code.chars().map(|letter| letter as u8).collect();
        fs::write(&file, code).map_err(|error| error.to_string())?;
        let line = |name: &str| {
            sections
                .get(name)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        Ok(Self {
            _made: Some(Made(file.clone())),
            file,
            settings: settings(&sections),
            query: line("GET").unwrap_or_default(),
            cookie: line("COOKIE"),
            form: line("POST"),
        })
    }

    /// The target of the request that runs it.
    pub(super) fn target(&self) -> String {
        let mut target = format!("/run?file={}", escaped(&self.file.to_string_lossy()));
        for (name, value) in &self.settings {
            target.push_str(&format!("&ini[{}]={}", escaped(name), escaped(value)));
        }
        if !self.query.is_empty() {
            target.push('&');
            target.extend(self.query.chars().filter(char::is_ascii_graphic));
        }
        target
    }
}

fn unfit(sections: &HashMap<String, String>) -> Option<&'static str> {
    let condition = sections.get("SKIPIF")?;
    NOT_HERE.into_iter().find(|word| condition.contains(word))
}

fn settings(sections: &HashMap<String, String>) -> Vec<(String, String)> {
    let text = sections.get("INI").map_or("", String::as_str);
    text.lines()
        .filter(|line| !line.contains('{'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
