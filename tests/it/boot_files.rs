//! Files that the entry script opens: each worker has its own position, lock and temporary content.

use std::collections::BTreeSet;

use rustix::process::Signal;
use testkit::Server;

use crate::support::every_worker::{WORKERS, of_each, three_workers};
use crate::support::{eventually, hearth, ok, start_as_other_user};

/// The entry script of these tests: 20,000 records of 16 bytes, open in several ways, at the record 7.
const RECORDS: &str = r"
    $all = ''; for ($i = 0; $i < 20000; $i++) { $all .= sprintf('%015d ', $i); }
    file_put_contents('records', $all);
    mkdir('folder'); for ($i = 0; $i < 3000; $i++) { touch(sprintf('folder/%060d', $i)); }
    $plain = fopen('records', 'rb'); fseek($plain, 112);
    $object = new SplFileObject('records', 'r+b'); $object->fseek(112);
    $temporary = fopen('php://temp/maxmemory:0', 'w+b'); fwrite($temporary, $all); fseek($temporary, 112);
    $tmpfile = tmpfile(); fwrite($tmpfile, $all); fseek($tmpfile, 112);
    $gz = gzopen('records', 'rb'); gzseek($gz, 112);
    $directory = opendir('folder');
    $entries = scandir('folder', SCANDIR_SORT_NONE);
    $name = stream_get_meta_data($tmpfile)['uri'];";

#[test]
fn each_worker_goes_on_where_the_entry_script_stopped() {
    let server = three_workers(&format!(
        r"{RECORDS}
        return function ($request) use ($plain, $object, $temporary, $tmpfile, $gz, $directory, $entries, $name) {{
            $wrong = [];
            $check = function (string $what, string $record, int $is) use (&$wrong) {{
                if ((int) $record !== $is) {{ $wrong[] = $what . ' ' . trim($record); }}
            }};
            // One worker after the other, so that each finds the positions that the others have left.
            $lock = fopen('turns', 'c'); flock($lock, LOCK_EX);
            foreach ([7, 8, 19000, 3, 12000] as $at => $record) {{
                if ($at > 1) {{ fseek($plain, $record * 16); $object->fseek($record * 16); gzseek($gz, $record * 16);
                    fseek($temporary, $record * 16); fseek($tmpfile, $record * 16); }}
                $check('fopen', fread($plain, 16), $record); $check('SplFileObject', $object->fread(16), $record);
                $check('php://temp', fread($temporary, 16), $record); $check('tmpfile', fread($tmpfile, 16), $record);
                $check('gzopen', gzread($gz, 16), $record);
            }}
            $listed = []; while (($entry = readdir($directory)) !== false) {{ $listed[] = $entry; }}
            if ($listed !== $entries) {{ $wrong[] = 'readdir: ' . count($listed); }}
            if (!is_file($name)) {{ $wrong[] = 'tmpfile has no name'; }}
            flock($lock, LOCK_UN);
            if ($request->path === '/') {{ meet('all'); }}
            return getmypid() . ' ' . ($wrong === [] ? 'right' : 'wrong: ' . implode(', ', $wrong));
        }};"
    ))
    .start();
    let answers = of_each(&server, "/");
    let first: BTreeSet<u32> = answers.iter().map(|answer| right(answer)).collect();
    assert_eq!(first.len(), WORKERS, "{answers:?}");
    for pid in server.workers() {
        testkit::kill(pid, Signal::KILL);
    }
    let successor = right(&ok(&server.get("/once")));
    assert!(!first.contains(&successor));
    server.expect_log("was killed by SIGKILL");
    server.stop();
}

/// Asserts that a worker has read what it should have; returns its process id.
#[track_caller]
fn right(answer: &str) -> u32 {
    let pid = answer.strip_suffix(" right");
    pid.unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

#[test]
fn what_a_worker_writes_to_a_temporary_file_of_boot_is_its_own() {
    let server = three_workers(
        r#"
        $temporary = fopen('php://temp/maxmemory:0', 'w+b'); fwrite($temporary, str_repeat('.', 100000));
        $tmpfile = tmpfile(); fwrite($tmpfile, str_repeat('.', 100000));
        $unlinked = fopen('unlinked', 'x+'); fwrite($unlinked, str_repeat('.', 100000)); unlink('unlinked');
        $sqlite = new SQLite3(''); $sqlite->exec('pragma cache_size=1; create table t(v); begin');
        for ($i = 0; $i < 500; $i++) { $sqlite->exec('insert into t values (hex(zeroblob(200)))'); }
        $sqlite->exec('commit');
        return function ($request) use ($temporary, $tmpfile, $unlinked, $sqlite) {
            $mine = sprintf('%020d', getmypid());
            foreach ([$temporary, $tmpfile, $unlinked] as $file) { rewind($file); fwrite($file, $mine); }
            $sqlite->exec("update t set v = '$mine'");
            meet('written');
            $wrong = [];
            foreach (['php://temp' => $temporary, 'tmpfile' => $tmpfile, 'unlinked' => $unlinked] as $name => $file) {
                rewind($file);
                if (stream_get_contents($file) !== str_pad($mine, 100000, '.')) { $wrong[] = $name; }
            }
            $rows = $sqlite->querySingle("select count(*) from t where v = '$mine'");
            if ($rows !== 500) { $wrong[] = "$rows rows"; }
            return $wrong === [] ? 'own' : implode(', ', $wrong);
        };"#,
    )
    .start();
    assert_eq!(of_each(&server, "/"), ["own"; WORKERS]);
    server.stop();
}

#[test]
fn a_lock_file_of_boot_excludes_the_other_workers() {
    let server = three_workers(
        "$lock = fopen('lock', 'c');
        return function () use ($lock) {
            $has = flock($lock, LOCK_EX | LOCK_NB); meet('locked');
            return $has ? 'has it' : 'waits';
        };",
    )
    .start();
    let mut answers = of_each(&server, "/");
    answers.sort();
    assert_eq!(answers, ["has it", "waits", "waits"]);
    server.stop();
}

#[test]
fn a_lock_that_boot_has_taken_is_the_servers() {
    let server = three_workers(
        "$alone = fopen('alone', 'c'); flock($alone, LOCK_EX);
        $shared = fopen('shared', 'w+'); fwrite($shared, 'abc'); rewind($shared); flock($shared, LOCK_SH);
        return function () use ($alone, $shared) {
            $turns = fopen('turns', 'c'); flock($turns, LOCK_EX); $read = fread($shared, 3); flock($turns, LOCK_UN);
            meet('read'); flock($shared, LOCK_UN); fclose($shared); meet('let go');
            $free = [];
            foreach (['alone', 'shared'] as $name) { $free[] = flock(fopen($name, 'c'), LOCK_EX | LOCK_NB); }
            return json_encode([$read, ...$free]);
        };",
    )
    .start();
    assert_eq!(of_each(&server, "/"), [r#"["abc",false,false]"#; WORKERS]);
    server.stop();
}

#[test]
fn lines_of_several_workers_in_a_file_of_boot_follow_each_other() {
    let server = three_workers(
        "$written = fopen('written.log', 'w'); fwrite($written, \"boot\\n\"); $added = fopen('added.log', 'a');
        fwrite($added, \"boot\\n\"); $error = fopen('php://stderr', 'w');
        return function () use ($written, $added, $error) {
            for ($i = 0; $i < 20; $i++) {
                $line = \"line \" . getmypid() . \" $i\\n\"; fwrite($written, $line); fwrite($added, $line); fwrite($error, $line);
            }
            meet('written'); return 'ok';
        };",
    )
    .start();
    of_each(&server, "/");
    let lines = |text: &str| {
        let lines: BTreeSet<_> = text
            .lines()
            .filter(|line| line.starts_with("line "))
            .collect();
        lines.len()
    };
    for name in ["written.log", "added.log"] {
        let text = std::fs::read_to_string(server.directory().join(name)).unwrap();
        assert_eq!(lines(&text), WORKERS * 20, "{name}: {text}");
    }
    assert_eq!(lines(&server.stop().log), WORKERS * 20);
}

#[test]
fn sqlite_that_boot_has_opened_counts_right_in_all_workers() {
    for journal in ["delete", "persist", "wal"] {
        let server = three_workers(&format!(
            "$db = new PDO('sqlite:counter.db', null, null, [PDO::ATTR_TIMEOUT => 10]);
            $db->exec('pragma journal_mode={journal}; create table t(n); insert into t values(0)');
            return function ($request) use ($db) {{
                if ($request->path === '/') {{
                    for ($i = 0; $i < 20; $i++) {{
                        $db->exec('begin immediate'); $n = $db->query('select n from t')->fetchColumn();
                        $db->exec('update t set n=' . ($n + 1)); $db->exec('commit');
                    }}
                    meet('counted');
                }}
                return $db->query('select n from t')->fetchColumn() . ' ' . $db->query('pragma integrity_check')->fetchColumn();
            }};"
        ))
        .start();
        of_each(&server, "/");
        assert_eq!(ok(&server.get("/sum")), "60 ok", "{journal}");
        server.stop();
    }
}

#[test]
fn a_file_that_cannot_be_opened_again_is_logged_once() {
    let code = "$secret = fopen('secret', 'w+'); chmod('secret', 0); posix_mkfifo('fifo', 0600); $fifo = fopen('fifo', 'r+');
        return function () use ($secret, $fifo) { meet('all'); return 'ok'; };";
    let server = match start_as_other_user() {
        Some(start) => three_workers(code).inside(["sh", "-c", &start, "sh"]),
        None => three_workers(code),
    };
    let server = server.start();
    of_each(&server, "/");
    let log = server.stop().log;
    let shared: Vec<_> = log
        .lines()
        .filter(|line| line.contains("a file left open at boot stays shared by all workers"))
        .collect();
    let of = |name: &str| shared.iter().filter(|line| line.contains(name)).count();
    assert_eq!(of("/fifo descriptor="), 1, "{log}");
    assert_eq!(
        of("Permission denied"),
        usize::from(start_as_other_user().is_some()),
        "{log}"
    );
}

#[test]
fn temporary_files_end_with_their_process() {
    let server = Server::script(
        "$files = [fopen('php://temp/maxmemory:0', 'w+'), tmpfile()]; fwrite($files[0], 'of boot');
        return function ($request) use ($files) {
            static $kept = [];
            if ($request->path === '/keep') { $kept = [fopen('php://temp/maxmemory:0', 'w+'), tmpfile()]; fwrite($kept[0], 'x'); }
            return (string) count(glob(getenv('TMPDIR') . '/php*'));
        };",
    )
    .args(["--workers", "1"])
    .start();
    assert_eq!(ok(&server.get("/keep")), "4");
    let zygotes = server.zygotes();
    assert!(hearth(&server, &["reload", "app.php"]).status.success());
    eventually("the old generation has ended", || {
        server.zygotes().iter().all(|pid| !zygotes.contains(pid))
    });
    assert_eq!(ok(&server.get("/")), "2");
    server.stop();
}
