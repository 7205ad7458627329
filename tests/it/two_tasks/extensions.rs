//! Objects and streams of extensions that no list names: a call that waits has its object to itself.

use super::{SLOW_FILES, first_with, shared};
use crate::support::{let_go, ok};

/// `/first` waits in a stream's wrapper or in its own code, and `others` are refused until it has ended.
#[track_caller]
fn are_refused(extension: Option<&str>, open: &str, first: &str, others: &[&str], answer: &str) {
    let paths = ["/one", "/two", "/three"];
    let second: Vec<(&str, String)> = paths
        .into_iter()
        .zip(others)
        .map(|(path, code)| (path, format!("{code}; return 'done';")))
        .collect();
    let second: Vec<(&str, &str)> = second.iter().map(|(path, code)| (*path, &**code)).collect();
    let mut server = shared(&format!("{SLOW_FILES} {open}"), first, &second);
    if let Some(name) = extension {
        let library = testkit::unpacked_extension(name);
        server = server.args(["--ini", &format!("extension={}", library.display())]);
    }
    let server = server.start();
    let refused = &paths[..others.len()];
    assert_eq!(first_with(&server, refused, || let_go(&server)), answer);
    assert_eq!(ok(&server.get("/one")), "done");
    server.stop();
}

#[test]
fn a_stream_of_bz2() {
    are_refused(
        Some("bz2"),
        "class Waits extends php_user_filter { function filter($in, $out, &$consumed, bool $closing): int {
            UNTIL_GO
            while ($bucket = stream_bucket_make_writeable($in)) { $consumed += $bucket->datalen; stream_bucket_append($out, $bucket); }
            return PSFS_PASS_ON; } }
        stream_filter_register('waits', 'Waits'); file_put_contents('x.bz2', bzcompress('text'));
        $c = bzopen('x.bz2', 'r'); stream_filter_append($c, 'waits');",
        "return 'read ' . bzread($c, 4);",
        &["bzread($c, 1)", "bzerrno($c)"],
        "read text",
    );
}

#[test]
fn a_soap_client() {
    are_refused(
        Some("soap"),
        "class Client extends SoapClient { function __doRequest($request, $location, $action, $version, $oneWay = false): ?string {
            UNTIL_GO
            return '<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><r><v>late</v></r></s:Body></s:Envelope>'; } }
        $c = new Client(null, ['location' => 'http://127.0.0.1:1/', 'uri' => 'urn:x']);",
        "return 'said ' . $c->ask();",
        &["$c->__getCookies()", "$c->tell()"],
        "said late",
    );
}

#[test]
fn a_soap_server() {
    are_refused(
        Some("soap"),
        "class Service { function ask() { UNTIL_GO return 'late'; } }
        $c = new SoapServer(null, ['uri' => 'urn:x']); $c->setClass('Service');",
        "ob_start(); $c->handle('<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><p:ask xmlns:p=\"urn:x\"/>'
            . '</s:Body></s:Envelope>'); return preg_match('/>(l\\w+)</', ob_get_clean(), $said) ? $said[1] : 'nothing';",
        &["$c->setClass('Service')", "$c->handle('x')"],
        "late",
    );
}

#[test]
fn a_parser_of_xml() {
    are_refused(
        None,
        "$c = xml_parser_create(); xml_set_element_handler($c, function () { UNTIL_GO }, null);",
        "return 'parsed ' . xml_parse($c, '<a>') . xml_parse($c, '</a>', true);",
        &["xml_get_current_line_number($c)", "xml_parse($c, '<b/>')"],
        "parsed 11",
    );
}

#[test]
fn an_image_that_is_written() {
    are_refused(
        None,
        "$c = imagecreate(9, 9); imagecolorallocate($c, 0, 0, 0);",
        "stream_wrapper_register('slow', 'Slow'); return 'written ' . imagepng($c, fopen('slow://x', 'w'));",
        &[
            "imagepalettetotruecolor($c)",
            "imagecopy($c, imagecreate(2, 2), 0, 0, 0, 0, 1, 1)",
        ],
        "written 1",
    );
}

/// Elements are written without a call.
#[test]
fn elements_of_a_vector() {
    are_refused(
        Some("ds"),
        "$c = new Ds\\Vector([1, 2, 3]);",
        "return 'mapped ' . count($c->map(function ($value) { if ($value === 1) { UNTIL_GO } return $value; }));",
        &["$c[] = 4", "unset($c[0])", "$c->clear()"],
        "mapped 3",
    );
}

#[test]
fn a_converter_of_texts() {
    are_refused(
        None,
        "class Replaces extends UConverter { function fromUCallback($reason, $source, $codePoint, &$error): string {
            UNTIL_GO
            $error = U_ZERO_ERROR; return '?'; } }
        file_put_contents('go', ''); $c = new Replaces('ISO-8859-1', 'UTF-8'); unlink('go');",
        "return 'converted ' . $c->convert(\"a\\u{4e00}\");",
        &["$c->setDestinationEncoding('US-ASCII')", "$c->convert('b')"],
        "converted a?",
    );
}

#[test]
fn a_formatter_of_messages() {
    are_refused(
        None,
        "class Text { function __toString(): string { UNTIL_GO return 'text'; } }
        $c = new MessageFormatter('en', 'a {0}');",
        "return $c->format([new Text]);",
        &[
            "$c->setPattern('{n, number}')",
            "msgfmt_set_pattern($c, 'b')",
        ],
        "a text",
    );
}

#[test]
fn an_unpacker_of_messages() {
    are_refused(
        Some("msgpack"),
        "class Wakes { public $n = 1; function __wakeup() { UNTIL_GO } }
        $c = new MessagePackUnpacker; $far = msgpack_pack([new Wakes, 'tail']);",
        "$c->feed($far); $c->execute(); return 'unpacked ' . $c->data()[1];",
        &["$c->feed(str_repeat('A', 100000))", "$c->reset()"],
        "unpacked tail",
    );
}

#[test]
fn a_hash_of_a_file() {
    are_refused(
        None,
        "$c = hash_init('crc32b');",
        "stream_wrapper_register('slow', 'Slow'); return 'hashed ' . hash_update_file($c, 'slow://x');",
        &["hash_update($c, 'x')", "hash_final($c)"],
        "hashed 1",
    );
}

/// A read in the middle goes on with the new size, in memory for the old one.
#[test]
fn a_stream_whose_chunks_grow() {
    are_refused(
        None,
        "class Drops extends php_user_filter { function filter($in, $out, &$consumed, bool $closing): int {
            while ($bucket = stream_bucket_make_writeable($in)) { $consumed += $bucket->datalen; }
            return PSFS_FEED_ME; } }
        stream_filter_register('drops', 'Drops');
        $c = fopen('slow://x', 'r'); stream_filter_append($c, 'drops', STREAM_FILTER_READ);",
        "return 'read ' . strlen(fread($c, 10));",
        &["stream_set_chunk_size($c, 1000000)"],
        "read 0",
    );
}
