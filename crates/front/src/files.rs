//! The files of a classic site, which need no worker.

use http::request::Parts;
use http::{HeaderName, HeaderValue};
use http1::Fields;
use hyper::{Response, StatusCode};
use ipc::FrontSite;
use site::Site;

use crate::reply::Reply;

/// Look at the site now: links in its path are resolved once, so that a release stays what it was until the reload.
pub(crate) fn site(place: &FrontSite) -> std::io::Result<Site> {
    Site::of_app(&place.app, &place.follow, &place.deny)
}

/// The file that this request names. Everything else, refusals too, is the workers': they decide by the same code.
pub(crate) fn answer(site: &Site, head: &Parts) -> Option<Response<Reply>> {
    let file = site.file(head.uri.path())?;
    let fields: Fields = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let answer = file.answer(head.method.as_str().as_bytes(), &fields);
    let mut response = Response::new(Reply::File(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.head.status).ok()?;
    for (name, value) in answer.head.fields.iter() {
        let name = HeaderName::from_bytes(name).ok()?;
        response
            .headers_mut()
            .append(name, HeaderValue::from_bytes(value).ok()?);
    }
    Some(response)
}
