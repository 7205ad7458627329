//! The files of a classic site, which need no worker.

use config::Settings;
use http1::{RequestHead, Response};
use site::Site;

use crate::response::ResponseBody;

/// Look at the site now: links in its path are resolved once, so that a release stays what it was until the reload.
pub(crate) fn site(settings: &Settings) -> std::io::Result<Site> {
    Site::of_app(&settings.app, &settings.follow, &settings.deny)
}

/// The file that this request names. Everything else, refusals too, is the workers': they decide by the same code.
pub(crate) fn answer(site: &Site, head: &RequestHead) -> Option<Response<ResponseBody>> {
    let file = site.file(head.path())?;
    Some(
        file.answer(head.method(), &head.fields)
            .map(ResponseBody::File),
    )
}
