//! Preloading: nothing, everything, or what is used.

use super::webman_guide::without_one_at_a_time;
use super::{Arm, Around, Scenario, Work, fair_arms};
use crate::apps::Content;
use crate::runtimes::Form;

/// Classes that there are, and that a request uses.
const CLASSES: u32 = 400;
const USED: u32 = 100;

pub(super) const ALL: &[Scenario] = &[Scenario {
    name: "preload",
    title: "Preloading",
    shows: "opcache.preload with no list, with all 400 classes, and with the 100 that a request uses",
    seed: Some("php74-preloading.txt"),
    body: Some("ok"),
    arms,
    ..Scenario::NEW
}];

fn arms(around: &Around<'_>) -> Vec<Arm> {
    let mut arms = Vec::new();
    for (variant, listed) in [("none", 0), ("naive", CLASSES), ("optimised", USED)] {
        let content = Content {
            scenario: "preload".to_owned(),
            code: code!("preload"),
            classes: CLASSES,
            more: vec![("preload-list.php".to_owned(), list(listed).into_bytes())],
            ..Content::default()
        };
        let serious = without_one_at_a_time(fair_arms(around, Work::Computes, &content))
            .into_iter()
            .filter(|arm| arm.runtime.form() != Form::Gin);
        arms.extend(serious.map(|mut arm| {
            if listed > 0 {
                arm.ini.push((
                    "opcache.preload".to_owned(),
                    "{app}/preload-list.php".to_owned(),
                ));
            }
            Arm {
                variant: variant.to_owned(),
                ..arm
            }
        }));
    }
    arms
}

fn list(listed: u32) -> String {
    let mut text = String::from("<?php\n\n");
    for number in 1..=listed {
        text += &format!("require_once __DIR__ . '/classes/C{number:03}.php';\n");
    }
    text
}
