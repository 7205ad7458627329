use crate::sample::{self, Is, cell, cell_of, scenario, setting};
use report::compare::{Gate, compare};
use report::stats::Change;
use report::terminal::Style;
use report::{Cell, Run};

fn run(cells: Vec<Cell>) -> Run {
    Run {
        scenarios: vec![scenario("basic", "Hello", "hello", cells)],
        ..sample::run()
    }
}

fn hearth(rate: f64) -> Cell {
    cell(&Is {
        rate,
        cpu_us: 900_000.0 / rate,
        ..Is::default()
    })
}

#[test]
fn a_run_compared_with_itself_has_not_changed() {
    let one = sample::run();
    let found = compare(
        &one,
        &one,
        Gate {
            max_regress: Some(0.01),
            ..Gate::default()
        },
    );
    assert!(found.rows.len() > 100, "{}", found.rows.len());
    assert!(found.rows.iter().all(|row| row.change == Change::NotShown));
    assert_eq!(found.exit_code(), 0);
    assert!(
        found
            .cautions
            .iter()
            .any(|caution| caution.contains("by chance alone"))
    );
}

#[test]
fn a_slower_run_is_a_regression_beyond_the_gate_only() {
    let (before, after) = (run(vec![hearth(10_000.0)]), run(vec![hearth(9_000.0)]));
    let with = |share| {
        compare(
            &before,
            &after,
            Gate {
                max_regress: Some(share),
                ..Gate::default()
            },
        )
    };
    assert_eq!(with(0.05).exit_code(), 1);
    assert_eq!(with(0.20).exit_code(), 0);
    let found = with(0.05);
    let style = Style {
        width: 100,
        colours: false,
    };
    let text = found.text(style);
    assert!(text.contains("regression: basic: Hearth"), "{text}");
    assert!(
        text.contains("10,003/s →") || text.contains("worse"),
        "{text}"
    );
    assert!(found.markdown().contains("**worse**"));
    let back = compare(&after, &before, Gate::default());
    assert_eq!(back.rows[0].change, Change::More);
    assert_eq!(back.exit_code(), 0, "without a gate nothing fails");
}

#[test]
fn what_is_not_alike_is_listed_and_not_compared() {
    let mut closes = hearth(9_000.0);
    closes.keep_alive = false;
    let mut slow = hearth(9_000.0);
    slow.config = vec![setting("opcache.enable", "0")];
    let failing = cell(&Is {
        rate: 9_000.0,
        failed: 4_000,
        ..Is::default()
    });
    for (after, why) in [
        (closes, "keeps connections"),
        (slow, "opcache.enable was 1, now 0"),
        (failing, "requests failed"),
    ] {
        let found = compare(
            &run(vec![hearth(10_000.0)]),
            &run(vec![after]),
            Gate::default(),
        );
        assert!(
            found.rows.is_empty() && found.skipped[0].1.contains(why),
            "{:?}",
            found.skipped
        );
        assert_eq!(found.exit_code(), 2);
    }
    let preloads = |path: &str| {
        let mut cell = hearth(10_000.0);
        cell.config = vec![setting("opcache.preload", path)];
        run(vec![cell])
    };
    let same = compare(
        &preloads("/tmp/a/list.php"),
        &preloads("/tmp/b/list.php"),
        Gate::default(),
    );
    assert!(
        !same.rows.is_empty(),
        "the folder of a run is not a setting"
    );
    let mut other_body = run(vec![hearth(9_000.0)]);
    other_body.scenarios[0].body_sha256 = Some("another".to_owned());
    let found = compare(&run(vec![hearth(10_000.0)]), &other_body, Gate::default());
    assert_eq!(found.skipped[0].1, "the bodies differ");
}

#[test]
fn two_machines_are_not_compared_unless_allowed() {
    let before = run(vec![hearth(10_000.0)]);
    let mut after = before.clone();
    after.host.processor = "another".to_owned();
    let refused = compare(&before, &after, Gate::default());
    assert!(
        refused
            .refused
            .as_ref()
            .is_some_and(|why| why.contains("processor"))
    );
    let style = Style {
        width: 100,
        colours: false,
    };
    assert!(refused.text(style).contains("--across-machines"));
    let allowed = compare(
        &before,
        &after,
        Gate {
            across_machines: true,
            ..Gate::default()
        },
    );
    assert!(!allowed.rows.is_empty() && allowed.cautions[0].contains("machines differ"));
}

#[test]
fn few_repeats_show_less() {
    let of = |rate, rounds| {
        run(vec![cell_of(
            &Is {
                rate,
                ..Is::default()
            },
            rounds,
        )])
    };
    let single = compare(
        &of(10_000.0, 1),
        &of(5_000.0, 1),
        Gate {
            max_regress: Some(0.05),
            ..Gate::default()
        },
    );
    assert_eq!(
        (single.rows[0].change, single.exit_code()),
        (Change::NotShown, 0),
        "one repeat shows nothing"
    );
    let three = compare(&of(10_000.0, 3), &of(5_000.0, 3), Gate::default());
    assert_eq!(three.rows[0].change, Change::Less);
}
