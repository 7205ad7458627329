//! Preloading: nothing, all classes, those of one page, or those of the traffic.

use super::{Arm, Around, Requests, Scenario, Shape, Work, fair_arms};
use crate::apps::Content;
use crate::runtimes::Form;
use std::ops::RangeInclusive;

/// The number of classes of the app.
const CLASSES: u32 = 400;
/// The classes of each page: six of eleven requests are for the first, three for the second, two for the third.
const PAGES: [RangeInclusive<u32>; 3] = [1..=100, 51..=150, 201..=240];
const PAGE: &str = "/?page=1";
const REQUESTS: &str = "6 /?page=1\n3 /?page=2\n2 /?page=3";

pub(super) const ALL: &[Scenario] = &[Scenario {
    name: "preload",
    title: "Preloading",
    shows: "opcache.preload with no list, with all 400 classes, with the 100 of one page, with the 190 of the traffic of three pages; under requests for that page, and for all three",
    seed: Some("php74-preloading.txt"),
    body: Some("ok"),
    has_paths: true,
    one_of_each: true,
    check: "/?page=1",
    arms,
    ..Scenario::NEW
}];

/// Returns each strategy and the classes on its list.
fn lists() -> [(&'static str, Vec<u32>); 4] {
    let mut of_traffic: Vec<u32> = PAGES.into_iter().flatten().collect();
    of_traffic.sort_unstable();
    of_traffic.dedup();
    [
        ("none", Vec::new()),
        ("naive", (1..=CLASSES).collect()),
        ("optimised", PAGES[0].clone().collect()),
        ("traffic", of_traffic),
    ]
}

fn arms(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for (variant, listed) in lists() {
        let content = Content {
            scenario: "preload".to_owned(),
            code: code!("preload"),
            takes_request: true,
            classes: CLASSES,
            more: vec![("preload-list.php".to_owned(), list(&listed).into_bytes())],
            ..Content::default()
        };
        let serious = fair_arms(around, Work::Computes, &content)
            .into_iter()
            .filter(|arm| arm.runtime.form() != Form::Native);
        arms.extend(serious.map(|mut arm| {
            if !listed.is_empty() {
                arm.ini.push((
                    "opcache.preload".to_owned(),
                    "{app}/preload-list.php".to_owned(),
                ));
            }
            arm.front_controller = true;
            let load = |variant: &str, lines: &str| Shape {
                variant: variant.to_owned(),
                requests: Some(Requests::Lines(lines.into())),
                ..arm.loads[0].clone()
            };
            let loads = vec![load("", PAGE), load("three pages", REQUESTS)];
            Arm {
                variant: variant.to_owned(),
                against: Some("none".to_owned()),
                loads,
                ..arm
            }
        }));
    }
    arms
}

fn list(listed: &[u32]) -> String {
    let mut text = String::from("<?php\n\n");
    for number in listed {
        text += &format!("require_once __DIR__ . '/classes/C{number:03}.php';\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_long_as_their_title_says() {
        let lengths = lists().map(|(name, list)| (name, list.len()));
        assert_eq!(
            lengths,
            [
                ("none", 0),
                ("naive", 400),
                ("optimised", 100),
                ("traffic", 190)
            ]
        );
    }
}
