//! Numbers as text: one format for a duration, a count, a rate, a size.
//!
//! Every view uses these functions, so that the same value looks the same everywhere.

/// Formats a count: `1234567` → `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a rate: whole numbers above 100, three digits below.
#[must_use]
pub fn rate(value: f64) -> String {
    if value >= 100.0 {
        count(value.round() as u64)
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats nanoseconds as `850 ns`, `12.3 µs`, `4.56 ms`, `1.20 s`.
#[must_use]
pub fn duration(nanos: f64) -> String {
    match nanos {
        n if n < 1_000.0 => format!("{n:.0} ns"),
        n if n < 1_000_000.0 => format!("{} µs", three(n / 1e3)),
        n if n < 1_000_000_000.0 => format!("{} ms", three(n / 1e6)),
        n if n < 120e9 => format!("{} s", three(n / 1e9)),
        n => format!("{:.1} min", n / 60e9),
    }
}

/// Formats a value with three significant digits, without an exponent.
#[must_use]
pub fn three(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats bytes as `152 B`, `14.2 kB`, `3.10 MB`, `1.20 GB` (powers of 1000).
#[must_use]
pub fn bytes(value: f64) -> String {
    match value {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{} kB", three(b / 1e3)),
        b if b < 1e9 => format!("{} MB", three(b / 1e6)),
        b => format!("{} GB", three(b / 1e9)),
    }
}

/// Formats a share (0 to 1) as a percentage.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value != 0.0 && value.abs() < 0.1 {
        format!("{value:.3} %")
    } else {
        format!("{value:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(rate(52_451.86), "52,452");
        assert_eq!(rate(3.217), "3.22");
        assert_eq!(duration(850.0), "850 ns");
        assert_eq!(duration(12_340.0), "12.3 µs");
        assert_eq!(duration(4_560_000.0), "4.56 ms");
        assert_eq!(duration(1_200_000_000.0), "1.20 s");
        assert_eq!(duration(180e9), "3.0 min");
        assert_eq!(bytes(152.0), "152 B");
        assert_eq!(bytes(3_100_000.0), "3.10 MB");
        assert_eq!(percent(0.406), "40.6 %");
        assert_eq!(percent(0.00012), "0.012 %");
    }
}
