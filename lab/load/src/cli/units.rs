//! Values as users type them: `10s`, `500ms`, `2m`, `1k`, `10s@100..500`.

use crate::plan::Think;
use crate::schedule::Stage;
use std::time::Duration;

/// Parses `10s`, `500ms`, `2m`, `1h`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let cut = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(cut);
    let scale = match unit.trim() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        other => {
            return Err(format!(
                "unknown unit {other:?}; write 500ms, 10s, 2m or 1h"
            ));
        }
    };
    let value: f64 = number
        .parse()
        .map_err(|_| format!("{text:?} is not a time; write 500ms, 10s, 2m or 1h"))?;
    Duration::try_from_secs_f64(value * scale).map_err(|_| format!("{text:?} is too long"))
}

/// Parses `1000`, `10k`, `1.5M`.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let (digits, scale) = match text.chars().last() {
        Some('k' | 'K') => (&text[..text.len() - 1], 1e3),
        Some('m' | 'M') => (&text[..text.len() - 1], 1e6),
        _ => (text, 1.0),
    };
    let value = digits
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite() && *value >= 0.0);
    value
        .map(|value| value * scale)
        .ok_or_else(|| format!("{text:?} is not a number; write 1000, 10k or 1.5M"))
}

/// Parses a whole number above 0, written as for [`number`].
pub(crate) fn count(text: &str) -> Result<u64, String> {
    match number(text)? {
        value if value >= 1.0 && value.fract() == 0.0 => Ok(value as u64),
        _ => Err(format!("{text:?} must be a whole number above 0")),
    }
}

/// Parses a list of whole numbers: `1,10,100`.
pub(crate) fn counts(text: &str) -> Result<Vec<u64>, String> {
    text.split(',').map(|one| count(one.trim())).collect()
}

/// Parses a list of rates: `1000,2000`.
pub(crate) fn rates(text: &str) -> Result<Vec<f64>, String> {
    text.split(',')
        .map(|one| match number(one.trim())? {
            rate if rate > 0.0 => Ok(rate),
            _ => Err(format!("{one:?}: a rate must be above 0")),
        })
        .collect()
}

/// Parses `30s@50,1m@50..200`: for each stretch a length and a rate, or two rates for a ramp.
pub(crate) fn stages(text: &str) -> Result<Vec<Stage>, String> {
    text.split(',')
        .map(|one| {
            let (length, rate) = one
                .trim()
                .split_once('@')
                .ok_or_else(|| format!("{one:?} has no @; write 30s@100 or 30s@100..500"))?;
            let (from, to) = rate.split_once("..").unwrap_or((rate, rate));
            let stage = Stage {
                length: duration(length)?,
                from: number(from)?,
                to: number(to)?,
            };
            if stage.length.is_zero() || stage.from + stage.to <= 0.0 {
                return Err(format!("{one:?}: length and rate must be above 0"));
            }
            Ok(stage)
        })
        .collect()
}

/// Parses `200ms`, or `exp:200ms` for an exponential pause with that mean.
pub(crate) fn think(text: &str) -> Result<Think, String> {
    match text.strip_prefix("exp:") {
        Some(mean) => duration(mean).map(Think::Exponential),
        None => duration(text).map(Think::Fixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("ten").is_err() && duration("3 weeks").is_err() && duration("").is_err());
    }

    #[test]
    fn numbers() {
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(counts("1,10,100"), Ok(vec![1, 10, 100]));
        assert!(
            count("0").is_err()
                && count("1.5").is_err()
                && count("-3").is_err()
                && count("NaN").is_err()
        );
        assert!(rates("0").is_err());
    }

    #[test]
    fn stretches() {
        let all = stages("30s@50,1m@50..200").unwrap();
        assert_eq!(
            all[1],
            Stage {
                length: Duration::from_secs(60),
                from: 50.0,
                to: 200.0
            }
        );
        assert!(stages("30s").is_err() && stages("0s@5").is_err() && stages("1s@0").is_err());
        assert_eq!(
            think("exp:1s"),
            Ok(Think::Exponential(Duration::from_secs(1)))
        );
    }
}
