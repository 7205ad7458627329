//! `cgi -C [-d NAME=VALUE]... -f SCRIPT`: stands in for `php-cgi` in PHP's run-tests.php, and sends the request to a
//! server.
//!
//! PHP's own tests of its HTTP side run through a CGI program. This one starts `hearth serve --mode classic` for the
//! test's script and settings, sends it the request that the CGI variables describe, and prints the response as a CGI
//! program would. All other calls of run-tests.php are passed on to the real `php-cgi`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use testkit::Server;
use testkit::http::{Broken, Client, Response};

/// CGI variables of the request, which are not passed to the server: it sets its own.
const VARIABLES: [&str; 12] = [
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "HTTP_COOKIE",
    "HTTP_CONTENT_ENCODING",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "QUERY_STRING",
    "REDIRECT_STATUS",
    "REQUEST_METHOD",
    "REQUEST_URI",
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
];

/// Fields that belong to the connection, not to PHP's response.
const TRANSPORT: [&str; 4] = ["connection", "date", "server", "transfer-encoding"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match script(&arguments) {
        Some(script) => serve(&script, &settings(&arguments)),
        None => {
            let error = Command::new("php-cgi").args(&arguments).exec();
            eprintln!("cgi: php-cgi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn script(arguments: &[String]) -> Option<String> {
    let at = arguments.iter().position(|word| word == "-f")?;
    arguments.get(at + 1).cloned()
}

fn settings(arguments: &[String]) -> Vec<String> {
    arguments
        .windows(2)
        .filter(|pair| pair[0] == "-d")
        .map(|pair| pair[1].clone())
        .collect()
}

fn serve(script: &str, settings: &[String]) -> ExitCode {
    let mut server = Server::app(script)
        .args([
            "--mode",
            "classic",
            "--workers",
            "1",
            "--dispatch",
            "direct",
        ])
        .inside(unset());
    for setting in settings {
        server = server.arg("--ini").arg(setting);
    }
    let server = match server.try_start() {
        Ok(server) => server,
        Err(stopped) => {
            println!(
                "Status: 500\n\nno server ({})\n{}",
                stopped.status, stopped.log
            );
            return ExitCode::FAILURE;
        }
    };
    let answer = request(&mut server.connect(), script);
    let log = server.stop().log;
    match answer {
        Ok(response) => print(&response),
        Err(broken) => println!("Status: 502\n\nno answer: {broken:?}\n{log}"),
    }
    ExitCode::SUCCESS
}

/// Returns the command line of `env` that removes the variables of this request.
fn unset() -> [&'static str; 25] {
    let mut words = ["env"; 25];
    for (index, name) in VARIABLES.iter().enumerate() {
        words[index * 2 + 1] = "-u";
        words[index * 2 + 2] = name;
    }
    words
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn request(client: &mut Client, script: &str) -> Result<Response, Broken> {
    let mut body = Vec::new();
    if !variable("CONTENT_LENGTH").is_empty() {
        std::io::stdin()
            .read_to_end(&mut body)
            .map_err(Broken::Io)?;
    }
    let mut head = format!(
        "{} {} HTTP/1.1\r\nConnection: close\r\n",
        variable("REQUEST_METHOD"),
        target(script)
    )
    .into_bytes();
    let mut field = |name: &str, value: &[u8]| {
        if !value.is_empty() {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            // Some tests fold the value of a field; the lines are joined.
            head.extend(
                value
                    .iter()
                    .map(|byte| if *byte == b'\n' { b' ' } else { *byte }),
            );
            head.extend_from_slice(b"\r\n");
        }
    };
    for (name, value) in std::env::vars_os() {
        use std::os::unix::ffi::OsStrExt;
        if let Some(name) = name.to_str().and_then(|name| name.strip_prefix("HTTP_")) {
            field(&name.replace('_', "-"), value.as_bytes());
        }
    }
    if std::env::var_os("HTTP_HOST").is_none() {
        field("Host", b"localhost");
    }
    field("Content-Type", variable("CONTENT_TYPE").as_bytes());
    if !body.is_empty() {
        field("Content-Length", body.len().to_string().as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    client.send(head);
    client.send(body);
    client.try_response(variable("REQUEST_METHOD") == "HEAD")
}

fn target(script: &str) -> String {
    let name = Path::new(script)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut target = variable("REQUEST_URI");
    if target.is_empty() {
        target = format!("/{name}{}", variable("PATH_INFO"));
    }
    let query = variable("QUERY_STRING");
    if !query.is_empty() && !target.contains('?') {
        target = format!("{target}?{query}");
    }
    target
        .chars()
        .map(|letter| match letter {
            ' ' | '\t' | '\r' | '\n' | '#' => format!("%{:02X}", u32::from(letter)),
            _ => letter.to_string(),
        })
        .collect()
}

fn print(response: &Response) {
    let mut out = std::io::stdout().lock();
    let mut text = String::new();
    if response.status != 200 {
        text.push_str(&format!(
            "Status: {} {}\r\n",
            response.status, response.reason
        ));
    }
    for (name, value) in &response.headers {
        if TRANSPORT.contains(&name.as_str()) {
            continue;
        }
        // The tests compare names case-sensitively, and some expect PHP's own spelling: "Content-type".
        if let Some((first, second)) = name.split_once('-') {
            text.push_str(&format!("{}-{second}: {value}\r\n", capitals(first)));
        }
        text.push_str(&format!("{}: {value}\r\n", capitals(name)));
    }
    text.push_str("\r\n");
    let _ = out.write_all(text.as_bytes());
    let _ = out.write_all(&response.body);
}

/// Capitalizes a name: `x-powered-by` becomes `X-Powered-By`.
fn capitals(name: &str) -> String {
    name.split('-')
        .map(|word| word[..1].to_ascii_uppercase() + &word[1..])
        .collect::<Vec<_>>()
        .join("-")
}
