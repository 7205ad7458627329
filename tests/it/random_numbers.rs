//! Random numbers differ between workers and their successors, whatever the entry script has drawn before the fork.

use std::collections::BTreeSet;

use rustix::process::Signal;
use testkit::ServerBuilder;

use crate::support::every_worker::{WORKERS, of_each, three_workers};

/// The handler draws what the entry script has drawn: a value of each name.
fn drawing(draws: &str) -> ServerBuilder {
    three_workers(&format!(
        "$kept = new SQLite3(':memory:');
        $draws = [{draws}];
        foreach ($draws as $draw) {{ $draw(); $draw(); }}
        return function ($request) use ($draws) {{
            $lines = '';
            foreach ($draws as $name => $draw) {{ $lines .= \"$name \" . $draw() . ' ' . $draw() . \"\\n\"; }}
            meet(trim($request->path, '/'));
            return $lines;
        }};"
    ))
}

/// Asserts that no value repeats in three workers and their three successors.
fn assert_nothing_repeats(builder: ServerBuilder) {
    let server = builder.start();
    let mut answers = of_each(&server, "/first");
    for pid in server.workers() {
        testkit::kill(pid, Signal::KILL);
    }
    answers.extend(of_each(&server, "/second"));
    for line in 0..answers[0].lines().count() {
        let drawn: Vec<_> = answers
            .iter()
            .filter_map(|answer| answer.lines().nth(line))
            .collect();
        let values: BTreeSet<_> = drawn
            .iter()
            .flat_map(|line| line.split(' ').skip(1))
            .collect();
        assert_eq!(values.len(), 2 * 2 * WORKERS, "{drawn:#?}");
    }
    server.stop();
}

#[test]
fn what_the_entry_script_has_drawn_repeats_in_no_worker() {
    assert_nothing_repeats(drawing(
        r#""sqlite" => fn () => (new SQLite3(':memory:'))->querySingle('select hex(randomblob(16))'),
        "sqlite_of_boot" => fn () => $kept->querySingle('select random()'),
        "pdo" => fn () => (new PDO('sqlite::memory:'))->query('select random()')->fetchColumn(),
        "xslt" => function () {
            static $style = '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                xmlns:math="http://exslt.org/math"><xsl:output method="text"/><xsl:template match="/"><xsl:value-of
                select="math:random()"/></xsl:template></xsl:stylesheet>';
            $sheet = new DOMDocument(); $sheet->loadXML($style);
            $processor = new XSLTProcessor(); $processor->importStylesheet($sheet);
            $document = new DOMDocument(); $document->loadXML('<a/>');
            return $processor->transformToXml($document);
        },
        "openssl" => fn () => bin2hex(openssl_random_pseudo_bytes(16)),
        "sodium" => fn () => bin2hex(sodium_crypto_box_keypair()),
        "random_bytes" => fn () => bin2hex(random_bytes(16)),
        "mt_rand" => fn () => mt_rand() . '-' . mt_rand(),
        "lcg_value" => fn () => lcg_value(),
        "uniqid" => fn () => uniqid('', true)"#,
    ));
}

#[test]
fn what_it_has_drawn_with_gmp_repeats_in_no_worker() {
    let library = testkit::unpacked_extension("gmp");
    assert_nothing_repeats(
        drawing("'gmp' => fn () => gmp_strval(gmp_random_bits(64))")
            .args(["--ini", &format!("extension={}", library.display())]),
    );
}

/// The first eight digits of an ObjectId are the time, the next ten the process's random part.
#[test]
fn object_ids_of_mongodb_have_a_part_of_the_worker() {
    let library = testkit::unpacked_extension("mongodb");
    let server = drawing("'id' => fn () => substr(new MongoDB\\BSON\\ObjectId(), 8, 10)")
        .args(["--ini", &format!("extension={}", library.display())])
        .start();
    let parts: BTreeSet<_> = of_each(&server, "/first").into_iter().collect();
    assert_eq!(parts.len(), WORKERS, "{parts:?}");
    server.stop();
}
