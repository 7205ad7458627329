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
