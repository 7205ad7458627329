//! The output of an app during a trial boot: its length and its beginning.
//!
//! A script that is no app may print a page, or a whole database dump; enough of it is kept to recognise it.

use std::fmt;
use std::io::{self, PipeReader, Read};

const KEPT: usize = 200;

#[derive(Debug, Default)]
pub struct BootOutput {
    start: Vec<u8>,
    length: u64,
}

impl BootOutput {
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads what is available; false at the end of file.
    pub(crate) fn take(&mut self, output: &PipeReader) -> io::Result<bool> {
        let mut buffer = [0; 1 << 16];
        let count = (&*output).read(&mut buffer)?;
        let room = KEPT.saturating_sub(self.start.len()).min(count);
        self.start.extend_from_slice(&buffer[..room]);
        self.length += count as u64;
        Ok(count > 0)
    }

    /// Reads what is in the pipe: its writer, or a program that the app has started, may keep it open.
    pub(crate) fn drain(&mut self, output: &PipeReader) -> io::Result<()> {
        rustix::io::ioctl_fionbio(output, true)?;
        loop {
            match self.take(output) {
                Ok(true) => {}
                Err(e) if e.kind() != io::ErrorKind::WouldBlock => return Err(e),
                Ok(false) | Err(_) => return Ok(()),
            }
        }
    }
}

/// The length of the output, and its first line that is not blank.
impl fmt::Display for BootOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = String::from_utf8_lossy(&self.start);
        let line = start.lines().map(str::trim).find(|line| !line.is_empty());
        let line: String = line.unwrap_or_default().chars().take(80).collect();
        write!(f, "{} bytes, beginning with {line:?}", self.length)
    }
}
