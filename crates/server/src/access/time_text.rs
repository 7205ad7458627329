//! The time of a line of the access log, in UTC as in the server's log; its text is made once a second.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

#[derive(Default)]
pub(super) struct TimeText {
    second: u64,
    /// `23/Nov/2026:21:50:40 +0000`
    common: String,
    /// `2026-11-23T21:50:40`
    iso: String,
    milliseconds: u32,
}

impl TimeText {
    /// Updates the text to the current time.
    pub(super) fn update(&mut self) -> &TimeText {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        self.milliseconds = now.subsec_millis();
        if now.as_secs() != self.second {
            self.set(now.as_secs());
        }
        self
    }

    fn set(&mut self, second: u64) {
        self.second = second;
        let second = i64::try_from(second).unwrap_or_default();
        let at = Timestamp::from_second(second).unwrap_or_default();
        self.common = at.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string();
        self.iso = at.strftime("%Y-%m-%dT%H:%M:%S").to_string();
    }

    pub(super) fn common(&self) -> &str {
        &self.common
    }

    /// Returns the text without the zone, and the milliseconds that follow the text.
    pub(super) fn iso(&self) -> (&str, u32) {
        (&self.iso, self.milliseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_of_a_second() {
        let mut time = TimeText::default();
        time.set(1_709_164_799);
        assert_eq!(time.common(), "28/Feb/2024:23:59:59 +0000");
        assert_eq!(time.iso().0, "2024-02-28T23:59:59");
        assert_ne!(time.update().common(), "28/Feb/2024:23:59:59 +0000");
    }
}
