//! HttpArena's validations: the responses that a server must send before it is measured.

use super::data;
use crate::probe::{Answer, Sent, send};
use crate::problem::{Problem, Result};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Fails if a rule does not hold, which ends the measurement of that server.
fn hold(holds: bool, rule: &str, answer: &Answer) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Problem::Failed(format!(
        "breaks a rule of HttpArena: {rule}; it answers {} {}",
        answer.status,
        answer.beginning()
    )))
}

fn get(url: &str) -> Result<Answer> {
    send("GET", url, &[], Sent::Nothing)
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn is_json(answer: &Answer) -> bool {
    answer
        .header("content-type")
        .starts_with("application/json")
}

fn body_is(answer: &Answer, wanted: &str, rule: &str) -> Result<()> {
    hold(
        answer.status == 200 && answer.text().trim() == wanted,
        rule,
        answer,
    )
}

/// Checks GET, POST with a length, POST in chunks, sums that were not requested before, and requests in pieces.
pub(super) fn baseline(base: &str) -> Result<()> {
    let url = format!("{base}/baseline11?a=13&b=42");
    let text = [("content-type", "text/plain")];
    body_is(&get(&url)?, "55", "GET adds a and b")?;
    let whole = |body: &str| send("POST", &url, &text, Sent::Whole(body.as_bytes()));
    body_is(&whole("20")?, "75", "POST adds a, b and the body")?;
    let chunked = send("POST", &url, &text, Sent::Chunked(b"20"))?;
    body_is(&chunked, "75", "POST in chunks adds a, b and the body")?;
    body_is(
        &get(&format!("{base}/baseline11?a=417&b=806"))?,
        "1223",
        "GET adds other numbers too",
    )?;
    for number in [377, 8214] {
        let sum = (55 + number).to_string();
        body_is(
            &whole(&number.to_string())?,
            &sum,
            "POST adds another body too",
        )?;
    }
    in_pieces(
        base,
        &[
            "GET /baseli",
            "ne11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        ],
        "55",
    )?;
    in_pieces(
        base,
        &[
            "GET /baseline11?a=13&b=42 HTTP/1.1\r\n",
            "Host: localhost\r\n",
            "Connection: close\r\n",
            "\r\n",
        ],
        "55",
    )?;
    let head = "POST /baseline11?a=13&b=42 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";
    in_pieces(base, &[head, "2", "0"], "75")
}

/// Sends a request whose parts are 30 ms apart, and checks the body.
fn in_pieces(base: &str, pieces: &[&str], wanted: &str) -> Result<()> {
    let failed = |e: std::io::Error| Problem::failed(format!("a request in pieces: {e}"));
    let mut stream = TcpStream::connect(base.trim_start_matches("http://")).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .map_err(failed)?;
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            std::thread::sleep(Duration::from_millis(30));
        }
        stream.write_all(piece.as_bytes()).map_err(failed)?;
    }
    let mut bytes = Vec::new();
    // A server that does not close the connection in time has still answered.
    if let Err(e) = stream.read_to_end(&mut bytes)
        && bytes.is_empty()
    {
        return Err(failed(e));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    // The body as a line of its own, which a chunked response has too.
    if body.lines().any(|line| line == wanted) {
        return Ok(());
    }
    Err(Problem::Failed(format!(
        "breaks a rule of HttpArena: a request in {} pieces is answered; it answers {text}",
        pieces.len()
    )))
}

pub(super) fn pipelined(base: &str) -> Result<()> {
    body_is(
        &get(&format!("{base}/pipeline"))?,
        "ok",
        "GET /pipeline is ok",
    )
}

/// Checks that the response has as many items as the path asks for, each with its total. The counts are not those that
/// are measured.
pub(super) fn json(base: &str) -> Result<()> {
    for (count, multiplier) in [(12, 1), (22, 3), (31, 5), (50, 7)] {
        let answer = get(&format!("{base}/json/{count}?m={multiplier}"))?;
        let json = json_of(&answer);
        let items = json["items"].as_array().cloned().unwrap_or_default();
        let is_right = |item: &Value| {
            let number = |name: &str| item[name].as_u64().unwrap_or(0);
            item["total"].as_u64() == Some(number("price") * number("quantity") * multiplier)
        };
        let rule = "/json/COUNT?m=M has COUNT items with their totals, as application/json";
        let holds = items.len() == count
            && json["count"].as_u64() == Some(count as u64)
            && items.iter().all(is_right)
            && is_json(&answer);
        hold(holds, rule, &answer)?;
    }
    Ok(())
}

/// Checks that the server counts the bytes of bodies that it cannot know before.
pub(super) fn upload(base: &str) -> Result<()> {
    for length in [17, 48, 500_000, 2_000_000, 10_000_000, 20_971_520] {
        let body: Vec<u8> = (0..length).map(|at: usize| (at * 31 % 251) as u8).collect();
        let kind = [("content-type", "application/octet-stream")];
        let answer = send("POST", &format!("{base}/upload"), &kind, Sent::Whole(&body))?;
        body_is(
            &answer,
            &length.to_string(),
            "/upload answers how many bytes came",
        )?;
    }
    Ok(())
}

/// Checks that each file is sent completely, with its type, and that a missing one is 404.
pub(super) fn files(base: &str) -> Result<()> {
    for (name, length) in data::FILES {
        let answer = get(&format!("{base}/static/{name}"))?;
        hold(
            answer.status == 200 && answer.body.len() == length,
            "a file is sent whole",
            &answer,
        )?;
    }
    for (name, kinds) in [
        ("reset.css", &["text/css"][..]),
        ("app.js", &["application/javascript", "text/javascript"]),
        ("manifest.json", &["application/json"]),
    ] {
        let answer = get(&format!("{base}/static/{name}"))?;
        let kind = answer.header("content-type").to_owned();
        hold(
            kinds.iter().any(|one| kind.starts_with(one)),
            &format!("{name} is of type {}, not {kind:?}", kinds[0]),
            &answer,
        )?;
    }
    let missing = get(&format!("{base}/static/nonexistent.txt"))?;
    hold(
        missing.status == 404,
        "a file that is not there is 404",
        &missing,
    )
}

fn is_item(item: &Value) -> bool {
    item["rating"]["score"].is_i64() && item["tags"].is_array() && item["active"].is_boolean()
}

/// Checks that the response has as many rows as requested, in their shape, and none if no row matches.
pub(super) fn async_db(base: &str) -> Result<()> {
    for (min, max, limit) in [(5, 80, 7), (20, 150, 18), (100, 400, 33), (10, 50, 50)] {
        let answer = get(&format!(
            "{base}/async-db?min={min}&max={max}&limit={limit}"
        ))?;
        let json = json_of(&answer);
        let items = json["items"].as_array().cloned().unwrap_or_default();
        let holds = items.len() == limit && items.iter().all(is_item) && is_json(&answer);
        hold(
            holds,
            "/async-db has LIMIT items with tags, active and rating, as application/json",
            &answer,
        )?;
    }
    let none = get(&format!("{base}/async-db?min=9999&max=9999&limit=50"))?;
    hold(
        json_of(&none)["count"] == 0,
        "an empty range has no items",
        &none,
    )
}

/// Checks pages, cached and uncached items, and new and changed ones.
pub(super) fn crud(base: &str) -> Result<()> {
    let url = |rest: &str| format!("{base}/crud/items{rest}");
    let page = get(&url("?category=electronics&page=1&limit=5"))?;
    let json = json_of(&page);
    let items = json["items"].as_array().cloned().unwrap_or_default();
    let holds = items.len() == 5
        && json["total"].as_u64() > Some(0)
        && json["page"] == 1
        && items.iter().all(is_item);
    hold(holds, "a page has five items, total and page", &page)?;
    let one = get(&url("/1"))?;
    hold(json_of(&one)["id"] == 1, "an item has its id", &one)?;
    cached(&url("/42"), "MISS")?;
    cached(&url("/42"), "HIT")?;
    let missing = get(&url("/999999"))?;
    hold(
        missing.status == 404,
        "an item that is not there is 404",
        &missing,
    )?;
    let kind = [("content-type", "application/json")];
    let new = br#"{"id":200001,"name":"Bench Test","category":"test","price":25,"quantity":10}"#;
    let created = send("POST", &url(""), &kind, Sent::Whole(new))?;
    hold(created.status == 201, "a new item is 201", &created)?;
    let read = get(&url("/200001"))?;
    hold(
        json_of(&read)["id"] == 200_001,
        "a new item can be read",
        &read,
    )?;
    let change = br#"{"name":"Updated","price":30,"quantity":5}"#;
    let updated = send("PUT", &url("/200001"), &kind, Sent::Whole(change))?;
    hold(updated.status == 200, "a changed item is 200", &updated)?;
    cached(&url("/200001"), "MISS")
}

fn cached(url: &str, wanted: &str) -> Result<()> {
    let answer = get(url)?;
    let rule = format!("X-Cache is {wanted}, not {:?}", answer.header("x-cache"));
    hold(answer.header("x-cache") == wanted, &rule, &answer)
}
