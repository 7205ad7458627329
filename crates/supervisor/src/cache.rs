//! `hearth cache`: questions about the cache that come through the control socket, and their answers.

use cache::{Cache, Encoding, Refused, Write};
use cache_link::Tiered;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question about the cache, or a change to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheQuestion {
    Get(CacheKey),
    Set {
        key: CacheKey,
        value: Value,
        /// Seconds.
        ttl: Option<f64>,
    },
    Delete(CacheKey),
    /// Empties a namespace, or with no names the whole cache.
    Clear(Namespace),
    /// Ends the sessions of all visitors.
    EndSessions,
    /// The largest entries, up to this number.
    Top(u32),
    Stats,
}

/// A namespace within a namespace: their names, the outermost first. A name may have any bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Namespace(pub Vec<Vec<u8>>);

impl Namespace {
    /// Returns the prefix of its keys, which is the name of its tag, too.
    fn prefix(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|name| [name, &b"\0"[..]].concat())
            .collect()
    }

    /// Returns the tags of the values in it: one for each namespace that they are in.
    fn tags(&self) -> Vec<Vec<u8>> {
        (1..=self.0.len())
            .map(|depth| Namespace(self.0[..depth].to_vec()).prefix())
            .collect()
    }

    fn shown(&self) -> String {
        shown(&self.0.join(&0))
    }
}

/// A key as PHP code names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheKey {
    pub namespace: Namespace,
    /// Any bytes.
    pub name: Vec<u8>,
}

impl CacheKey {
    fn bytes(&self) -> Result<Vec<u8>, String> {
        if self.name.is_empty() {
            return Err(refusal_text(Refused::Key));
        }
        Ok([self.namespace.prefix(), self.name.clone()].concat())
    }

    fn shown(&self) -> String {
        shown(&self.name)
    }
}

fn refusal_text(refused: Refused) -> String {
    match refused {
        Refused::TooLarge { most } => format!(
            "the value is too large: an entry takes at most {most} bytes, half of cache.size"
        ),
        Refused::Full => "the cache is full of locks".into(),
        Refused::LockTimeout => "another process has held the cache's lock for 5 s".into(),
        Refused::Key => "a key has 1 to 1024 bytes".into(),
        Refused::NotHeld => "another request has the session".into(),
        Refused::NotInt | Refused::Overflow => "the value is not an int".into(),
        Refused::Away => "redis is away (cache.redis)".into(),
        Refused::Denied => "redis refused the operation (cache.redis); the log says why".into(),
    }
}

/// Answers with a text for the terminal.
pub(crate) fn answer(cache: Tiered<'_>, question: &CacheQuestion) -> Result<String, String> {
    match question {
        CacheQuestion::Get(key) => get(cache, key),
        CacheQuestion::Set { key, value, ttl } => set(cache, key, value, *ttl),
        CacheQuestion::Delete(key) => match cache.delete(&key.bytes()?).map_err(refusal_text)? {
            true => Ok(format!("{} is deleted", key.shown())),
            false => Err(none(key)),
        },
        CacheQuestion::Clear(namespace) if namespace.0.is_empty() => {
            cache.clear().map_err(refusal_text)?;
            Ok("the cache is empty".into())
        }
        CacheQuestion::Clear(namespace) => {
            cache
                .delete_tag(&namespace.prefix())
                .map_err(refusal_text)?;
            Ok(format!("the namespace {} is empty", namespace.shown()))
        }
        CacheQuestion::EndSessions => {
            let count = cache.memory().end_sessions().map_err(refusal_text)?;
            Ok(format!("{count} sessions have ended"))
        }
        CacheQuestion::Top(count) => top(cache.memory(), *count),
        CacheQuestion::Stats => Ok(stats(cache.memory())),
    }
}

fn none(key: &CacheKey) -> String {
    let mut text = format!("there is no value with the key {}", key.shown());
    if !key.namespace.0.is_empty() {
        text += &format!(" in the namespace {}", key.namespace.shown());
    }
    text
}

fn get(cache: Tiered<'_>, key: &CacheKey) -> Result<String, String> {
    let mut bytes = Vec::new();
    let found = cache
        .read(&key.bytes()?, &mut bytes)
        .map_err(refusal_text)?;
    let found = found.ok_or_else(|| none(key))?;
    cache::describe(found.encoding, found.int, &bytes)
        .ok_or_else(|| "the bytes are not a value".into())
}

fn set(
    cache: Tiered<'_>,
    key: &CacheKey,
    value: &Value,
    ttl: Option<f64>,
) -> Result<String, String> {
    let tags = key.namespace.tags();
    let tags: Vec<&[u8]> = tags.iter().map(Vec::as_slice).collect();
    let mut bytes = Vec::new();
    let int = value.as_i64();
    encode(value, &mut bytes)?;
    let ttl = match ttl {
        Some(seconds) if seconds <= 0.0 || seconds.is_nan() => {
            return Err("--ttl must be a number of seconds greater than 0".into());
        }
        Some(seconds) => (seconds * 1e6) as u64,
        None => 0,
    };
    cache
        .write(&Write {
            encoding: if int.is_some() {
                Encoding::Int
            } else {
                Encoding::Plain
            },
            int: int.unwrap_or_default(),
            ttl,
            tags: &tags,
            ..Write::plain(&key.bytes()?, &bytes)
        })
        .map_err(refusal_text)?;
    Ok(format!("{} is written", key.shown()))
}

/// Encodes a value in the form that `cache::describe` reads.
fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let length = |length: usize| u32::try_from(length).map_err(|_| "the value is too long");
    match value {
        Value::Null => out.push(0),
        Value::Bool(is) => out.push(1 + u8::from(*is)),
        Value::Number(number) => match number.as_i64() {
            Some(int) => out.extend([&[3][..], &int.to_le_bytes()].concat()),
            None => {
                let fraction = number.as_f64().unwrap_or_default();
                out.extend([&[4][..], &fraction.to_le_bytes()].concat());
            }
        },
        Value::String(text) => {
            out.push(5);
            out.extend(length(text.len())?.to_le_bytes());
            out.extend(text.as_bytes());
        }
        Value::Array(items) => {
            out.push(6);
            out.extend(length(items.len())?.to_le_bytes());
            items.iter().try_for_each(|item| encode(item, out))?;
        }
        Value::Object(items) => {
            out.push(7);
            out.extend(length(items.len())?.to_le_bytes());
            for (key, item) in items {
                match array_index(key) {
                    Some(index) => out.extend([&[3][..], &index.to_le_bytes()].concat()),
                    None => encode(&Value::String(key.clone()), out)?,
                }
                encode(item, out)?;
            }
        }
    }
    Ok(())
}

/// Returns the integer for a string key that is a decimal integer: PHP converts such keys.
fn array_index(key: &str) -> Option<i64> {
    key.parse::<i64>()
        .ok()
        .filter(|index| index.to_string() == key)
}

/// The key as `namespace: key`, with bytes that are no text as `\xff`, and characters escaped that a terminal would interpret.
fn shown(key: &[u8]) -> String {
    let mut text = String::new();
    for chunk in key.utf8_chunks() {
        text += &logging::escaped(&chunk.valid().replace('\0', ": "));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

fn top(cache: &Cache, count: u32) -> Result<String, String> {
    let entries = cache
        .largest_entries(count as usize)
        .map_err(refusal_text)?;
    let mut text = String::from("    bytes  reads  expires in  key");
    for entry in entries {
        let left = entry
            .left
            .map_or("-".into(), |left| format!("{:.1} s", left as f64 / 1e6));
        let reads = match entry.reads {
            3.. => "3+".into(),
            reads => reads.to_string(),
        };
        text += &format!(
            "\n{:>9}  {reads:>5}  {left:>10}  {}",
            entry.size,
            shown(&entry.key)
        );
    }
    Ok(text)
}

fn stats(cache: &Cache) -> String {
    let figures = cache.stats().figures();
    let lines = figures.map(|(name, value)| format!("{name:<12} {value}"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let memory = Cache::map(&Cache::create(1 << 20).unwrap()).unwrap();
        let cache = Tiered::new(&memory, None);
        let within =
            |names: &[&str]| Namespace(names.iter().map(|name| name.as_bytes().to_vec()).collect());
        let key = |names: &[&str]| CacheKey {
            namespace: within(names),
            name: b"k\xff".to_vec(),
        };
        let write = |key, value| {
            answer(
                cache,
                &CacheQuestion::Set {
                    key,
                    value,
                    ttl: None,
                },
            )
        };
        for (value, shown) in [
            (json!("text"), "\"text\""),
            (json!(-5), "-5"),
            (json!([1, 1.5, null, true]), "[1, 1.5, null, true]"),
            (json!({"a": {"7": []}}), "[\"a\" => [7 => []]]"),
        ] {
            for names in [&["n"][..], &["n", "inner"]] {
                write(key(names), value.clone()).unwrap();
                let read = answer(cache, &CacheQuestion::Get(key(names)));
                assert_eq!(read.as_deref(), Ok(shown));
            }
        }
        for names in [&[][..], &["inner"], &["n", "other"]] {
            let error = answer(cache, &CacheQuestion::Get(key(names))).unwrap_err();
            assert!(error.contains("no value"), "{error}");
        }
        let top = answer(cache, &CacheQuestion::Top(5)).unwrap();
        assert!(top.contains(r"n: k\xff"), "{top}");
        let is_there = |names: &[&str]| answer(cache, &CacheQuestion::Get(key(names))).is_ok();
        let clear = |names: &[&str]| answer(cache, &CacheQuestion::Clear(within(names))).unwrap();
        assert_eq!(clear(&["n", "inner"]), "the namespace n: inner is empty");
        assert!(is_there(&["n"]) && !is_there(&["n", "inner"]));
        write(key(&["n", "inner"]), json!(1)).unwrap();
        clear(&["n"]);
        assert!(!is_there(&["n"]) && !is_there(&["n", "inner"]));
    }
}
