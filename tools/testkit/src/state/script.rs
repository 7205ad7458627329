//! A script to run in a request, from a PHP file or a `.phpt`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::phpt::sections;

/// A script, and the request that runs it.
#[derive(Debug, Default)]
pub struct Script {
    /// The file that is included.
    pub file: PathBuf,
    /// Settings for `ini_set()`.
    pub settings: Vec<(String, String)>,
    /// The text that is appended to the query.
    pub query: String,
    pub cookie: Option<String>,
    /// The encoded form of a POST.
    pub form: Option<String>,
    /// The file, if it was created for this script and is removed with it.
    _made: Option<Made>,
}

#[derive(Debug)]
struct Made(PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Words in SKIPIF of tests that need the network, take long, or are for another system.
const NOT_HERE: [&str; 4] = [
    "SKIP_SLOW",
    "SKIP_ONLINE",
    "only for Windows",
    "Windows only",
];

impl Script {
    /// Returns the script of a PHP file.
    pub fn of(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            ..Self::default()
        }
    }

    /// Returns the script of a `.phpt`: a file that it names, or its text, written beside it.
    ///
    /// # Errors
    /// If the test has no script, or cannot run in a request here.
    pub fn from_phpt(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        // Tests have any encoding; as Latin-1, no byte is lost.
        let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        let sections = sections(&text);
        if let Some(word) = unfit(&sections) {
            return Err(format!("its SKIPIF names {word}"));
        }
        let (file, made) = match sections.get("FILE_EXTERNAL") {
            Some(name) => (path.with_file_name(name.trim()), None),
            None => {
                let file = write(path, &sections)?;
                (file.clone(), Some(Made(file)))
            }
        };
        let line = |name: &str| {
            sections
                .get(name)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        Ok(Self {
            _made: made,
            file,
            settings: settings(&sections),
            query: line("GET").unwrap_or_default(),
            cookie: line("COOKIE"),
            form: line("POST"),
        })
    }

    /// Returns the target of the request that runs the script.
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

/// Writes the script of a `.phpt` beside it, and returns its path.
fn write(path: &Path, sections: &HashMap<String, String>) -> Result<PathBuf, String> {
    let code = sections
        .get("FILE")
        .or_else(|| sections.get("FILEEOF"))
        .ok_or("it has no FILE section")?;
    let file = path.with_extension("state.php");
    let code: Vec<u8> = code.chars().map(|letter| letter as u8).collect();
    fs::write(&file, code).map_err(|error| error.to_string())?;
    Ok(file)
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
