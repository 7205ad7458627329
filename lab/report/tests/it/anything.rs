//! Any run renders, whatever is in it, and no text of it becomes anything but text.

use crate::sample::{self, Is, cell_of, scenario};
use proptest::prelude::*;
use report::terminal::{Style, summary};
use report::{Cell, Column, Run, Status};

const HOSTILE: &str = "<script>alert(1)</script>\"'&|`*_\x1b[31m\n<img src=x onerror=alert(1)>";

/// Keys whose values are words from outside: of a server, a file, the user.
const WORDS: [&str; 30] = [
    "name",
    "title",
    "shows",
    "why",
    "how",
    "value",
    "variant",
    "version",
    "path",
    "missing",
    "limit",
    "notes",
    "requests",
    "command",
    "kernel",
    "processor",
    "php",
    "noisy",
    "change",
    "loops",
    "axis",
    "body_sha256",
    "evidence",
    "advice",
    "pinned",
    "runtime",
    "id",
    "virtual_machine",
    "governor",
    "server_header",
];

fn poison(value: &mut serde_json::Value, key: &str) {
    match value {
        serde_json::Value::String(text) if WORDS.contains(&key) => text.push_str(HOSTILE),
        serde_json::Value::Array(values) => values.iter_mut().for_each(|one| poison(one, key)),
        serde_json::Value::Object(fields) => {
            for (name, one) in fields.iter_mut() {
                poison(one, name);
            }
        }
        _ => {}
    }
}

fn hostile() -> Run {
    let mut value: serde_json::Value = serde_json::from_str(&sample::run().json()).unwrap();
    poison(&mut value, "");
    serde_json::from_value(value).unwrap()
}

#[test]
fn text_stays_text() {
    let run = hostile();
    let page = report::html(&run);
    assert!(page.contains("&lt;script&gt;"), "it is shown");
    assert!(!page.contains("<script") && !page.contains("<img"));
    // No quote of the data ends an attribute.
    assert!(!page.contains("&lt;/script&gt;\"'"));
    for markdown in [report::markdown(&run), report::readme::section(&run)] {
        let lines = markdown
            .lines()
            .filter(|line| !line.starts_with("hearth bench "));
        let unescaped: String = lines.map(|line| line.replace("\\<", "")).collect();
        let raw = unescaped.find("<script").or(unescaped.find("<img"));
        let beginning = raw.map(|at| unescaped[..at].chars().rev().take(80).collect::<String>());
        assert_eq!(
            beginning.map(|text| text.chars().rev().collect::<String>()),
            None
        );
    }
    let style = Style {
        width: 100,
        colours: false,
    };
    let text = summary(&run, style);
    assert!(
        !text.contains('\x1b'),
        "a server's answer must not steer the terminal"
    );
}

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1e-9), 0.1_f64..1e6, Just(1e15)]
}

prop_compose! {
    fn any_cell()(
        runtime in prop::sample::select(vec!["hearth", "apache", "fpm", "other <&>", ""]),
        variant in prop::sample::select(vec!["", "pdo", "query", "group 1 pool on"]),
        seed in any::<bool>(),
        x in prop::option::of(prop_oneof![Just(0.0), 1.0_f64..64.0]),
        connections in prop::sample::select(vec![0_u32, 1, 100, 500]),
        rate in figure(),
        cpu_us in figure(),
        failed in prop::sample::select(vec![0_u64, 1, 100_000]),
        rounds in 0_u32..8,
        failing in any::<bool>(),
    ) -> Cell {
        let column = if seed { Column::AsSeed } else { Column::Fair };
        let mut cell = cell_of(&Is { runtime, variant, column, x, connections: connections.max(1), rate: rate.min(1e7), failed, cpu_us, limit: "" }, rounds);
        cell.connections = connections;
        if failing {
            cell.status = Status::Failed { why: String::new() };
        }
        cell
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_run_renders(
        cells in prop::collection::vec(any_cell(), 0..9),
        axis in any::<bool>(),
        name in prop::sample::select(vec!["basic", "orm", "pool", "worker_sweep", "??"]),
        width in 1_usize..200,
    ) {
        let mut one = scenario(name, "", "", cells);
        one.axis = axis.then(|| "workers".to_owned());
        let run = Run { scenarios: vec![one], ..Run::default() };
        let page = report::html(&run);
        prop_assert!(!page.contains("NaN") && !page.contains("inf%"));
        let texts = [
            summary(&run, Style { width, colours: true }),
            report::markdown(&run),
            report::readme::section(&run),
            report::compare::compare(&run, &run, report::compare::Gate::default()).markdown(),
        ];
        for text in texts {
            prop_assert!(!text.contains("NaN"), "{}", text);
        }
    }
}
