//! The tables of all scenarios, in SQL that MariaDB and SQLite understand.

/// Returns the SQL for the two rows that the write-up prints (792 bytes by `print_r`), 100,000 numbered rows and twelve
/// fortunes. `line_end` is a line end inside a string.
pub(super) fn sql(line_end: &str) -> String {
    format!(
        "CREATE TABLE test1 (test1_id INT UNSIGNED NOT NULL PRIMARY KEY, test1_timestamp INT UNSIGNED NOT NULL, test1_data VARCHAR(2000) NOT NULL, test1_some_fk INT UNSIGNED NOT NULL);\n\
         INSERT INTO test1 VALUES (1, 1572448636, '{}', 33), (2, 1572448639, '{}', 35);\n\
         CREATE TABLE world (id INT NOT NULL PRIMARY KEY, randomNumber INT NOT NULL);\n\
         INSERT INTO world WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, (i * 7919) % 10000 + 1 FROM n;\n\
         CREATE TABLE fortune (id INT NOT NULL PRIMARY KEY, message VARCHAR(2048) NOT NULL);\n{FORTUNES}",
        letters(1, line_end),
        letters(2, line_end),
    )
}

/// Returns ten lines of 20 letters that are the same in every run.
fn letters(seed: u64, line_end: &str) -> String {
    let mut state = seed;
    let mut line = || -> String {
        (0..20)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                char::from(b'A' + u8::try_from((state >> 33) % 26).unwrap_or(0))
            })
            .collect()
    };
    (0..10).map(|_| line()).collect::<Vec<_>>().join(line_end)
}

/// The twelve messages of TechEmpower's test, which its rules prescribe.
const FORTUNES: &str = "INSERT INTO fortune VALUES \
(1, 'fortune: No such file or directory'), (2, 'A computer scientist is someone who fixes things that aren''t broken.'), \
(3, 'After enough decimal places, nobody gives a damn.'), (4, 'A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1'), \
(5, 'A computer program does what you tell it to do, not what you want it to do.'), \
(6, 'Emacs is a nice operating system, but I prefer UNIX. — Tom Christaensen'), (7, 'Any program that runs right is obsolete.'), \
(8, 'A list is only as strong as its weakest link. — Donald Knuth'), (9, 'Feature: A bug with seniority.'), \
(10, 'Computers make very fast, very accurate mistakes.'), (11, '<script>alert(\"This should not be displayed in a browser alert box.\");</script>'), \
(12, 'フレームワークのベンチマーク');\n";
