//! The scripts that Redis executes as one step. An entry is a hash, so that a number in it can be incremented and still has
//! tags:
//!
//! | field | content |
//! |---|---|
//! | `v` | the value: an integer in decimal digits, or bytes |
//! | `f` | the number of its encoding, as in the memory |
//! | `s` | how many milliseconds before its expiry another value is to be computed; `0` for never |
//! | `_` | nothing; see `Call::signed` |
//! | `T` and the name of a tag | the version that the tag had; the tag without a name is that of the whole cache |
//!
//! Keys begin with the prefix, then `v:` for entries, `t:` for versions of tags, `c:` for computations, `l:` for locks.

use redis::Script;

/// Returns the fields of an entry that is alive, and removes one that is not.
const READ: &str = "
local function read(key, tags)
  local e = redis.call('HGETALL', key)
  for i = 1, #e, 2 do
    if string.sub(e[i], 1, 1) == 'T' and redis.call('GET', tags .. string.sub(e[i], 2)) ~= e[i + 1] then
      redis.call('UNLINK', key)
      return {}
    end
  end
  return e
end
local function field(e, name)
  for i = 1, #e, 2 do
    if e[i] == name then return e[i + 1] end
  end
end
";

/// KEYS: entry. ARGV: prefix of tags.
const GET: &str = "
local e = read(KEYS[1], ARGV[1])
return {redis.call('PTTL', KEYS[1]), e}
";

/// KEYS: entries. ARGV: prefix of tags. Returns for each the result of [`GET`]; an empty one for a key that is no entry.
const GET_MANY: &str = "
local all = {}
for i = 1, #KEYS do
  local fine, e = pcall(read, KEYS[i], ARGV[1])
  all[i] = {redis.call('PTTL', KEYS[i]), fine and e or {}}
end
return all
";

/// The result of [`GET`] in place of a time if there is no such key.
pub(crate) const NO_KEY: i64 = -2;

/// A write ends the computation of its key, because the computed value would be older.
///
/// KEYS: entry, computation. ARGV: prefix of tags, condition, its two values, ttl, encoding, `s`, value, names of tags and
/// the versions that they must have, empty for any. Returns the versions, or nothing if the condition does not hold.
const WRITE: &str = "
local condition = ARGV[2]
if condition == 'claimed' and redis.call('GET', KEYS[2]) ~= ARGV[3] then return false end
if condition == 'absent' and #read(KEYS[1], ARGV[1]) > 0 then return false end
if condition == 'equal' then
  local e = read(KEYS[1], ARGV[1])
  if field(e, 'f') ~= ARGV[3] or field(e, 'v') ~= ARGV[4] then return false end
end
local fields, versions, dead = {'v', ARGV[8], 'f', ARGV[6], 's', ARGV[7], '_', ''}, {}, false
for i = 9, #ARGV, 2 do
  local now = redis.call('GET', ARGV[1] .. ARGV[i])
  dead = dead or not now or (ARGV[i + 1] ~= '' and now ~= ARGV[i + 1])
  if dead then break end
  versions[#versions + 1] = now
  fields[#fields + 1] = 'T' .. ARGV[i]
  fields[#fields + 1] = now
end
redis.call('UNLINK', KEYS[1])
if condition ~= 'claimed' then redis.call('UNLINK', KEYS[2]) end
if dead then return {} end
redis.call('HSET', KEYS[1], unpack(fields))
if ARGV[5] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return versions
";

/// KEYS: entry, computation. ARGV: prefix of tags, summand, ttl, names of tags.
const ADD: &str = "
local e = read(KEYS[1], ARGV[1])
if #e == 0 then
  local fields = {'v', ARGV[2], 'f', '0', 's', '0'}
  for i = 4, #ARGV do
    fields[#fields + 1] = 'T' .. ARGV[i]
    fields[#fields + 1] = redis.call('GET', ARGV[1] .. ARGV[i])
  end
  redis.call('HSET', KEYS[1], unpack(fields))
  if ARGV[3] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
elseif field(e, 'f') ~= '0' then
  return {-3, {}}
else
  local sum = redis.pcall('HINCRBY', KEYS[1], 'v', ARGV[2])
  if type(sum) == 'table' then return {-4, {}} end
end
redis.call('HSET', KEYS[1], '_', '')
redis.call('UNLINK', KEYS[2])
return {redis.call('PTTL', KEYS[1]), redis.call('HGETALL', KEYS[1])}
";

/// The results of [`ADD`] in place of a time.
pub(crate) const NO_NUMBER: i64 = -3;
pub(crate) const TOO_LARGE: i64 = -4;

/// KEYS: entry, computation. ARGV: prefix of tags.
const DELETE: &str = "
local e = read(KEYS[1], ARGV[1])
redis.call('UNLINK', KEYS[1], KEYS[2])
return #e > 0
";

/// KEYS: entry, computation, and so on. ARGV: prefix of tags. Returns for each entry whether it existed.
const DELETE_MANY: &str = "
local deleted = {}
for i = 1, #KEYS, 2 do
  local fine, e = pcall(read, KEYS[i], ARGV[1])
  redis.call('UNLINK', KEYS[i], KEYS[i + 1])
  deleted[#deleted + 1] = (not fine or #e > 0) and 1 or 0
end
return deleted
";

/// KEYS: computation. ARGV: prefix of tags, token, time. Returns the version of the whole cache.
const CLAIM: &str = "
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then return false end
return redis.call('GET', ARGV[1])
";

/// KEYS: computation. ARGV: token, time; 0 releases the claim.
const KEEP: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('UNLINK', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
";

/// KEYS: lock, last token. ARGV: owner, time, name of the attempt. A token is a time in microseconds, so it also grows if Redis has lost the last
/// one.
const LOCK: &str = "
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local time = redis.call('TIME')
local token = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
if token <= last then token = last + 1 end
local text = string.format('%.0f', token)
redis.call('SET', KEYS[2], text)
redis.call('HSET', KEYS[1], 'o', ARGV[1], 't', text, 'a', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return text
";

/// KEYS: lock. ARGV: token, or name of the attempt that took it; time; 0 releases the lock, -1 only checks it.
const HOLD: &str = "
local lock = redis.call('HMGET', KEYS[1], 't', 'a')
if lock[1] ~= ARGV[1] and lock[2] ~= ARGV[1] then return 0 end
if ARGV[2] == '-1' then return 1 end
if ARGV[2] == '0' then return redis.call('UNLINK', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
";

/// KEYS: lock. ARGV: owner, empty for any. Returns the token.
const HOLDER: &str = "
local lock = redis.call('HMGET', KEYS[1], 'o', 't')
if not lock[1] or (ARGV[1] ~= '' and lock[1] ~= ARGV[1]) then return false end
return lock[2]
";

#[derive(Debug)]
pub(crate) struct Scripts {
    pub(crate) get: Script,
    pub(crate) get_many: Script,
    pub(crate) write: Script,
    pub(crate) add: Script,
    pub(crate) delete: Script,
    pub(crate) delete_many: Script,
    pub(crate) claim: Script,
    pub(crate) keep: Script,
    pub(crate) lock: Script,
    pub(crate) hold: Script,
    pub(crate) holder: Script,
}

impl Scripts {
    pub(crate) fn new() -> Scripts {
        let script = |code: &str| Script::new(&format!("{READ}{code}"));
        Scripts {
            get: script(GET),
            get_many: script(GET_MANY),
            write: script(WRITE),
            add: script(ADD),
            delete: script(DELETE),
            delete_many: script(DELETE_MANY),
            claim: script(CLAIM),
            keep: Script::new(KEEP),
            lock: Script::new(LOCK),
            hold: Script::new(HOLD),
            holder: Script::new(HOLDER),
        }
    }

    pub(crate) fn all(&self) -> [&Script; 11] {
        [
            &self.get,
            &self.get_many,
            &self.write,
            &self.add,
            &self.delete,
            &self.delete_many,
            &self.claim,
            &self.keep,
            &self.lock,
            &self.hold,
            &self.holder,
        ]
    }
}
