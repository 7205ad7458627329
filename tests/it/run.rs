//! `hearth run` and `hearth check`: the command line.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use testkit::Server;
use testkit::service::{MariaDb, Peer, Postgres};

use crate::support::{example, ok};

fn hearth(directory: &Path, words: &[&str], input: &str) -> Output {
    let mut child = Command::new(testkit::hearth())
        .args(words)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hearth starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("input can be written");
    child.wait_with_output().expect("hearth ends")
}

/// Writes the script, runs it; (exit code, stdout, stderr).
fn run(code: &str, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let directory = testkit::temporary();
    std::fs::write(directory.path().join("script.php"), format!("<?php {code}"))
        .expect("a file can be written");
    let output = hearth(
        directory.path(),
        &[&["run", "script.php"], words].concat(),
        input,
    );
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_script_has_arguments_streams_and_an_exit_code() {
    let (code, out, err) = run(
        "echo implode(',', $argv), ' ', $argc, ' ', $_SERVER['argv'][1], \"\\n\"; echo strtoupper(fgets(STDIN)); \
         fwrite(STDOUT, \"out\\n\"); fwrite(STDERR, \"err\\n\"); exit(7);",
        &["one", "--two", "-3"],
        "typed\n",
    );
    assert_eq!(
        (code, out.as_str()),
        (Some(7), "script.php,one,--two,-3 4 one\nTYPED\nout\n"),
        "{err}"
    );
    assert!(err.contains("err\n"));
}

#[test]
fn exit_codes_are_those_of_php() {
    assert_eq!(run("echo 'x';", &[], "").0, Some(0));
    assert_eq!(run("exit('text');", &[], "").0, Some(0));
    assert_eq!(
        run("throw new Exception('uncaught');", &[], "").0,
        Some(255)
    );
    assert_eq!(run("undefined_function();", &[], "").0, Some(255));
    assert_eq!(
        run(
            "register_shutdown_function(fn () => exit(4)); echo 'x';",
            &[],
            ""
        )
        .0,
        Some(4)
    );
}

#[test]
fn a_script_waits_concurrently() {
    let (code, out, err) = run(
        r"$here = 0;
        // Until all ten are here: one after the other they would wait in vain.
        $meet = function (int $n) use (&$here) { ++$here; for ($i = 0; $here < 10 && $i < 1000; $i++) { usleep(5000); } return $here === 10 ? $n : 0; };
        echo array_sum(Hearth\parallel(array_map(fn ($n) => fn () => $meet($n), range(1, 10))));",
        &[],
        "",
    );
    assert_eq!((code, out.as_str()), (Some(0), "55"), "{err}");
}

/// The page about scripts: its script, by its command, with addresses that answer.
#[test]
fn the_guides_script() {
    let directory = testkit::temporary();
    let page = "docs/guide/scripts.md";
    std::fs::write(directory.path().join("sizes.php"), example(page, "script"))
        .expect("a file can be written");
    let peer = Peer::start();
    let command = example(page, "run")
        .replace("https://example.com/", &peer.url(300))
        .replace("https://example.org/", &peer.url(1));
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = hearth(directory.path(), &words[1..], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("5 {}\n5 {}\n", peer.url(300), peer.url(1))
    );
}

#[test]
fn a_script_ends_after_its_children_and_what_it_deferred() {
    let (code, out, err) = run(
        r"register_shutdown_function(fn () => print 'end');
          Hearth\defer(function () {
              echo 'deferred, ';
              Hearth\defer(fn () => print 'its own, ');
              Hearth\async(function () { usleep(1000); echo 'its child, '; });
          });
          Hearth\async(function () { usleep(50000); echo 'child, '; });
          Hearth\background(function () { sleep(10); echo 'never'; });
          echo 'script, ';",
        &[],
        "",
    );
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (
            Some(0),
            "script, child, deferred, its own, its child, end",
            ""
        )
    );
}

/// pdo_pgsql waits for a prepared statement's answer with a pointer to a result that it has freed.
#[test]
fn a_task_that_waits_in_the_database_at_the_end_is_left_alone() {
    let dsn = Postgres::shared().dsn();
    let (code, out, err) = run(
        r"$pdo = new PDO($argv[1]);
          $pid = $pdo->query('SELECT pg_backend_pid()')->fetchColumn();
          Hearth\background(fn () => $pdo->prepare('SELECT pg_sleep(60)')->execute());
          $look = new PDO($argv[1]);
          $state = $look->prepare('SELECT wait_event FROM pg_stat_activity WHERE pid = ?');
          do { $state->execute([$pid]); } while ($state->fetchColumn() !== 'PgSleep');
          echo 'end';",
        &[&dsn],
        "",
    );
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "end", ""));
}

#[test]
fn the_options_of_php_are_understood() {
    let directory = testkit::temporary();
    let at = directory.path();
    let out = |words: &[&str], input: &str| {
        let output = hearth(at, &[&["run"], words].concat(), input);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(out(&["-r", "echo 1 + 1;"], ""), "2");
    assert_eq!(
        out(&["-n", "-d", "precision=3", "-r", "echo 1 / 3;"], ""),
        "0.333"
    );
    assert!(out(&["-v"], "").starts_with("PHP 8."));
    assert!(out(&["-m"], "").contains("[PHP Modules]"));
    assert!(out(&["-i"], "").contains("PHP Version => 8."));
    assert_eq!(out(&[], "<?php echo 'from stdin';"), "from stdin");
    std::fs::write(at.join("f.php"), "#!/usr/bin/env php\n<?php echo $argv[1];")
        .expect("a file can be written");
    assert_eq!(out(&["-f", "f.php", "--", "-x"], ""), "-x");
}

#[test]
fn a_setting_of_several_lines_begins_no_other() {
    let directory = testkit::temporary();
    for word in ["x=1\nprecision=3", "x=1\rprecision=3", "x\nprecision=3"] {
        let output = hearth(directory.path(), &["run", "-d", word, "-r", "echo 1;"], "");
        assert_eq!(output.status.code(), Some(2), "{word:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{word:?}: {output:?}");
    }
}

#[test]
fn a_server_reads_settings_as_php_does() {
    let server = Server::app("app.php")
        .file(
            "app.php",
            "<?php return fn () => [ini_get('error_reporting'), ini_get('date.timezone'), ini_get('user_agent'), ini_get('memory_limit')];",
        )
        .file(
            "hearth.toml",
            "[php.ini]\nerror_reporting = 'E_ALL & (E_ERROR | E_WARNING)'\nuser_agent = '\"a;b\"'\nmemory_limit = '1M; too little'\n",
        )
        .args(["--ini", "date.timezone=UTC;", "--ini", "memory_limit=64M"])
        .start();
    assert_eq!(ok(&server.get("/")), r#"["3","UTC","a;b","64M"]"#);
    server.stop();
    let directory = testkit::temporary();
    let slip = hearth(
        directory.path(),
        &["serve", "app.php", "--ini", "memory_limit"],
        "",
    );
    assert_eq!(slip.status.code(), Some(2), "{slip:?}");
    assert!(
        String::from_utf8_lossy(&slip.stderr).contains("memory_limit=256M"),
        "{slip:?}"
    );
}

/// The one that its task had at the fork stays its parent's, and is not closed at the child's end.
#[test]
fn a_forked_child_leaves_its_parents_connection_alone() {
    let (code, out, err) = run(
        "$pdo = new Hearth\\Pool\\Pdo($argv[1], 'hearth', 'hearth', size: 4);
         $session = fn () => (int) $pdo->query('SELECT CONNECTION_ID()')->fetchColumn();
         $mine = $session();
         $child = pcntl_fork();
         if ($child === 0) { exit($session() === $mine ? 1 : 0); }
         pcntl_waitpid($child, $status);
         var_dump(pcntl_wexitstatus($status), $session() === $mine);",
        &[&MariaDb::shared().dsn()],
        "",
    );
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "int(0)\nbool(true)\n"),
        "{err}"
    );
}

/// The engine would free an argument, a part of a string or a result that is not there, or forget one that is: an exception of an
/// interrupt comes before an opcode that has not begun.
#[test]
fn a_signal_handler_may_throw_in_the_middle_of_an_expression() {
    let (status, out, error) = run(
        r#"pcntl_async_signals(true);
        pcntl_signal(SIGUSR1, fn () => throw new RuntimeException('a signal'));
        final class Result { public static int $left = 0; function __construct() { self::$left++; } function __destruct() { self::$left--; } }
        function signalled() { posix_kill(getmypid(), SIGUSR1); return new Result(); }
        function text() { posix_kill(getmypid(), SIGUSR1); return 'text'; }
        function takes(...$all) { return count($all); }
        function fill() { $frame = [str_repeat('x', 20), new Result(), [str_repeat('y', 20)]]; return takes(...array_fill(0, 20, $frame)); }
        $array = [];
        $expressions = [
            fn () => takes([1], posix_kill(getmypid(), SIGUSR1)),
            fn () => takes([1], takes([2], posix_kill(getmypid(), SIGUSR1), [3])),
            fn () => takes([1], signalled()),
            fn () => takes(a: [1], b: signalled()),
            fn ($x = 'x') => "$x{$x}" . takes("$x " . text() . " {$x}"),
            function ($x = 'x') { $o = new class { function text() { return text(); } }; return "{$x}a{$o->text()}b{$o->text()}"; },
            fn () => new Result(signalled()),
            function () { $x = signalled(); },
            function () use (&$array) { $array[1] = signalled(); },
            fn () => signalled() ?? 1,
            fn () => [[1], signalled()],
            function () { foreach ([new Result()] as $x) { return signalled(); } },
        ];
        $caught = 0;
        for ($round = 0; $round < 50; $round++) {
            foreach ($expressions as $expression) {
                fill();
                try { $expression(); } catch (RuntimeException $e) { $caught++; unset($e); }
                $array = [];
            }
        }
        echo $caught, ' caught, ', Result::$left, ' left';"#,
        &[],
        "",
    );
    assert_eq!(
        (status, out.as_str(), error.as_str()),
        (Some(0), "600 caught, 0 left", "")
    );
}

/// It goes when its task has no call any more, whose name the warning would have.
#[test]
fn a_warning_about_what_the_last_call_of_a_task_leaves_ends_no_process() {
    let (code, out, err) = run(
        r"preg_match('/port=(\d+)/', $argv[1], $found);
          $connection = new mysqli('127.0.0.1', 'hearth', 'hearth', null, (int) $found[1]);
          [$prepared, $end] = [new Hearth\Channel(), new Hearth\Channel()];
          $task = Hearth\background(function () use ($connection, $prepared, $end) {
              $statement = $connection->prepare('SELECT 1');
              $prepared->send(true);
              $end->receive();
          });
          $prepared->receive();
          $slow = Hearth\background(fn () => Hearth\Internal\mysqlReset($connection, ['DO SLEEP(0.5)']));
          usleep(1000);
          $end->send(true);
          try { $task->await(); } catch (Error $error) { echo get_class($error), ' '; }
          try { $slow->await(); } catch (Throwable $error) { echo get_class($error), ' '; }
          echo 'alive';",
        &[&MariaDb::shared().dsn()],
        "",
    );
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.ends_with("alive"), "{out}{err}");
    let text = out + &err;
    assert!(
        text.contains("Error occurred while closing statement"),
        "{text}"
    );
}

/// It goes at the end of its task, when the pool has the connection again.
#[test]
fn a_statement_that_is_freed_after_the_return_of_its_connection_does_no_harm() {
    let (code, out, err) = run(
        r"preg_match('/port=(\d+)/', $argv[1], $found);
          $connect = fn () => new mysqli('127.0.0.1', 'hearth', 'hearth', null, (int) $found[1]);
          $pool = new Hearth\Pool\Pool($connect, size: 1, minimumIdle: 0);
          Hearth\background(function () use ($pool) {
              $connection = $pool->borrow();
              $statement = $connection->prepare('SELECT 1');
              $statement->execute();
              $statement->get_result()->fetch_all();
              $pool->giveBack($connection);
          })->await();
          echo $pool->with(fn (mysqli $it) => $it->query('SELECT 1')->fetch_row()[0]), ' ', $pool->stats()['created'];",
        &[&MariaDb::shared().dsn()],
        "",
    );
    assert_eq!((code, out.as_str()), (Some(0), "1 1"), "{err}");
}

#[test]
fn a_missing_script_is_said() {
    let directory = testkit::temporary();
    let output = hearth(directory.path(), &["run", "missing.php"], "");
    assert_eq!(output.status.code(), Some(1));
    let text = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&text).contains("missing.php"));
}

#[test]
fn check_says_what_is_wrong_and_starts_nothing() {
    let directory = testkit::temporary();
    let write = |code: &str| {
        std::fs::write(directory.path().join("app.php"), code).expect("a file can be written")
    };
    write("<?php return fn () => 'x';");
    let good = hearth(directory.path(), &["check", "app.php"], "");
    assert_eq!(
        good.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&good.stderr)
    );
    write("<?php\nthrow new Exception('not ready');");
    let bad = hearth(directory.path(), &["check", "app.php"], "");
    assert_eq!(bad.status.code(), Some(1));
    let text = String::from_utf8_lossy(&bad.stderr).into_owned();
    assert!(
        text.contains("app.php:2") && text.contains("not ready"),
        "{text}"
    );
    std::fs::write(
        directory.path().join("hearth.toml"),
        "lisen = \"127.0.0.1:0\"\n",
    )
    .expect("a file can be written");
    let typo = hearth(directory.path(), &["check", "app.php"], "");
    assert_eq!(typo.status.code(), Some(2));
    let text = String::from_utf8_lossy(&typo.stderr).into_owned();
    assert!(text.contains("lisen") && text.contains("listen"), "{text}");
}
