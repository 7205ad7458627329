//! Static files, which the front sends without a worker.

use std::io;

use config::{Mode, Settings};
use http1::{RequestHead, Response};
use site::{PublicFolder, Site};

use crate::response::{ResponseBody, plain};

/// The files of a classic site, or those in the public folder of a resident app.
pub(crate) enum Files {
    Site(Site),
    Public(PublicFolder),
}

impl Files {
    /// Opens the app's files. Symbolic links in the path are resolved once, now, so that a release stays the same until the
    /// reload.
    pub(crate) fn of_app(settings: &Settings) -> io::Result<Option<Files>> {
        match settings.mode {
            Mode::Classic => {
                let site = Site::of_app(&settings.app, &settings.site)?;
                Ok(Some(Files::Site(site)))
            }
            Mode::Resident => Ok(PublicFolder::of_app(&settings.site)?.map(Files::Public)),
        }
    }

    /// Returns the response to a request that names a file. In a classic site all other requests, also those to be refused,
    /// go to the workers, which decide by the same code.
    pub(crate) fn answer(&self, head: &RequestHead) -> Option<Response<ResponseBody>> {
        let found = match self {
            Files::Site(site) => {
                let file = site.file(head.path());
                file.map(|file| Ok(site.send(file, head)))
            }
            Files::Public(folder) => folder.answer(head).transpose(),
        };
        Some(match found? {
            Ok(response) => response.map(ResponseBody::File),
            Err(error) => {
                let target = String::from_utf8_lossy(head.resource());
                logging::warning!("cannot look up {target}: {error}");
                plain(500, "Internal Server Error\n")
            }
        })
    }
}
