//! The output of a child process, collected while it runs, so that a test can wait for a line instead of sleeping.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct Text {
    lines: Vec<String>,
    ended: bool,
}

/// The output so far. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Log {
    shared: Arc<(Mutex<Text>, Condvar)>,
}

impl Log {
    /// Collects from `source` on a thread until its end, which comes when the last process that can write has ended.
    pub fn collect(source: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let shared = Arc::clone(&log.shared);
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&line)
                    .trim_end_matches('\n')
                    .to_owned();
                shared
                    .0
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .lines
                    .push(text);
                shared.1.notify_all();
                line.clear();
            }
            shared
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .ended = true;
            shared.1.notify_all();
        });
        log
    }

    /// Returns all lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.shared
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .lines
            .clone()
    }

    /// Returns all text so far.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Waits for the first line at or after index `from` that contains `part`, and returns it with its index; `None`
    /// after `timeout` or at the end of the text.
    pub fn wait_from(&self, from: usize, part: &str, timeout: Duration) -> Option<(usize, String)> {
        let until = Instant::now() + timeout;
        let mut text = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let found = text
                .lines
                .iter()
                .enumerate()
                .skip(from)
                .find(|(_, line)| line.contains(part));
            if let Some((index, line)) = found {
                return Some((index, line.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if text.ended || left.is_zero() {
                return None;
            }
            text = self
                .shared
                .1
                .wait_timeout(text, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Waits as [`Log::wait_from`] does, from the first line.
    pub fn wait(&self, part: &str, timeout: Duration) -> Option<String> {
        self.wait_from(0, part, timeout).map(|(_, line)| line)
    }

    /// Waits for the end of the text, when every process that held it open has ended; returns false after `timeout`.
    pub fn wait_end(&self, timeout: Duration) -> bool {
        let text = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, _) = self
            .shared
            .1
            .wait_timeout_while(text, timeout, |text| !text.ended)
            .unwrap_or_else(PoisonError::into_inner);
        text.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_a_line_and_for_the_end() {
        let log = Log::collect(&b"one\ntwo\nhalf"[..]);
        assert!(log.wait_end(Duration::from_secs(5)));
        assert_eq!(
            log.wait("tw", Duration::from_secs(5)).as_deref(),
            Some("two")
        );
        assert_eq!(log.wait_from(2, "two", Duration::from_secs(5)), None);
        assert_eq!(log.text(), "one\ntwo\nhalf");
    }
}
