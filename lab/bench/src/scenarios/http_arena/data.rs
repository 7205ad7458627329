//! Data in the shape that HttpArena's rules prescribe: 50 items, 20 files.

use serde_json::json;

const CATEGORIES: [&str; 5] = ["electronics", "office", "garden", "sports", "books"];
const TAGS: [&str; 6] = ["fast", "new", "sale", "compact", "eco", "popular"];

/// Names and lengths of the files: scripts, styles, pages, fonts and pictures, as a page has them.
pub(super) const FILES: [(&str, usize); 20] = [
    ("reset.css", 8_192),
    ("layout.css", 25_600),
    ("theme.css", 18_432),
    ("components.css", 204_800),
    ("utilities.css", 61_440),
    ("analytics.js", 12_288),
    ("helpers.js", 22_528),
    ("app.js", 204_800),
    ("vendor.js", 307_200),
    ("router.js", 35_840),
    ("header.html", 122_880),
    ("footer.html", 56_320),
    ("regular.woff2", 18_432),
    ("bold.woff2", 22_528),
    ("logo.svg", 15_344),
    ("icon-sprite.svg", 71_680),
    ("hero.webp", 46_080),
    ("thumb1.webp", 8_192),
    ("thumb2.webp", 6_144),
    ("manifest.json", 2_883),
];

/// Returns a file's content: lines of text that differ from file to file.
pub(super) fn file(name: &str, length: usize) -> Vec<u8> {
    let line = |number: usize| format!("/* {name} line {number}: {} */\n", number * 7919 % 10_007);
    let text: String = (0..length / 20).map(line).collect();
    text.into_bytes().into_iter().take(length).collect()
}

/// Returns the 50 items as JSON; all numbers are integers.
pub(super) fn dataset() -> String {
    let item = |number: usize| {
        let tags: Vec<&str> = (0..=number % 3)
            .map(|at| TAGS[(number + at) % TAGS.len()])
            .collect();
        json!({
            "id": number + 1,
            "name": format!("Item number {}", number + 1),
            "category": CATEGORIES[number % CATEGORIES.len()],
            "price": number * 73 % 400 + 5,
            "quantity": number * 31 % 20 + 1,
            "active": !number.is_multiple_of(3),
            "tags": tags,
            "rating": { "score": number * 47 % 50 + 1, "count": number * 53 % 500 + 10 },
        })
    };
    serde_json::Value::from((0..50).map(item).collect::<Vec<_>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_lengths() {
        for (name, length) in FILES {
            assert_eq!(file(name, length).len(), length, "{name}");
        }
    }
}
