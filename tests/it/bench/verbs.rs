//! What is done with a saved result: compared, shown again, put into a README; and its page in a real browser.

use std::path::Path;
use std::process::{Command, Output};

use testkit::service::Browser;

use super::Bench;

fn bench(folder: &Path, words: &[&str]) -> Output {
    Command::new(testkit::hearth())
        .arg("bench")
        .args(words)
        .current_dir(folder)
        .output()
        .expect("hearth starts")
}

/// True for a command line of the guide that needs no run.
pub(super) fn is_of_a_saved_result(line: &str) -> bool {
    let verb = line.split_whitespace().nth(2);
    verb.is_some_and(|verb| ["compare", "show", "readme"].contains(&verb))
}

/// The guide's command lines on saved results, as they stand there.
fn run_the_guides(folder: &Path) {
    let page =
        std::fs::read_to_string(testkit::checkout().join("docs/guide/bench.md")).expect("the page");
    let lines: Vec<&str> = page
        .lines()
        .filter(|line| is_of_a_saved_result(line))
        .collect();
    assert!(lines.len() >= 4, "{lines:?}");
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().skip(2).collect();
        let output = bench(folder, &words);
        assert!(
            output.status.success(),
            "{line}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_real_result_is_shown_compared_and_put_into_a_readme() {
    let done = Bench::short(&["basic", "--against", "apache,fpm"]).run();
    done.measured(&["apache", "fpm"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("a.json"), done.result.to_string()).expect("written");

    let shown = bench(folder.path(), &["show", "a.json"]);
    let summary = text(&shown.stdout);
    assert!(
        summary.contains("why not double?") && summary.contains("Apache"),
        "{summary}"
    );
    let shown = bench(
        folder.path(),
        &["show", "a.json", "--html", "a.html", "--markdown", "a.md"],
    );
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let markdown = std::fs::read_to_string(file("a.md")).expect("Markdown");
    assert!(
        markdown.contains("### basic") && markdown.contains("| Apache"),
        "{markdown}"
    );
    page_is_whole(&file("a.html"));

    let same = bench(
        folder.path(),
        &["compare", "a.json", "a.json", "--max-regress", "5%"],
    );
    let words = text(&same.stdout);
    assert_eq!(same.status.code(), Some(0), "{words}");
    assert!(words.contains("no change that can be shown"), "{words}");

    let markers = format!(
        "# Site\n\n{}\n{}\n\nEnd\n",
        report::readme::BEGIN,
        report::readme::END
    );
    std::fs::write(file("README.md"), markers).expect("written");
    let readme = bench(folder.path(), &["readme", "a.json"]);
    assert!(readme.status.success(), "{}", text(&readme.stderr));
    let readme = std::fs::read_to_string(file("README.md")).expect("the file");
    assert!(
        readme.contains("| Hello world (`basic`) |") && readme.ends_with("\n\nEnd\n"),
        "{readme}"
    );

    for name in ["before.json", "after.json", "result.json"] {
        std::fs::copy(file("a.json"), file(name)).expect("copied");
    }
    run_the_guides(folder.path());
}

fn page_is_whole(page: &Path) {
    let browser = Browser::start();
    browser.open(&format!("file://{}", page.display()));
    assert_eq!(browser.run("return document.scripts.length"), 0);
    let bars = "return [...document.querySelectorAll('#s-basic .fill')].filter(bar => bar.getBoundingClientRect().width > 1).length";
    assert!(
        browser.run(bars).as_u64() >= Some(2),
        "{}",
        browser.source()
    );
    assert!(browser.find("#claims").text().contains(" claims: "));
    assert!(browser.find("#method").text().contains("indicative"));
}

#[test]
fn what_is_no_result_is_refused_with_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("load.json"),
        r#"{"schema": "hearth-load/1"}"#,
    )
    .expect("written");
    std::fs::write(folder.path().join("other.json"), r#"{"runs": []}"#).expect("written");
    for (words, why) in [
        (&["show", "load.json"][..], "hearth-load/1"),
        (&["show", "other.json"][..], "it names no schema"),
        (&["show", "none.json"][..], "none.json"),
        (&["compare", "load.json"][..], "AFTER"),
        (
            &["compare", "load.json", "load.json", "--max-regress", "x"][..],
            "5%",
        ),
    ] {
        let output = bench(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(
            text(&output.stderr).contains(why),
            "{words:?}: {}",
            text(&output.stderr)
        );
    }
}
