//! The requests to a site: a list of paths, or an access log.

use super::Requests;
use crate::problem::{Problem, Result};
use std::path::Path;

/// The number of pages that are compared before a measurement.
const COMPARED: usize = 10;

/// Recognizes a list of paths, or an access log in the format that nginx and Apache call combined.
pub(super) fn requests_of(file: &Path) -> Result<Requests> {
    let text = read(file)?;
    let file = std::path::absolute(file).map_err(Problem::failed)?;
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    match first {
        None => Err(Problem::Usage(format!(
            "--urls {}: the file contains no request",
            file.display()
        ))),
        Some(line) if line.contains("] \"") => Ok(Requests::AccessLog(file)),
        Some(line) if line.split_whitespace().any(|word| word.starts_with('/')) => {
            Ok(Requests::Mix(file))
        }
        Some(line) => Err(Problem::Usage(format!(
            "--urls {}: neither a path nor a line of an access log: {line}",
            file.display()
        ))),
    }
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|e| Problem::Usage(format!("--urls {}: {e}", file.display())))
}

/// Returns the first few different paths that are requested with GET.
pub(super) fn paths_of(requests: &Requests) -> Result<Vec<String>> {
    let mut paths: Vec<String> = Vec::new();
    let text = match requests {
        Requests::Mix(file) | Requests::AccessLog(file) => read(file)?,
        Requests::Lines(lines) => lines.to_string(),
    };
    for line in text.lines() {
        let path = match requests {
            Requests::AccessLog(_) => line
                .split_once("\"GET ")
                .and_then(|(_, rest)| rest.split(' ').next()),
            Requests::Mix(_) | Requests::Lines(_)
                if ["POST", "PUT", "PATCH", "DELETE"]
                    .iter()
                    .any(|method| line.contains(method)) =>
            {
                None
            }
            Requests::Mix(_) | Requests::Lines(_) => {
                line.split_whitespace().find(|word| word.starts_with('/'))
            }
        };
        if let Some(path) = path.filter(|path| !paths.iter().any(|known| known == path)) {
            paths.push(path.to_owned());
        }
        if paths.len() == COMPARED {
            break;
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_log_is_told_from_a_list() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("urls");
        let read = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            requests_of(&file).and_then(|requests| {
                Ok((
                    matches!(requests, Requests::AccessLog(_)),
                    paths_of(&requests)?,
                ))
            })
        };
        assert_eq!(
            read("/\n10 GET /shop?a=1\n/\nPOST /cart x\n"),
            Ok((false, vec!["/".to_owned(), "/shop?a=1".to_owned()]))
        );
        let log =
            "1.2.3.4 - - [24/Nov/2026:04:00:00 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"x\"\n";
        assert_eq!(read(log), Ok((true, vec!["/a".to_owned()])));
        assert!(read("nonsense\n").is_err_and(|e| e.to_string().contains("nonsense")));
        assert!(read("").is_err());
    }
}
