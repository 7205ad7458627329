//! What is sent to Redis for one operation.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisResult, Script, ServerErrorKind};

/// A command, or several that are done as one.
pub(crate) enum Call {
    One(Cmd),
    /// All but the answer of one are ignored.
    Many(Pipeline),
    /// As it, with the answers of several.
    Batch(Pipeline),
}

impl Call {
    pub(crate) fn script(script: &Script, keys: &[Vec<u8>]) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(script.get_hash()).arg(keys.len()).arg(keys);
        command
    }

    /// Before the command, each of these tags gets a version if it has none. It is this connection that gives it, not a script: Redis
    /// takes scripts for another client, and would tell this one of its own change.
    pub(crate) fn making(tags: &[Vec<u8>], version: i64, command: Cmd) -> Call {
        let mut all = beginning(tags, version);
        all.add_command(command);
        Call::Many(all)
    }

    /// The same with several commands, of which each is [signed](Call::signed) by its entry.
    pub(crate) fn batch(tags: &[Vec<u8>], version: i64, commands: Vec<(Cmd, Vec<u8>)>) -> Call {
        let mut all = beginning(tags, version);
        for (command, entry) in commands {
            all.add_command(command);
            sign(&mut all, &entry);
        }
        Call::Batch(all)
    }

    /// After the command, a script that wrote this entry and left `_` in it: for Redis it is then this connection that changed it last,
    /// and it tells all others only.
    pub(crate) fn signed(self, entry: &[u8]) -> Call {
        let mut all = match self {
            Call::Many(all) | Call::Batch(all) => all,
            Call::One(command) => {
                let mut all = redis::pipe();
                all.atomic().add_command(command);
                all
            }
        };
        sign(&mut all, entry);
        Call::Many(all)
    }

    async fn once<T: FromRedisValue>(&self, to: &mut MultiplexedConnection) -> RedisResult<T> {
        match self {
            Call::One(command) => command.query_async(to).await,
            Call::Many(all) => all.query_async::<(T,)>(to).await.map(|(answer,)| answer),
            Call::Batch(all) => all.query_async(to).await,
        }
    }

    /// Redis may have lost the scripts (`SCRIPT FLUSH`).
    pub(crate) async fn send<T: FromRedisValue>(
        &self,
        to: &mut MultiplexedConnection,
        scripts: &[&Script],
    ) -> RedisResult<T> {
        let answer = self.once(to).await;
        let is_lost = |kind| kind == ErrorKind::Server(ServerErrorKind::NoScript);
        if !answer.as_ref().is_err_and(|error| is_lost(error.kind())) {
            return answer;
        }
        for script in scripts {
            script.load_async(to).await?;
        }
        self.once(to).await
    }
}

fn beginning(tags: &[Vec<u8>], version: i64) -> Pipeline {
    let mut all = redis::pipe();
    all.atomic();
    for tag in tags {
        all.cmd("SET").arg(tag).arg(version).arg("NX").ignore();
    }
    all
}

fn sign(all: &mut Pipeline, entry: &[u8]) {
    all.cmd("HDEL").arg(entry).arg("_").ignore();
}
