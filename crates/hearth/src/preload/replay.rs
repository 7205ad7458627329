//! Recorded paths asked for again, without and with a list: nothing but the time may differ.

use std::collections::BTreeSet;

use ::preload::Replay;

use super::Failed;
use super::site::Site;

/// What was compared.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) paths: usize,
    /// Bodies that differ from request to request anyway: only their status was compared.
    pub(super) varying: usize,
    /// What the list changes.
    pub(super) differences: Vec<String>,
}

/// Both servers run the same app.
pub(super) fn compare(without: &Site, with: &Site, replays: &[Replay]) -> Result<Compared, Failed> {
    let mut compared = Compared::default();
    for replay in replays {
        let ask = |site: &Site| site.get(&replay.host, &replay.uri);
        // The first fills caches of the app.
        ask(without)?;
        let (one, two) = (ask(without)?, ask(without)?);
        ask(with)?;
        let other = ask(with)?;
        compared.paths += 1;
        let varies = one.body != two.body;
        compared.varying += usize::from(varies);
        if one.status != other.status {
            let difference = format!(
                "GET {}: status {} instead of {}",
                replay.uri, other.status, one.status
            );
            compared.differences.push(difference);
        } else if !varies && one.body != other.body {
            let difference = format!(
                "GET {}: another body, {} bytes instead of {}",
                replay.uri,
                other.body.len(),
                one.body.len()
            );
            compared.differences.push(difference);
        }
    }
    let known: BTreeSet<String> = messages(&without.said()).collect();
    let new: BTreeSet<String> = messages(&with.said())
        .filter(|message| !known.contains(message))
        .collect();
    compared.differences.extend(new.into_iter().take(10));
    Ok(compared)
}

/// PHP's own messages in a log, without what is before them.
fn messages(log: &str) -> impl Iterator<Item = String> + '_ {
    let kinds = [
        "PHP Fatal error:",
        "PHP Parse error:",
        "PHP Warning:",
        "PHP Deprecated:",
        "PHP Notice:",
    ];
    log.lines().filter_map(move |line| {
        let start = kinds.iter().filter_map(|kind| line.find(kind)).min()?;
        Some(line[start..].to_owned())
    })
}
