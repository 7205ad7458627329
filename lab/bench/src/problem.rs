//! Why a command failed, in words for its user.

/// A failure that a cell of the matrix, or the command, reports.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The command line or a file it names is wrong.
    #[error("{0}")]
    Usage(String),
    /// A program could not be started, did not answer, or answered wrongly.
    #[error("{0}")]
    Failed(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Problem {
    /// Returns a failure with its cause.
    pub(crate) fn failed(what: impl std::fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }
}

/// The result of an operation whose failure the user must be told.
pub(crate) type Result<T> = std::result::Result<T, Problem>;
