//! The sample in a terminal, as Markdown and in the README. `SNAPSHOTS=overwrite cargo test -p report` takes what there is.

use crate::sample;
use report::terminal::{Style, summary, table};
use snapbox::{assert_data_eq, file};

const PLAIN: Style = Style {
    width: 120,
    colours: false,
};

#[test]
fn the_summary_in_a_wide_terminal() {
    let shown = summary(&sample::run(), PLAIN);
    assert_data_eq!(shown, file!["snapshots/summary.txt"].raw());
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_no_line_is_too_long() {
    let run = sample::run();
    let style = Style {
        width: 72,
        colours: false,
    };
    for scenario in &run.scenarios {
        for line in table(&run, scenario, style).lines() {
            assert!(line.chars().count() <= 72 + 9, "{}: {line}", scenario.name);
        }
    }
    let narrow = table(&run, &run.scenarios[0], style);
    assert!(
        narrow.contains("good/s") && narrow.contains("failed"),
        "{narrow}"
    );
    assert!(!narrow.contains("memory"), "{narrow}");
}

#[test]
fn colours_are_for_terminals_only() {
    let run = sample::run();
    assert!(!summary(&run, PLAIN).contains('\x1b'));
    let coloured = summary(
        &run,
        Style {
            width: 120,
            colours: true,
        },
    );
    assert!(coloured.contains("\x1b[32m"));
    // Nothing but the colours differs.
    let plain: String = coloured
        .split('\x1b')
        .enumerate()
        .map(|(index, part)| {
            if index == 0 {
                part
            } else {
                part.split_once('m').unwrap().1
            }
        })
        .collect();
    assert_eq!(plain, summary(&run, PLAIN));
}

#[test]
fn markdown_for_a_pull_request() {
    assert_data_eq!(
        report::markdown(&sample::run()),
        file!["snapshots/report.md"].raw()
    );
}

#[test]
fn the_readmes_section() {
    assert_data_eq!(
        report::readme::section(&sample::run()),
        file!["snapshots/readme.md"].raw()
    );
}

#[test]
fn cells_without_figures_say_why_everywhere() {
    let run = sample::run();
    for shown in [
        summary(&run, PLAIN),
        report::markdown(&run),
        report::html(&run),
    ] {
        assert!(shown.contains("killed in mid-run"), "{shown}");
        assert!(shown.contains("no extension swoole"), "{shown}");
    }
}
