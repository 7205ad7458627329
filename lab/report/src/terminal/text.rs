//! Text that fits a terminal and cannot control it.

use unicode_width::UnicodeWidthStr as _;

pub(super) fn pad(text: &str, width: usize, right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    if right {
        blanks + text
    } else {
        text.to_owned() + &blanks
    }
}

/// Removes control characters: a server's response must not control the terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// Returns the beginning of the text that fits, with an ellipsis if the text is longer.
pub(crate) fn clip(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text;
    }
    let mut short = String::new();
    for letter in text.chars() {
        if short.width() + 2 > width {
            break;
        }
        short.push(letter);
    }
    short.trim_end().to_owned() + "…"
}

/// Renders a paragraph whose first line begins with `mark` and whose other lines have the same indent.
pub(super) fn wrapped(mark: &str, text: &str, width: usize) -> String {
    let plain = mark.replace("\x1b[33m", "").replace("\x1b[0m", "");
    let indent = plain.width();
    let mut out = mark.to_owned();
    let mut at = indent;
    for (index, word) in clean(text).split_whitespace().enumerate() {
        if index > 0 && at + 1 + word.width() > width {
            out += &format!("\n{}", " ".repeat(indent));
            at = indent;
        } else if index > 0 {
            out.push(' ');
            at += 1;
        }
        out += word;
        at += word.width();
    }
    out + "\n"
}
