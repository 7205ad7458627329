//! The control socket: a client sends one line of JSON, the server answers with one line.

mod client;
mod server;
mod socket;

use serde::{Deserialize, Serialize};

use crate::cache::CacheQuestion;
use crate::status::Status;

pub use self::client::{Found, Trust, query, status_at};
pub(crate) use self::server::serve;
pub(crate) use self::socket::open;

/// The action that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Status,
    /// Answered when the new generation serves, or has failed to.
    Reload,
    /// Answered when the server has stopped.
    Stop,
    /// A question about the cache, in [`Question::cache`].
    Cache,
    /// The memory of the cache, for a script ([`ipc::request_cache_memory`]).
    CacheMemory,
}

/// The line that a client sends.
#[derive(Debug, Serialize, Deserialize)]
pub struct Question {
    verb: Verb,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<CacheQuestion>,
    /// The build id of the process that asks for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
}

impl Question {
    pub fn verb(&self) -> Verb {
        self.verb
    }
}

impl From<Verb> for Question {
    fn from(verb: Verb) -> Question {
        Question {
            verb,
            cache: None,
            build: None,
        }
    }
}

impl From<CacheQuestion> for Question {
    fn from(question: CacheQuestion) -> Question {
        Question {
            verb: Verb::Cache,
            cache: Some(question),
            build: None,
        }
    }
}

/// The line that the server answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    Done(String),
    Failed(String),
    Status(Box<Status>),
}
