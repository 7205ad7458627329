use crate::sample::{self, Is, cell, cell_of, scenario};
use report::claims::{Answer, Line, lines};
use report::{Cell, Run};

fn line(lines: &[Line], id: &str) -> Line {
    lines
        .iter()
        .find(|line| line.claim.id == id)
        .unwrap_or_else(|| panic!("no {id}"))
        .clone()
}

#[test]
fn every_write_up_has_its_claims_and_every_claim_a_check() {
    let lines = lines(&Run::default());
    for (file, _) in report::seeds::WRITE_UPS {
        assert!(lines.iter().any(|line| line.claim.seed == file), "{file}");
    }
    assert!(lines.iter().all(|line| line.answer == Answer::NotMeasured));
    for line in &lines {
        assert!(!line.here.is_empty(), "{}", line.claim.id);
        assert!(!line.here.contains("unknown metric"), "{}", line.claim.id);
        let same = lines.iter().filter(|other| other.claim.id == line.claim.id);
        assert_eq!(same.count(), 1, "{} twice", line.claim.id);
    }
    let unchecked: Vec<&str> = lines
        .iter()
        .filter(|line| line.here == "not measured by this program")
        .map(|line| line.claim.id.as_str())
        .collect();
    assert_eq!(unchecked, ["S3-21", "S3-28", "S3-30", "S3-31", "S3-11"]);
}

#[test]
fn the_sample_agrees_with_some_and_differs_from_some() {
    let lines = lines(&sample::run());
    let answer_of = |id: &str| {
        let line = line(&lines, id);
        (line.answer, line.here)
    };
    let (answer, here) = answer_of("S1-03");
    assert_eq!(answer, Answer::Agrees, "{here}");
    assert!(
        here.contains("basic_class_load") && here.contains("×3.7"),
        "{here}"
    );
    assert_eq!(
        answer_of("S1-12").0,
        Answer::Differs,
        "{}",
        answer_of("S1-12").1
    );
    // Swoole is not there, so Hearth stands in and is named.
    assert!(answer_of("S1-10").1.contains("Hearth (basic)"));
    let (answer, here) = answer_of("S1-06");
    assert_eq!(answer, Answer::Agrees, "{here}");
    assert!(
        here.contains("as in the write-up, 500 connections"),
        "{here}"
    );
    assert_eq!(
        answer_of("S3-26").0,
        Answer::Agrees,
        "{}",
        answer_of("S3-26").1
    );
    assert_eq!(
        answer_of("S4-18").0,
        Answer::Agrees,
        "a size that was read back is exact"
    );
    assert_eq!(
        answer_of("S5-38").0,
        Answer::Agrees,
        "{}",
        answer_of("S5-38").1
    );
    assert!(
        answer_of("S3-35")
            .1
            .contains("of 1, 2, 4, 6, 8, 12, 16 are enough"),
        "{}",
        answer_of("S3-35").1
    );
    assert_eq!(
        answer_of("S3-07"),
        (
            Answer::NotMeasured,
            "not part of this run: keepalive, on".to_owned()
        )
    );
}

#[test]
fn the_cells_that_decide_are_those_of_the_first_server_that_is_here() {
    let key = |runtime: &str, variant: &str| report::CellKey {
        runtime: runtime.to_owned(),
        variant: variant.to_owned(),
        connections: 100,
        ..report::CellKey::default()
    };
    let cells = [
        key("hearth", "pdo"),
        key("webman", "pdo"),
        key("webman", "builder"),
        key("webman", "plain SQL"),
        key("apache", "pdo"),
    ];
    let decide = |cells: &[report::CellKey]| report::claims::rest_on("orm", cells);
    assert_eq!(decide(&cells), [false, true, true, false, false]);
    let without_webman = [cells[0].clone(), cells[4].clone()];
    assert_eq!(decide(&without_webman), [true, false]);
    assert_eq!(report::claims::rest_on("json", &cells), [false; 5]);
}

fn orm(cells: Vec<Cell>) -> Run {
    Run {
        scenarios: vec![scenario("orm", "ORM", "layers", cells)],
        ..Run::default()
    }
}

#[test]
fn what_the_interval_allows_both_ways_is_not_decided() {
    let of = |variant, rate, rounds| {
        cell_of(
            &Is {
                variant,
                rate,
                ..Is::default()
            },
            rounds,
        )
    };
    let decided = orm(vec![of("pdo", 1000.0, 6), of("builder", 500.0, 6)]);
    assert_eq!(line(&lines(&decided), "S3-26").answer, Answer::Agrees);
    let near = orm(vec![of("pdo", 1000.0, 6), of("builder", 750.0, 6)]);
    assert_eq!(line(&lines(&near), "S3-26").answer, Answer::NotShown);
    let one = orm(vec![of("pdo", 1000.0, 1), of("builder", 500.0, 1)]);
    let one = line(&lines(&one), "S3-26");
    assert_eq!(one.answer, Answer::NotShown, "{}", one.here);
    let equal = orm(vec![of("pdo", 1000.0, 6), of("builder", 1000.0, 6)]);
    assert_eq!(line(&lines(&equal), "S3-26").answer, Answer::Differs);
}

#[test]
fn a_missing_cell_says_why() {
    let mut run = orm(vec![cell(&Is {
        variant: "pdo",
        ..Is::default()
    })]);
    assert!(
        line(&lines(&run), "S3-26")
            .here
            .contains("not part of this run: orm, builder")
    );
    run.scenarios[0].cells.push(Cell {
        runtime: "hearth".to_owned(),
        variant: "builder".to_owned(),
        status: report::Status::Failed {
            why: "php-illuminate-database is not installed".to_owned(),
        },
        ..Cell::default()
    });
    assert!(
        line(&lines(&run), "S3-26")
            .here
            .contains("failed: php-illuminate-database")
    );
}
