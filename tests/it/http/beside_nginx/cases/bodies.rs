//! Lengths, codings and chunks.

use super::{CHUNKED, Case, chunks, post, raw};

pub(super) fn all() -> Vec<Case> {
    let mut all = lengths();
    all.extend(codings());
    all.extend(coded_requests());
    all.extend(chunked());
    all.extend(chunk_extensions());
    all.extend(chunk_ends());
    all.extend(trailers());
    all
}

fn lengths() -> Vec<Case> {
    let length =
        |name, value: &str, body: &str| post(name, format!("Content-Length: {value}\r\n"), body);
    vec![
        length("length", "3", "abc"),
        length("length of nothing", "0", ""),
        length(
            "length that is shorter than what comes",
            "3",
            "abcGET /smuggled HTTP/1.1\r\n\r\n",
        ),
        length("length with zeros before it", "0003", "abc"),
        length("length with a plus sign", "+3", "abc"),
        length("length that is negative", "-3", "abc"),
        length("length in hexadecimal", "0x3", "abc"),
        length("length with a point", "3.0", "abc"),
        length("length with a letter behind it", "3a", "abc"),
        length("length with a space in it", "1 0", "abc"),
        length("length that is empty", "", "abc"),
        length("length in quotes", "\"3\"", "abc"),
        length("length that is a list", "3, 3", "abc"),
        length("length that is a list of two", "3, 4", "abc"),
        length("length of 64 bits", "18446744073709551616", "abc"),
        length("length of 63 bits", "9223372036854775808", "abc"),
        length("length with spaces around it", "  3  ", "abc"),
        post(
            "length twice",
            "Content-Length: 3\r\nContent-Length: 3\r\n",
            "abc",
        ),
        post(
            "length twice with two values",
            "Content-Length: 3\r\nContent-Length: 4\r\n",
            "abc",
        ),
        post(
            "length of a field with an underscore",
            "Content_Length: 3\r\n",
            "",
        ),
        post(
            "length with a space before the colon",
            "Content-Length : 3\r\n",
            "abc",
        ),
        post("no length", "", ""),
        raw(
            "length of a GET",
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        ),
        raw(
            "length of a HEAD",
            "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        ),
        raw(
            "length of HTTP/1.0",
            "POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        ),
        length("body that is cut", "10", "abc").cut(),
        length("body that does not come", "10", "").cut(),
    ]
}

fn codings() -> Vec<Case> {
    let coding = |name, value: &str| post(name, format!("Transfer-Encoding: {value}\r\n"), CHUNKED);
    vec![
        coding("coding", "chunked"),
        coding("coding in capitals", "CHUNKED"),
        coding("coding with spaces around it", "  chunked  "),
        coding("coding behind a tab", "\tchunked"),
        coding("coding behind a vertical tab", "\x0bchunked"),
        coding("coding with a letter before it", "xchunked"),
        coding("coding with a letter behind it", "chunkedx"),
        coding("coding in quotes", "\"chunked\""),
        coding("coding with a parameter", "chunked;q=1"),
        coding("coding with a comma", "chunked,"),
        coding("coding twice in a list", "chunked, chunked"),
        coding("coding behind gzip", "gzip, chunked"),
        coding("coding before gzip", "chunked, gzip"),
        coding("coding gzip", "gzip"),
        coding("coding identity", "identity"),
        coding("coding behind identity", "identity, chunked"),
        coding("coding that is empty", ""),
    ]
}

fn coded_requests() -> Vec<Case> {
    vec![
        post(
            "coding twice",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            CHUNKED,
        ),
        post(
            "coding behind another field of gzip",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            CHUNKED,
        ),
        post(
            "coding and a length",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            CHUNKED,
        ),
        post(
            "coding behind a length",
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            CHUNKED,
        ),
        post(
            "coding identity and a length",
            "Transfer-Encoding: identity\r\nContent-Length: 3\r\n",
            "abc",
        ),
        post(
            "coding with a space before the colon",
            "Transfer-Encoding : chunked\r\n",
            CHUNKED,
        ),
        post(
            "coding of a field with an underscore",
            "Transfer_Encoding: chunked\r\n",
            "",
        ),
        raw(
            "coding of a GET",
            format!("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKED}"),
        ),
        raw(
            "coding of HTTP/1.0",
            format!("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKED}"),
        ),
    ]
}

fn chunked() -> Vec<Case> {
    vec![
        chunks(
            "chunks of several sizes",
            "1\r\na\r\nA\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
        ),
        chunks("chunk that is empty", "0\r\n\r\n"),
        chunks(
            "chunk with zeros before its size",
            "0003\r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with many zeros before its size",
            format!("{}3\r\nabc\r\n0\r\n\r\n", "0".repeat(40)),
        ),
        chunks(
            "chunk at the end with many zeros",
            "3\r\nabc\r\n0000\r\n\r\n",
        ),
        chunks("chunk with 0x before its size", "0x3\r\nabc\r\n0\r\n\r\n"),
        chunks("chunk with a plus sign", "+3\r\nabc\r\n0\r\n\r\n"),
        chunks("chunk with a minus sign", "-3\r\nabc\r\n0\r\n\r\n"),
        chunks(
            "chunk with a space before its size",
            " 3\r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with a space behind its size",
            "3 \r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with a tab behind its size",
            "3\t\r\nabc\r\n0\r\n\r\n",
        ),
        chunks("chunk without a size", "\r\nabc\r\n0\r\n\r\n"),
        chunks("chunk with letters as its size", "xyz\r\nabc\r\n0\r\n\r\n"),
        chunks(
            "chunk with a letter behind its size",
            "3g\r\nabc\r\n0\r\n\r\n",
        ),
    ]
}

fn chunk_extensions() -> Vec<Case> {
    vec![
        chunks("chunk with an extension", "3;a=b\r\nabc\r\n0;c\r\n\r\n"),
        chunks(
            "chunk with an extension behind a space",
            "3 ;a\r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with an extension in quotes",
            "3;a=\"b;c\"\r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with a carriage return in its extension",
            "3;a\rb\r\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with a line feed in its extension",
            "3;a\nabc\r\n0\r\n\r\n",
        ),
        chunks(
            "chunk with an extension of 20,000 bytes",
            format!("3;{}\r\nabc\r\n0\r\n\r\n", "a".repeat(20_000)),
        ),
    ]
}

fn chunk_ends() -> Vec<Case> {
    vec![
        chunks("chunk with line feeds only", "3\nabc\n0\n\n"),
        chunks("chunk that ends with a line feed", "3\r\nabc\n0\r\n\r\n"),
        chunks(
            "chunk with a line feed behind its size",
            "3\nabc\r\n0\r\n\r\n",
        ),
        chunks("chunk without an end", "3\r\nabc0\r\n\r\n"),
        chunks(
            "chunk that is longer than its size",
            "3\r\nabcd\r\n0\r\n\r\n",
        ),
        chunks("chunk of 64 bits", "ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
        chunks("chunk of 65 bits", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
    ]
}

fn trailers() -> Vec<Case> {
    vec![
        chunks("chunks that end with a line feed", "3\r\nabc\r\n0\r\n\n"),
        chunks("chunks with a trailer", "3\r\nabc\r\n0\r\nA: b\r\n\r\n"),
        chunks(
            "chunks with a trailer that is a length",
            "3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n",
        ),
        chunks(
            "chunks with a trailer without a colon",
            "3\r\nabc\r\n0\r\nA\r\n\r\n",
        ),
        chunks(
            "chunks with a trailer with a NUL",
            "3\r\nabc\r\n0\r\nA: \0\r\n\r\n",
        ),
        chunks(
            "chunks with a trailer that ends with a line feed",
            "3\r\nabc\r\n0\r\nA: b\n\r\n",
        ),
        chunks(
            "chunks with a trailer of 70,000 bytes",
            format!("3\r\nabc\r\n0\r\nA: {}\r\n\r\n", "b".repeat(70_000)),
        ),
        chunks("chunk that is cut", "a\r\nabc").cut(),
        chunks("chunks without the last", "3\r\nabc\r\n").cut(),
        chunks("chunks without their end", "3\r\nabc\r\n0\r\n").cut(),
    ]
}
