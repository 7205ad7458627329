//! Files that PHP names and this worker sends: `Response::file()`, and `X-Accel-Redirect` and `X-Sendfile` where
//! `site.sendfile` has folders for them.

use std::fmt::Display;

use http1::{Fields, RequestHead, ResponseHead};
use logging::Severity;
use php::{Body, Request, Response};
use site::sendfile::{HEADERS, Sendfile, SendfileHeader};
use site::{Representation, StaticFile};

use super::body::ResponseBody;
use super::{HttpResponse, plain};

/// Adds the field that Symfony's `BinaryFileResponse`, and so Laravel's, looks for before it leaves the sending to the
/// server.
pub(crate) fn offer(sendfile: &Sendfile, head: &mut RequestHead) {
    if sendfile.is_on() {
        head.fields.set("X-Sendfile-Type", "X-Sendfile");
        head.fields.remove("X-Accel-Mapping");
    }
}

/// Returns the response with the file that PHP's response names instead of a body, if it names one; its head is used up
/// then.
pub(crate) fn answer(
    request: &Request,
    sendfile: &Sendfile,
    response: &mut Response,
) -> Option<HttpResponse> {
    if let Body::File(path) = &response.body {
        return Some(match StaticFile::open(path.as_ref()) {
            Ok(file) => send(request.head(), file, taken(&mut response.head)),
            Err(error) => not_sent(request, format_args!("Response::file({path})"), &error),
        });
    }
    if !response.known.file || !sendfile.is_on() {
        return None;
    }
    let wanted = SendfileHeader::of(&response.head.fields)?;
    if let Body::Stream(pipe) = &response.body {
        // Otherwise the task that writes the body would wait for a reader.
        pipe.hang_up();
    }
    Some(match sendfile.open(&wanted) {
        Ok(file) => {
            let head = without_page_type(taken(&mut response.head));
            send(request.head(), file, head)
        }
        Err(why) => not_sent(request, wanted, &why),
    })
}

fn taken(head: &mut ResponseHead) -> ResponseHead {
    std::mem::replace(head, ResponseHead::new(200))
}

fn not_sent(request: &Request, what: impl Display, why: &impl Display) -> HttpResponse {
    logging::write(
        Severity::Error,
        request.id(),
        format_args!("cannot send the file that PHP names: {what}: {why}"),
    );
    plain(404, "Not Found\n")
}

/// Removes the type `text/html`, which is PHP's default if the script sets none: the file's name decides then.
fn without_page_type(mut head: ResponseHead) -> ResponseHead {
    let is_page = |value: &[u8]| value.is_empty() || value.starts_with(b"text/html");
    if head.fields.get("Content-Type").is_some_and(is_page) {
        head.fields.remove("Content-Type");
    }
    head
}

/// Answers with the file. PHP's fields override those of the file, except the length: the response may be a part of the
/// file.
fn send(request: &RequestHead, file: StaticFile, mut head: ResponseHead) -> HttpResponse {
    let mut file = Representation::new(file);
    if let Some(tag) = head.fields.text("ETag").filter(|tag| tag.starts_with('"')) {
        file = file.with_tag(tag);
    }
    let mut answer = match head.status {
        200 => file.answer_any(request.method(), &request.fields),
        status => {
            let mut answer = file.whole(request.is_head());
            answer.head.status = status;
            answer
        }
    }
    .map(ResponseBody::file);
    for name in ["Content-Length", "Transfer-Encoding"]
        .into_iter()
        .chain(HEADERS)
    {
        head.fields.remove(name);
    }
    if let 304 | 412 | 416 = answer.head.status {
        head.fields.remove("Content-Type");
    }
    overwrite(&mut answer.head.fields, &head.fields);
    answer
}

fn overwrite(fields: &mut Fields, by: &Fields) {
    for (name, _) in by.iter() {
        fields.remove(name);
    }
    for (name, value) in by.iter() {
        // The fields were validated when they came from PHP.
        let _ = fields.try_push(name, value);
    }
}
