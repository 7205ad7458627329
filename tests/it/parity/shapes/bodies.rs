//! The requests that carry something.

use super::{HOST, Shape, body, shape};

fn form(name: &'static str, content: impl AsRef<[u8]>) -> Shape {
    body(
        name,
        "POST /probe.php",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        content,
    )
}

fn multipart(name: &'static str, content: impl AsRef<[u8]>) -> Shape {
    body(
        name,
        "POST /probe.php",
        "Content-Type: multipart/form-data; boundary=XX\r\n",
        content,
    )
}

/// One part of a multipart body; `fields` after `form-data`.
fn part(fields: &str, content: &str) -> String {
    format!("--XX\r\nContent-Disposition: form-data{fields}\r\n\r\n{content}\r\n")
}

fn file(name: &str, filename: &str, content: &str) -> String {
    format!(
        "--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{filename}\"\r\n\
         Content-Type: text/x-thing\r\n\r\n{content}\r\n"
    )
}

const END: &str = "--XX--\r\n";

pub(super) fn all() -> Vec<Shape> {
    let mut all = bodies();
    all.extend(typed_bodies());
    all.extend(transferred_bodies());
    all.extend(uploads());
    all.extend(multipart_forms());
    all.extend(broken_uploads());
    all
}

fn bodies() -> Vec<Shape> {
    let large = format!("a={}", "x".repeat(30_000));
    vec![
        form("form", "a=1&b=two+words&c=%C3%A9"),
        form("form arrays", "a[]=1&a[]=2&b[c][d]=3&a[x]=4"),
        form("form repeated and empty fields", "a=1&a=2&b=&c&=d"),
        form("form empty", ""),
        form("form lines", "a=1\r\n&b=2\r\n"),
        form("form nul and latin1", b"a=x\0y&b=\xe9".as_slice()),
        form("form too large", large),
        form(
            "form too many",
            (0..30).map(|n| format!("v{n}={n}&")).collect::<String>(),
        ),
    ]
}

fn typed_bodies() -> Vec<Shape> {
    let typed = |name, media: &str, content: &str| {
        body(
            name,
            "POST /probe.php",
            &format!("Content-Type: {media}\r\n"),
            content,
        )
    };
    vec![
        typed(
            "form with charset",
            "application/x-www-form-urlencoded; charset=ISO-8859-1",
            "a=%E9&b=1",
        ),
        typed(
            "form type upper case",
            "APPLICATION/X-WWW-FORM-URLENCODED",
            "a=1",
        ),
        typed("json", "application/json", "{\"a\":1}"),
        typed("text", "text/plain", "a=1&b=2"),
        typed("type is empty", "", "a=1"),
        body("no type", "POST /probe.php", "", "a=1"),
        body(
            "form and query and cookie",
            "POST /probe.php?a=query&q=1",
            "Cookie: a=cookie; c=1\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            "a=body&p=1",
        ),
        body(
            "form to path info",
            "POST /probe.php/x?a=1",
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "b=1",
        ),
        body(
            "form to fall-back",
            "POST /no/such?a=1",
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "b=1",
        ),
    ]
}

fn transferred_bodies() -> Vec<Shape> {
    vec![
        shape(
            "form in chunks",
            format!(
                "POST /probe.php HTTP/1.1\r\n{HOST}Content-Type: application/x-www-form-urlencoded\r\n\
                 Transfer-Encoding: chunked\r\n\r\n3\r\na=1\r\n4;x=y\r\n&b=2\r\n0\r\n\r\n"
            ),
        ),
        shape(
            "json in chunks",
            format!(
                "POST /probe.php HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
                 7\r\n{{\"a\":1}}\r\n0\r\n\r\n"
            ),
        ),
        shape(
            "form too large in chunks",
            format!(
                "POST /probe.php HTTP/1.1\r\n{HOST}Content-Type: application/x-www-form-urlencoded\r\n\
                 Transfer-Encoding: chunked\r\n\r\n7530\r\na={}\r\n0\r\n\r\n",
                "x".repeat(0x752e)
            ),
        ),
        shape(
            "form expects 100",
            format!(
                "POST /probe.php HTTP/1.1\r\n{HOST}Content-Type: application/x-www-form-urlencoded\r\n\
                 Expect: 100-continue\r\nContent-Length: 3\r\n\r\na=1"
            ),
        ),
    ]
}

fn uploads() -> Vec<Shape> {
    let many: String = (0..5)
        .map(|n| file(&format!("f{n}"), &format!("{n}.txt"), "x"))
        .collect();
    vec![
        multipart(
            "upload",
            part("; name=\"title\"", "A title") + &file("doc", "a.txt", "content") + END,
        ),
        multipart(
            "upload several",
            file("docs[]", "a.txt", "one") + &file("docs[]", "b.txt", "two!") + END,
        ),
        multipart(
            "upload nested names",
            file("f[a][b]", "a.txt", "one")
                + &file("f[a][c]", "b.txt", "two")
                + &file("g.h", "c", "3")
                + END,
        ),
        multipart("upload empty", file("doc", "a.txt", "") + END),
        multipart("upload none chosen", file("doc", "", "") + END),
        multipart(
            "upload without name",
            part("; filename=\"a.txt\"", "x") + &part("", "y") + END,
        ),
        multipart(
            "upload too large",
            file("doc", "a.txt", &"x".repeat(11_000)) + &part("; name=\"after\"", "1") + END,
        ),
        multipart("upload too many", many + END),
        multipart(
            "upload MAX_FILE_SIZE",
            part("; name=\"MAX_FILE_SIZE\"", "5") + &file("doc", "a.txt", "123456") + END,
        ),
        multipart(
            "upload paths in names",
            file("a", "dir/sub/a.txt", "1")
                + &file("b", "C:\\x\\b.txt", "2")
                + &file("c", "../../c", "3")
                + END,
        ),
    ]
}

fn multipart_forms() -> Vec<Shape> {
    vec![
        multipart(
            "upload names quoted and utf-8",
            file("\u{e9}", "\u{e9}t\u{e9} \\\"q\\\".txt", "1")
                + &file("sp ace", "a;b.txt", "2")
                + END,
        ),
        multipart(
            "upload names bare",
            "--XX\r\nContent-Disposition: form-data; name=bare; filename=a.txt\r\n\r\nx\r\n"
                .to_owned()
                + &part("; name='single'", "y")
                + END,
        ),
        multipart(
            "multipart arrays",
            part("; name=\"a[]\"", "1")
                + &part("; name=\"a[]\"", "2")
                + &part("; name=\"b[c]\"", "3")
                + END,
        ),
        multipart(
            "multipart binary",
            part("; name=\"a\"", "x\0y\r\n--X\r\nz") + END,
        ),
        multipart(
            "multipart preamble",
            "preamble\r\n".to_owned() + &part("; name=\"a\"", "1") + END + "epilogue",
        ),
        body(
            "multipart quoted boundary",
            "POST /probe.php?a=query",
            "Content-Type: multipart/form-data; charset=utf-8; boundary=\"X X\"\r\n",
            "--X X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X X--\r\n",
        ),
        body(
            "multipart by PUT",
            "PUT /probe.php",
            "Content-Type: multipart/form-data; boundary=XX\r\n",
            part("; name=\"a\"", "1") + END,
        ),
    ]
}

fn broken_uploads() -> Vec<Shape> {
    vec![
        body(
            "multipart no boundary",
            "POST /probe.php",
            "Content-Type: multipart/form-data\r\n",
            part("; name=\"a\"", "1") + END,
        ),
        multipart("multipart empty", ""),
        multipart("multipart no end", part("; name=\"a\"", "1")),
        multipart(
            "multipart cut",
            "--XX\r\nContent-Disposition: form-data; na",
        ),
        multipart(
            "multipart cut in a file",
            "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nhalf",
        ),
        multipart(
            "multipart other boundary",
            "--YY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--YY--\r\n",
        ),
        multipart("multipart no names", "--XX\r\n\r\nx\r\n--XX--\r\n"),
        multipart(
            "multipart bare line feeds",
            "--XX\nContent-Disposition: form-data; name=\"a\"\n\n1\n--XX--\n",
        ),
        multipart("multipart garbage", "garbage"),
        multipart(
            "multipart too large",
            file("doc", "a.txt", &"x".repeat(30_000)) + END,
        ),
        multipart("multipart open quote", part("; name=\"a", "1") + END),
    ]
}
