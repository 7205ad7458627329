//! The end of a process: the exit status and the end of its channel arrive in either order.

use std::time::Duration;

/// How long after a process's end its own and its parent's channel are read. A copy of it (`pcntl_fork()`) may keep its
/// channel open.
pub(crate) const LAST_MESSAGES: Duration = Duration::from_millis(100);

/// The known facts of a process's end. Its last message may contain the reason, so that is read before the process counts as
/// ended.
#[derive(Debug, Default)]
pub(crate) struct ProcessExit {
    is_closed: bool,
    status: Option<i32>,
}

impl ProcessExit {
    /// Marks the channel as read to the end. Returns the exit status if the process has exited already.
    pub(crate) fn close(&mut self) -> Option<i32> {
        self.is_closed = true;
        self.status
    }

    /// Stores the exit status. Returns whether the channel is read to the end.
    pub(crate) fn exit(&mut self, status: i32) -> bool {
        self.status = Some(status);
        self.is_closed
    }

    /// The exit status; `None` if the parent has not reported it.
    pub(crate) fn status(&self) -> Option<i32> {
        self.status
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessExit;

    #[test]
    fn a_process_has_ended_when_it_exited_and_its_channel_is_closed() {
        let mut exits_first = ProcessExit::default();
        assert!(!exits_first.exit(256));
        assert_eq!(exits_first.close(), Some(256));
        let mut closes_first = ProcessExit::default();
        assert_eq!(closes_first.close(), None);
        assert!(closes_first.exit(9));
    }
}
