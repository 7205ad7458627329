use super::*;
use proptest::prelude::*;

const ALL: Keep = Keep {
    body: usize::MAX,
    error_body: 0,
    head: true,
};

fn read(parts: &[&[u8]]) -> Result<(Reader, Progress), Bad> {
    let (mut reader, mut cache) = (Reader::default(), HeadCache::default());
    let mut progress = Progress::More;
    for part in parts {
        progress = reader.feed(part, false, ALL, &mut cache)?;
    }
    Ok((reader, progress))
}

#[test]
fn a_simple_response() {
    let (reader, progress) = read(&[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]).unwrap();
    assert_eq!(
        (reader.status, reader.body.as_slice(), progress),
        (200, &b"ok"[..], Progress::Done(40))
    );
    assert!(reader.keep_alive);
}

#[test]
fn surplus_is_seen() {
    let (_, progress) = read(&[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore"]).unwrap();
    assert_eq!(progress, Progress::Done(40));
}

#[test]
fn interim_responses_are_skipped() {
    let (reader, _) =
        read(&[b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"]).unwrap();
    assert_eq!(reader.status, 204);
}

#[test]
fn http_1_0_is_kept_only_on_request() {
    let (reader, _) = read(&[b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"]).unwrap();
    assert!(!reader.keep_alive);
    let (reader, _) =
        read(&[b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"]).unwrap();
    assert!(reader.keep_alive);
}

#[test]
fn no_length_means_until_close() {
    let (reader, progress) = read(&[b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"]).unwrap();
    assert_eq!(
        (reader.ends_at_close(), progress, reader.body_bytes),
        (true, Progress::More, 6)
    );
}

#[test]
fn bad_bytes_are_refused() {
    assert!(read(&[b"SSH-2.0-OpenSSH_9.2\r\n"]).is_err());
    assert!(read(&[b"HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\n"]).is_err());
    assert!(read(&[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n"]).is_err());
    assert!(read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]).is_err());
    assert!(read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"]).is_err());
}

fn chunked(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in parts {
        bytes.extend(format!("{:x};name=value\r\n", part.len()).bytes());
        bytes.extend(part);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"0\r\nTrailer: yes\r\n\r\n");
    bytes
}

proptest! {
    #[test]
    fn chunks_cut_anywhere_give_the_body(
        parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..50), 0..6),
        cuts in proptest::collection::vec(1_usize..30, 1..40),
    ) {
        let bytes = chunked(&parts);
        let (mut reader, mut cache) = (Reader::default(), HeadCache::default());
        let (mut at, mut cut, mut last) = (0, cuts.iter().cycle(), Progress::More);
        while at < bytes.len() {
            let end = (at + cut.next().unwrap()).min(bytes.len());
            last = reader.feed(&bytes[at..end], false, ALL, &mut cache).unwrap();
            prop_assert_eq!(matches!(last, Progress::Done(_)), end == bytes.len());
            at = end;
        }
        prop_assert!(matches!(last, Progress::Done(_)));
        prop_assert_eq!(&reader.body, &parts.concat());
        prop_assert_eq!(reader.body_bytes as usize, parts.concat().len());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&[&bytes]);
        let mut with_head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        with_head.extend(&bytes);
        let _ = read(&[&with_head]);
    }
}
