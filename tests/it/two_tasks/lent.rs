//! Streams that a call was given beside what it is made on, or that the object of the call holds.

use testkit::service::Peer;

use super::{SLOW_FILES, first_with, shared};
use crate::support::{let_go, ok, until_handled};

/// `/first` waits in `stream` while it runs `first`, and `/close` is refused until it has ended.
#[track_caller]
fn close_is_refused(open: &str, first: &str, close: &str, answer: &str) {
    let server = shared(
        &format!("{SLOW_FILES} {open}"),
        first,
        &[("/close", &format!("{close}; return 'closed';"))],
    )
    .start();
    assert_eq!(first_with(&server, &["/close"], || let_go(&server)), answer);
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_stream_that_is_put_into_a_file() {
    close_is_refused(
        "$c = fopen('slow://x', 'r');",
        "return file_put_contents('into', $c) . ' ' . file_get_contents('into');",
        "fclose($c)",
        "5 late\n",
    );
}

#[test]
fn a_directory_object_and_its_handle() {
    close_is_refused(
        "$c = dir('slow://x');",
        "return $c->read();",
        "closedir($c->handle)",
        "late",
    );
}

#[test]
fn a_stream_that_is_asked_for_its_facts() {
    close_is_refused(
        "class Asked extends Slow { function stream_stat() { UNTIL_GO return ['size' => 5]; } }
        stream_wrapper_register('asked', 'Asked'); $c = fopen('asked://x', 'r');",
        "return 'size ' . fstat($c)['size'];",
        "fclose($c)",
        "size 5",
    );
}

#[test]
fn a_stream_that_an_image_is_written_to() {
    close_is_refused(
        "$c = fopen('slow://x', 'w');",
        "$image = imagecreate(1, 1); imagecolorallocate($image, 0, 0, 0); return imagepng($image, $c) ? 'written' : 'not';",
        "fclose($c)",
        "written",
    );
}

#[test]
fn a_stream_that_exif_reads() {
    close_is_refused(
        "class Measured extends Slow { function stream_seek($to, $from) { return true; } function stream_tell() { return 5; } }
        stream_wrapper_register('measured', 'Measured'); $c = fopen('measured://x', 'r');",
        "return json_encode(@exif_read_data($c));",
        "fclose($c)",
        "false",
    );
}

#[test]
fn a_file_that_curl_writes_to() {
    let server = shared(
        "$c = fopen('into', 'w+'); $far = curl_init(getenv('URL')); curl_setopt($far, CURLOPT_FILE, $c);",
        "return curl_exec($far) . ' ' . file_get_contents('into');",
        &[("/close", "fclose($c); return 'closed';")],
    )
    .env("URL", Peer::start().url(500))
    .start();
    assert_eq!(first_with(&server, &["/close"], || {}), "1 late\n");
    assert_eq!(ok(&server.get("/close")), "closed");
    server.stop();
}

#[test]
fn a_stream_that_is_bound_to_a_statement() {
    close_is_refused(
        "$c = fopen('slow://x', 'r'); $far = (new PDO('sqlite::memory:'))->prepare('SELECT ?');
        $far->bindValue(1, $c, PDO::PARAM_LOB);",
        "$far->execute(); return $far->fetchColumn();",
        "fclose($c)",
        "late\n",
    );
}

#[test]
fn a_stream_that_is_bound_to_a_statement_of_sqlite3() {
    close_is_refused(
        "$c = fopen('slow://x', 'r'); $far = (new SQLite3(':memory:'))->prepare('SELECT ?'); $far->bindValue(1, $c, SQLITE3_BLOB);",
        "return $far->execute()->fetchArray()[0];",
        "fclose($c)",
        "late\n",
    );
}

/// No call that is listed: the wrapper's own code says that the stream is used.
#[test]
fn a_user_stream_that_a_program_gets() {
    close_is_refused(
        "class Cast extends Slow { private $file; function stream_cast($as) { UNTIL_GO return $this->file ??= fopen('/dev/null', 'r'); } }
        stream_wrapper_register('cast', 'Cast'); $c = fopen('cast://x', 'r');",
        "return 'ended with ' . proc_close(proc_open('true', [0 => $c], $pipes));",
        "fclose($c)",
        "ended with 0",
    );
}

/// From PHP 8.4 on.
#[test]
fn a_stream_that_xml_is_read_from_or_written_to() {
    close_is_refused(
        "$c = fopen('slow://x', 'r');",
        "return (string) (method_exists('XMLReader', 'fromStream') ? @XMLReader::fromStream($c)->read() : fread($c, 1) === '');",
        "fclose($c)",
        "",
    );
    close_is_refused(
        "$c = fopen('slow://x', 'w'); $far = method_exists('XMLWriter', 'toStream') ? XMLWriter::toStream($c) : null; $far?->text('x');",
        "return 'flushed ' . ($far ? $far->flush() : fwrite($c, 'x'));",
        "fclose($c)",
        "flushed 1",
    );
}

/// The variable is bound by reference, so another task's assignment takes the stream away from the statement.
#[test]
fn a_bound_stream_whose_variable_is_assigned_to() {
    let server = shared(
        &format!(
            "{SLOW_FILES} $c = fopen('slow://x', 'r'); $far = (new PDO('sqlite::memory:'))->prepare('SELECT ?');
            $far->bindParam(1, $c, PDO::PARAM_LOB);"
        ),
        "$far->execute(); return $far->fetchColumn();",
        &[("/drop", "$c = null; return str_repeat('x', 100);")],
    )
    .start();
    assert_eq!(ok(&server.get("/open")), "open");
    let mut first = server.connect();
    first.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
    until_handled(&server, 1);
    assert_eq!(ok(&server.get("/drop")).len(), 100);
    let_go(&server);
    assert_eq!(ok(&first.response()), "late\n");
    server.stop();
}
