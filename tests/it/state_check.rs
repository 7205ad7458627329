//! The check of isolation by memory: that it finds what a request leaves, and that requests leave nothing.

use std::path::PathBuf;

use testkit::state::{Checker, Finding, Moment, Script};

fn checker() -> Checker {
    // FFI writes where no table knows of anything.
    Checker::new(["--ini", "ffi.enable=1"].map(str::to_owned).to_vec())
}

fn check(code: &str) -> Vec<Finding> {
    let directory = testkit::temporary();
    let file = directory.path().join("script.php");
    std::fs::write(&file, format!("<?php\n{code}")).expect("a script can be written");
    checker()
        .check(&Script::of(file))
        .unwrap_or_else(|why| panic!("{code}: {}", why.0))
}

/// When it was seen and where, of the findings whose place has this in it.
fn seen(findings: &[Finding], part: &str) -> Vec<Moment> {
    findings
        .iter()
        .filter(|finding| finding.place.contains(part))
        .map(|finding| finding.moment)
        .collect()
}

#[test]
fn memory_that_a_request_changes_is_named_by_its_symbol() {
    let findings = check("FFI::cdef('extern int php_optidx;')->php_optidx = 42;");
    assert_eq!(
        seen(&findings, "libphp.so symbol php_optidx"),
        [Moment::Waiting, Moment::Ended, Moment::Next],
        "{findings:#?}"
    );
}

#[test]
fn memory_that_another_request_changes_meanwhile_is_seen_by_the_one_that_waited() {
    let findings = check(
        "$library = FFI::cdef('extern int php_optidx;');
         Hearth\\background(static function () use ($library): void { usleep(1); $library->php_optidx = 42; });",
    );
    assert!(
        seen(&findings, "libphp.so symbol php_optidx").contains(&Moment::Resumed),
        "{findings:#?}"
    );
}

#[test]
fn a_variable_without_a_name_is_found() {
    // Behind this one come others, of functions that no library exports.
    let findings = check(
        "$library = FFI::cdef('extern int php_optidx;');
         $behind = FFI::cast('char *', FFI::addr($library->php_optidx)) + 4;
         $behind[0] = chr(ord($behind[0]) ^ 1);",
    );
    let moments = seen(&findings, "libphp.so static ");
    assert!(moments.contains(&Moment::Waiting), "{findings:#?}");
    assert!(moments.contains(&Moment::Ended), "{findings:#?}");
}

#[test]
fn settings_are_put_away_and_put_back() {
    let findings = check("ini_set('precision', '5'); ini_set('user_agent', 'probe');");
    assert_eq!(seen(&findings, "engine setting"), [], "{findings:#?}");
}

#[test]
fn a_resource_that_outlives_its_request_is_found() {
    let findings = check(
        "class Keeper { public static $stream; }
         Keeper::$stream = fopen('php://memory', 'r');",
    );
    assert_eq!(
        seen(&findings, "resources"),
        [Moment::Ended, Moment::Next],
        "{findings:#?}"
    );
}

#[test]
fn memory_of_the_process_that_a_variable_points_to_is_compared() {
    // A hook that this interface does not have.
    let findings = check(
        "$address = FFI::new('long');
         $address->cdata = FFI::cdef('extern long zend_ce_countable;')->zend_ce_countable;
         $entry = FFI::cast('long *', $address);
         for ($word = 40; $entry[$word] !== 0; $word++) {
         }
         $entry[$word] = 42;",
    );
    assert_eq!(
        seen(&findings, "libphp.so content zend_ce_countable"),
        [Moment::Waiting, Moment::Ended, Moment::Next],
        "{findings:#?}"
    );
}

#[test]
fn what_the_process_has_is_put_back() {
    // Behind PHP's back.
    let findings = check(
        "FFI::cdef('int setenv(const char *, const char *, int);')->setenv('PROBE', '1', 1);",
    );
    assert_eq!(
        seen(&findings, "process environment PROBE"),
        [Moment::Waiting, Moment::Ended, Moment::Next],
        "{findings:#?}"
    );
    let findings = check(
        "pcntl_signal(SIGTERM, fn () => null);
         pcntl_sigprocmask(SIG_BLOCK, [SIGUSR2]);
         pcntl_alarm(1000);
         proc_nice(1);
         setlocale(LC_ALL, 'C.UTF-8');
         chdir('/');
         umask(0);
         putenv('PROBE=1');",
    );
    assert_eq!(findings, []);
}

#[test]
fn a_descriptor_that_a_request_leaves_is_found() {
    let findings = check("FFI::cdef('int open(const char *, int, ...);')->open('/dev/null', 0);");
    assert_eq!(
        seen(&findings, "process descriptor"),
        [Moment::Ended, Moment::Next],
        "{findings:#?}"
    );
}

#[test]
fn the_context_of_libxml_goes_with_its_request() {
    let findings = check("libxml_set_streams_context(stream_context_create());");
    assert_eq!(seen(&findings, "resources"), [], "{findings:#?}");
}

#[test]
fn a_loader_of_libxml_that_was_set_and_taken_away_leaves_nothing() {
    let findings = check(
        "libxml_set_external_entity_loader([new ArrayObject(), 'count']);
         libxml_set_external_entity_loader(null);",
    );
    assert_eq!(findings, []);
}

#[test]
fn a_session_that_cannot_be_opened_leaves_no_data() {
    // session_encode() of another request would read it.
    let findings = check(
        "ini_set('session.use_cookies', '0');
         ini_set('session.cache_limiter', '');
         ini_set('session.save_path', '/nowhere');
         @session_start();",
    );
    assert_eq!(seen(&findings, " session"), [], "{findings:#?}");
}

#[test]
fn probes_of_all_kinds_of_state_leave_nothing_and_see_nothing() {
    let folder = testkit::checkout().join("tests/state/probes");
    let mut probes: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the probes")
        .map(|entry| entry.expect("a probe").path())
        .collect();
    probes.sort();
    let mut checker = Checker::new(Vec::new());
    let mut found = Vec::new();
    for probe in &probes {
        match checker.check(&Script::of(probe)) {
            Ok(findings) => found.extend(findings.into_iter().map(|one| (probe, one))),
            Err(why) => panic!("{}: {}", probe.display(), why.0),
        }
    }
    assert!(probes.len() > 40, "{probes:?}");
    assert!(found.is_empty(), "{found:#?}");
}

/// After a fatal error the worker goes on with its other requests until the last has ended.
#[test]
fn a_fatal_error_a_time_limit_and_a_client_that_leaves_leave_nothing_to_the_others_of_the_worker() {
    let directory = testkit::temporary();
    let file = directory.path().join("script.php");
    let changes = "<?php ini_set('precision', '5'); ini_set('user_agent', 'probe'); libxml_use_internal_errors(true); mb_internal_encoding('ISO-8859-1');
        error_reporting(0); set_error_handler(fn () => true); set_exception_handler(fn () => 1); ob_start(); echo 'text'; header('X-Own: 1');
        $_ENV['own'] = $_SERVER['own'] = 1; json_decode('{'); preg_match('/(?:\\D+|<\\d+>)*[!?]/', 'foobar foobar foobar'); mt_srand(5);
        spl_autoload_register(fn () => null); assert_options(ASSERT_WARNING, 0); umask(0); setlocale(LC_ALL, 'C.UTF-8'); tmpfile();";
    std::fs::write(&file, changes).expect("a script can be written");
    let findings = checker()
        .check_endings(&Script::of(&file))
        .unwrap_or_else(|why| panic!("{}", why.0));
    assert_eq!(findings, []);
    let leaves = "<?php FFI::cdef('extern int php_optidx;')->php_optidx = 42;";
    std::fs::write(&file, leaves).expect("a script can be written");
    let findings = checker()
        .check_endings(&Script::of(&file))
        .unwrap_or_else(|why| panic!("{}", why.0));
    assert_eq!(
        seen(&findings, "libphp.so symbol php_optidx"),
        [Moment::Broken, Moment::TimedOut, Moment::Left],
        "{findings:#?}"
    );
}

#[test]
fn a_worker_that_crashes_is_a_finding() {
    let findings = check("FFI::cdef('int raise(int);')->raise(11);");
    assert_eq!(
        seen(&findings, "worker killed by SIGSEGV"),
        [Moment::Crashed, Moment::Crashed],
        "{findings:#?}"
    );
}

#[test]
fn a_script_that_its_own_fatal_error_ends_is_checked() {
    assert_eq!(check("eval('class self {}');"), []);
}
