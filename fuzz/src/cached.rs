//! The cache's memory, as another process may have left it.

use std::sync::atomic::Ordering;

use cache::{Cache, Encoding, Write, describe};

/// Overwrites words of a small cache and writes values of any bytes: whatever the memory contains, every operation ends,
/// and a value that is written afterwards and not refused can be read.
///
/// # Panics
/// If that does not hold.
pub fn cached(bytes: &[u8]) {
    let _ = describe(Encoding::Plain, 0, bytes);
    let Ok(fd) = Cache::create(256 * 1024) else {
        return;
    };
    let (cache, words) = (
        Cache::map(&fd).expect("it was made"),
        shm::Mapping::of(&fd).expect("it was made"),
    );
    for key in 0..20_u8 {
        write(&cache, key, bytes);
    }
    // The lock is the C library's: only the memory that it protects is overwritten.
    for change in bytes.chunks_exact(6) {
        let (place, value) = change.split_at(3);
        let place = place
            .iter()
            .fold(0, |place, byte| place << 8 | usize::from(*byte));
        let value = value
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        words[16 + place % (words.len() - 16)].store(value, Ordering::Relaxed);
    }
    let mut read = Vec::new();
    for key in 0..40_u8 {
        let _ = cache.read(&[key], &mut read);
        let _ = write(&cache, key, &read.clone());
    }
    let _ = (
        cache.clear(),
        cache.largest_entries(5),
        cache.delete(&[7]),
        cache.delete_tag(b"tag"),
    );
}

fn write(cache: &Cache, key: u8, bytes: &[u8]) -> bool {
    let key = [key];
    let write = Write {
        tags: &[b"tag"],
        ..Write::plain(&key, &bytes[..bytes.len().min(5000)])
    };
    cache.write(&write).is_ok()
}
