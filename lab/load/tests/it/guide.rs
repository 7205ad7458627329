//! Every command of the guide, run against a real server, with its times shortened.

use crate::tool::command;
use crate::truth::Truth;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;

const GUIDE: &str = include_str!("../../../../docs/guide/load.md");

/// The commands in the guide's code blocks.
fn commands() -> Vec<&'static str> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for line in GUIDE.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(kind), None) => fence = Some(kind),
            (Some(_), Some(_)) => fence = None,
            (None, Some("")) if line.starts_with("hearth load ") => found.push(line),
            _ => {}
        }
    }
    found
}

/// Words as a shell would split them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words
}

/// `30s` becomes `time`, and so do all times in a list; an automatic warm-up becomes a short one.
fn shortened(word: &str, time: &str) -> String {
    let short = |part: &str| match part.split_once("s@") {
        Some((seconds, rate)) if seconds.parse::<u32>().is_ok() => format!("0.2s@{rate}"),
        _ if part
            .strip_suffix('s')
            .is_some_and(|number| number.parse::<u32>().is_ok()) =>
        {
            time.to_owned()
        }
        _ if part == "auto" => "100ms".to_owned(),
        _ => part.to_owned(),
    };
    word.split(',').map(short).collect::<Vec<_>>().join(",")
}

fn unix_server(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            });
        }
    });
}

#[test]
fn every_command_of_the_guide_works() {
    let all = commands();
    assert!(all.len() > 20, "{all:?}");
    let server = Truth::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("picture.png"), [0x89, b'P', b'N', b'G']).unwrap();
    let mix = GUIDE
        .split("```text\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    std::fs::write(folder.path().join("mix.txt"), mix).unwrap();
    std::fs::write(
        folder.path().join("access.log"),
        "::1 - - [x] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"\n",
    )
    .unwrap();
    unix_server(&folder.path().join("server.sock"));
    for line in all {
        let line = line.replace("127.0.0.1:8080", &server.address.to_string());
        let run = |time: &str| {
            let words: Vec<String> = words(&line)
                .iter()
                .skip(2)
                .map(|word| shortened(word, time))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            command(&words).current_dir(folder.path()).output().unwrap()
        };
        let mut output = run("200ms");
        if !output.status.success() {
            // On a busy machine a hundred connections may have had no answer so soon.
            output = run("3s");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{line}\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!text.is_empty(), "{line}");
    }
    assert!(server.served() > 1_000);
}

#[test]
fn every_rule_is_in_the_guide() {
    let source = include_str!("../../../measure/src/diagnose.rs");
    let mut rest = source;
    while let Some(at) = rest.find("\"D") {
        let id = &rest[at + 1..at + 4];
        if id[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            assert!(GUIDE.contains(id), "{id} is not explained");
        }
        rest = &rest[at + 4..];
    }
    for class in measure::ErrorClass::ALL {
        assert!(
            GUIDE.contains(class.name()),
            "{} is not explained",
            class.name()
        );
    }
}
