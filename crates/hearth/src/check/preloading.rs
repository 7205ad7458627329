//! `hearth check`: whether a preload list is likely to pay off.

use super::recommend::RunMode;
use super::scan::Scan;

/// Fewer files than this load in less time than can be measured.
const FEW: usize = 20;

/// Returns the text below the recommendation.
pub(crate) fn preloading(way: RunMode, evidence: &Scan) -> String {
    if way != RunMode::Classic {
        return "preloading: not likely to pay, because classes are loaded once, at boot: a list makes neither requests nor boots faster\n".into();
    }
    let packages = evidence.packages.len();
    let why = if evidence.has("wp-load.php") {
        "may pay a little, because WordPress includes most of its files by name, preloaded or not"
            .into()
    } else if packages > 0 || evidence.has("vendor/autoload.php") {
        format!(
            "likely to pay, because each request has its classes looked for and loaded anew ({packages} packages of Composer)"
        )
    } else if evidence.files < FEW {
        return format!(
            "preloading: not likely to pay, because the site has {} files of PHP and no packages\n",
            evidence.files
        );
    } else {
        format!(
            "may pay: the site has {} files of PHP, and a class costs a request some microseconds",
            evidence.files
        )
    };
    format!(
        "preloading: {why}; to have it measured with your requests:\n    hearth preload record recording\n    hearth preload build recording\n    hearth preload check\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(files: usize, packages: &[&str]) -> String {
        let packages = packages
            .iter()
            .map(|name| ((*name).to_owned(), "1".to_owned()));
        let scan = Scan {
            root: "/no/such/folder".into(),
            packages: packages.collect(),
            files,
            ..Scan::default()
        };
        preloading(RunMode::Classic, &scan)
    }

    #[test]
    fn what_loads_many_classes_per_request_is_likely_to_gain() {
        assert!(advice(3, &["laravel/framework"]).contains("likely to pay, because each request"));
        assert!(advice(200, &[]).contains("may pay: the site has 200 files"));
        assert!(advice(3, &[]).contains("not likely to pay, because the site has 3 files"));
        let resident = preloading(RunMode::OneAtATime, &Scan::default());
        assert!(resident.contains("neither requests nor boots"));
    }
}
