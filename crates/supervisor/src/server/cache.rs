//! Answers questions about the cache that come through the control socket.

use std::os::fd::OwnedFd;

use cache_link::{Client, Tiered, Waiting};
use tokio::sync::oneshot;

use super::Server;
use crate::cache::CacheQuestion;

impl Server {
    /// Answers a question about the cache, on another thread, because the second tier may take a while.
    #[expect(
        clippy::disallowed_methods,
        reason = "this process is never forked, and a question whose caller has left is answered for nothing"
    )]
    pub(super) fn query_cache(
        &self,
        question: CacheQuestion,
        reply: oneshot::Sender<Result<String, String>>,
    ) {
        let Some(shared) = &self.shared.cache else {
            let _ = reply.send(Err("this server has no cache: cache.size is 0".into()));
            return;
        };
        let cache = shared.cache;
        let connector = shared.tier.as_ref().map(|tier| tier.connector.try_clone());
        tokio::task::spawn_blocking(move || {
            let client = connector.and_then(Result::ok);
            let client = client.map(|connector| Client::new(connector, Waiting::PLAIN));
            let cache = Tiered::new(cache, client.as_ref());
            // An error means that the caller has left.
            let _ = reply.send(crate::cache::answer(cache, &question));
        });
    }

    /// The descriptors of the cache's memory, for a process of this build.
    pub(super) fn cache_memory(&self, build: &str) -> Option<Vec<OwnedFd>> {
        let cache = self.shared.cache.as_ref();
        let cache = cache.filter(|_| build == self.build)?;
        cache.fds().ok()
    }
}
