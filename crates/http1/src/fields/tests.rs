//! Names and values of fields, and the characters that they must not contain.

use super::*;

#[test]
fn names_are_found_in_any_case_and_kept_as_they_came() {
    let mut fields: Fields = [("Host", "a"), ("X-One", "1"), ("x-one", "2"), ("Empty", "")]
        .into_iter()
        .collect();
    assert_eq!(fields.get("HOST"), Some(&b"a"[..]));
    assert_eq!(fields.get("empty"), Some(&b""[..]));
    assert_eq!(fields.get("hos"), None);
    let all: Vec<_> = fields.get_all("x-ONE").collect();
    assert_eq!(all, [b"1", b"2"]);
    fields.set("Host", "b");
    assert!(fields.remove("X-ONE") && !fields.remove("x-one"));
    let mut out = Vec::new();
    fields.write_to(&mut out);
    assert_eq!(out, b"Empty: \r\nHost: b\r\n");
    assert_eq!(fields.len(), 2);
}

#[test]
fn a_fixed_field_can_be_added_to() {
    let mut fields = Fields::fixed(StaticHeader::new("A: b"));
    assert_eq!(fields.get("a"), Some(&b"b"[..]));
    fields.push("C", "");
    let mut out = Vec::new();
    fields.write_to(&mut out);
    assert_eq!(out, b"A: b\r\nC: \r\n");
}

#[test]
fn what_would_break_a_message_is_refused() {
    let mut fields = Fields::new();
    for (name, value) in [
        (&b"X"[..], &b"a\r\nb"[..]),
        (b"X", b"a\nb"),
        (b"X", b"a\0"),
        (b"X", b"\x7f"),
        (b"X Y", b""),
        (b"X:", b""),
        (b"", b"a"),
        (b"\xe4", b"a"),
    ] {
        assert_eq!(fields.try_push(name, value), Err(Malformed));
    }
    assert!(fields.is_empty());
    assert_eq!(fields.try_push(b"x!#$%&'*+-.^_`|~", b"\ta \xff"), Ok(()));
}

#[test]
fn tokens_of_lists() {
    let fields: Fields = [("Connection", "Keep-Alive, close ,"), ("connection", "x")]
        .into_iter()
        .collect();
    assert!(fields.has_token("connection", "CLOSE"));
    assert!(fields.has_token("connection", "x"));
    assert!(!fields.has_token("connection", "keep"));
}
