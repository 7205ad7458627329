//! The commands that are sent to Redis for one operation.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, FromRedisValue, Pipeline, RedisResult, Script, ServerErrorKind};

/// One command, or several that are executed as a transaction.
pub(crate) enum Call {
    One(Cmd),
    /// A transaction in which the answer of one command is used.
    Many(Pipeline),
    /// A transaction in which the answers of several commands are used.
    Batch(Pipeline),
}

impl Call {
    pub(crate) fn script(script: &Script, keys: &[Vec<u8>]) -> Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(script.get_hash()).arg(keys.len()).arg(keys);
        command
    }

    /// Makes a call that, before the command, gives each of these tags a version if it has none. The connection itself does
    /// that, not a script: Redis counts a script's changes as another client's, and would report them to this connection.
    pub(crate) fn making(tags: &[Vec<u8>], version: i64, command: Cmd) -> Call {
        let mut all = beginning(tags, version);
        all.add_command(command);
        Call::Many(all)
    }

    /// Makes such a call with several commands, each of which is [signed](Call::signed) by its entry.
    pub(crate) fn batch(tags: &[Vec<u8>], version: i64, commands: Vec<(Cmd, Vec<u8>)>) -> Call {
        let mut all = beginning(tags, version);
        for (command, entry) in commands {
            all.add_command(command);
            sign(&mut all, &entry);
        }
        Call::Batch(all)
    }

    /// Adds a command after a script that has written this entry and left the field `_` in it. For Redis this connection has
    /// then changed the entry last, and only other clients get an invalidation.
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

    /// Sends the call; loads the scripts again if Redis has lost them (`SCRIPT FLUSH`).
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
