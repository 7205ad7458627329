//! The probe: the first request of a worker, which the worker sends to itself. It gets others only if the response is good.

use std::rc::Rc;

use http1::{Endpoints, Peer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::spawn_local;

use crate::worker::Worker;

/// Characters of the body that are shown if the response is not a good one.
const SHOWN: usize = 300;

/// Sends GET `path` (`boot.probe`) to this worker, and checks the status. The error is a message for the user.
pub(crate) async fn check(worker: &Rc<Worker>, path: &str) -> Result<(), String> {
    let answer = exchange(worker, path)
        .await
        .map_err(|error| format!("GET {path} (boot.probe) was not answered: {error}"))?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    match status {
        Some(200..=399) => Ok(()),
        Some(status) => Err(format!(
            "GET {path} (boot.probe) was answered with status {status}, not 200 to 399:\n{}",
            start_of_body(&answer)
        )),
        None => Err(format!("GET {path} (boot.probe) was not answered")),
    }
}

async fn exchange(worker: &Rc<Worker>, path: &str) -> std::io::Result<Vec<u8>> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let peer = Peer::new(Endpoints::default(), Rc::default());
    let connection = server::serve(Rc::clone(worker), theirs, peer, ());
    spawn_local(connection);
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: hearth-probe\r\nConnection: close\r\n\r\n"
    );
    ours.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).await?;
    Ok(answer)
}

fn start_of_body(answer: &str) -> String {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    body.chars().take(SHOWN).collect()
}
