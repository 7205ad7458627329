//! Serves the app with a list before it is used: files that change an answer are found by bisection and left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ::preload::{List, culprits};

use super::php::Php;
use super::replay::{Comparison, Expected};
use super::site::Site;
use super::{Failed, files};

/// The most files that may change answers; with more, the list is given up.
const MOST_BROKEN: usize = 20;

/// The result for the recorded paths.
#[derive(Debug)]
pub(super) struct ServeTrial {
    pub(super) compared: Comparison,
    /// The number of paths that fail without the list, too, and the first of them.
    pub(super) failing: Option<(usize, String)>,
}

/// Returns the folder or script that the web server of the recording served.
pub(super) fn app(list: &List) -> Option<PathBuf> {
    let folder = files::absolute(&list.root, &list.document_root);
    let script = files::absolute(&list.root, &list.script);
    let below = !list.script.is_empty() && script.starts_with(&folder);
    match below && folder.is_dir() {
        true => Some(folder),
        false => Some(script).filter(|script| script.is_file()),
    }
}

/// Serves the app with a script as `opcache.preload`, or with none.
pub(super) fn serve(
    php: &Php,
    name: &str,
    app: &Path,
    script: Option<&Path>,
    config: Option<&Path>,
) -> Result<Site, Failed> {
    let script = script.map_or(String::new(), |script| script.display().to_string());
    let settings = [("opcache.enable", "1"), ("opcache.preload", &*script)];
    Site::start(php, name, app, &settings, config)
}

/// Leaves out of the list what changes the answer of a recorded path. `None` if no path can be requested.
pub(super) fn serve_and_mend(
    php: &Php,
    list: &mut List,
    config: Option<&Path>,
) -> Result<Option<ServeTrial>, Failed> {
    let Some(app) = app(list).filter(|_| !list.replays.is_empty()) else {
        return Ok(None);
    };
    let replays = list.replays.clone();
    let expected = Expected::of(&serve(php, "without", &app, None, config)?, &replays)?;
    let with = |list: &List| -> Result<Site, Failed> {
        let text = ::preload::render(list, php.folder.path());
        let script = php.script("serve-trial.php", &text)?;
        serve(php, "with", &app, Some(&script), config)
    };
    for _ in 0..=MOST_BROKEN {
        let compared = expected.compare(&with(list)?)?;
        let Some(first) = compared.differences.first() else {
            let failing = expected.failing();
            return Ok(Some(ServeTrial { compared, failing }));
        };
        let why = format!("changes the response of a request: {}", first.what);
        let path = first.path.unwrap_or(0);
        let found = culprits(list.entries.len(), MOST_BROKEN, |kept| {
            let part = part(list, kept);
            with(&part).is_ok_and(|site| expected.holds(&site, path).unwrap_or(false))
        });
        let Some(found) = found.filter(|found| !found.is_empty()) else {
            return Err(format!("with the list a request gets another response, and no file is found that causes it: {}; --no-replay skips this test", first.what).into());
        };
        let found: BTreeMap<String, String> = found
            .into_iter()
            .map(|number| (list.entries[number].file.clone(), why.clone()))
            .collect();
        list.leave(&found);
    }
    Err(format!("more than {MOST_BROKEN} times a file changed the response of a request").into())
}

/// Returns the list with these entries only, without those that need others.
pub(super) fn part(list: &List, kept: &[usize]) -> List {
    let kept: BTreeSet<usize> = kept.iter().copied().collect();
    let others = list.entries.iter().enumerate();
    let others = others.filter(|(number, _)| !kept.contains(number));
    let others = others.map(|(_, entry)| (entry.file.clone(), String::new()));
    let mut part = list.clone();
    part.leave(&others.collect());
    part
}
