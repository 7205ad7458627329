//! Our PHP library, which is compiled where it is named: what code that does not name it sees and pays.

use std::path::Path;
use std::process::{Command, Output};

use testkit::Server;

use crate::support::ok;

/// What a script sees of the process that it runs in.
const SEEN: &str = "<?php
    class Mine {}
    echo json_encode([get_defined_functions()['user'], spl_autoload_functions(), get_included_files(), array_keys(get_defined_vars()),
        spl_object_id(new Mine), get_resource_id(fopen('php://memory', 'r')), array_slice(get_declared_classes(), -1), gc_status()['roots']]);";

fn run(directory: &Path, program: &str, words: &[&str]) -> Output {
    let mut command = match program {
        "php" => Command::new("php"),
        _ => Command::new(testkit::hearth()),
    };
    let first = (program != "php").then_some("run");
    let output = command
        .args(first)
        .args(words)
        .current_dir(directory)
        .output();
    output.unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Standard output of `hearth run` and of `php` with the same words.
fn both(code: &str, words: &[&str]) -> [String; 2] {
    let directory = testkit::temporary();
    std::fs::write(directory.path().join("script.php"), code).expect("a file can be written");
    ["hearth", "php"].map(|program| {
        let output = run(
            directory.path(),
            program,
            &[words, &["script.php"]].concat(),
        );
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    })
}

#[test]
fn a_script_sees_nothing_of_it() {
    let [ours, php] = both(SEEN, &[]);
    assert_eq!(ours, php);
}

/// A script that does not use it has the memory that it has under php.
#[test]
fn a_script_does_not_pay_for_it() {
    let [ours, php] = both("<?php echo memory_get_usage();", &[]);
    let [ours, php] = [ours, php].map(|bytes| bytes.parse::<usize>().expect("a number"));
    assert!(ours < php + 50_000, "{ours} bytes, {php} under php");
    let fill =
        "<?php $all = str_repeat('x', 1 << 20); echo memory_get_usage(true), ' ', strlen($all);";
    let [ours, php] = both(fill, &["-d", "memory_limit=4M"]);
    assert_eq!(ours, php);
}

#[test]
fn a_little_memory_is_enough_to_use_it() {
    let directory = testkit::temporary();
    let code =
        "echo implode(Hearth\\parallel([fn () => 1, function () { usleep(1000); return 2; }]));
                $channel = new Hearth\\Channel(1); $channel->send(3); echo $channel->receive();";
    let output = run(
        directory.path(),
        "hearth",
        &["-d", "memory_limit=2M", "-r", code],
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout), "123", "{output:?}");
}

/// Settings that change how PHP reads files are the app's, and its files are not ours.
#[test]
fn it_does_not_depend_on_how_files_are_read() {
    let directory = testkit::temporary();
    let code = "$limit = new Hearth\\Semaphore(2);
        echo implode(Hearth\\parallel([fn () => 'a', fn () => $limit->with(fn () => 'b')])), class_exists('Hearth\\Pool\\Pool') ? 'c' : '',
        Hearth\\Response::json(['d' => 1])->body();";
    // Other encodings than ASCII's supersets are set when the script has been read.
    let encoded = |name| format!("ini_set('zend.script_encoding', '{name}'); {code}");
    for (settings, code) in [
        (
            "zend.multibyte=1 zend.script_encoding=SJIS",
            code.to_owned(),
        ),
        (
            "zend.multibyte=1 zend.detect_unicode=0",
            encoded("UTF-16LE"),
        ),
        ("zend.multibyte=1", encoded("BASE64")),
        ("short_open_tag=0 zend.assertions=1", code.to_owned()),
        (
            "short_open_tag=1 zend.assertions=0",
            format!("declare(ticks=1); {code}"),
        ),
        (
            "opcache.enable_cli=1 opcache.optimization_level=0",
            code.to_owned(),
        ),
        (
            "opcache.enable_cli=1 opcache.jit=tracing opcache.jit_buffer_size=8M",
            code.to_owned(),
        ),
        (
            "opcache.enable_cli=1 opcache.save_comments=0",
            code.to_owned(),
        ),
    ] {
        let settings = settings.split(' ').flat_map(|one| ["-d", one]);
        let words: Vec<&str> = settings.chain(["-r", &code]).collect();
        let output = run(directory.path(), "hearth", &words);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "abc{\"d\":1}",
            "{words:?}: {output:?}"
        );
    }
}

/// Named as text, under another case, and asked for without being loaded.
#[test]
fn its_classes_and_functions_are_found_by_any_way_of_naming_them() {
    let directory = testkit::temporary();
    let code = r#"
        echo json_encode([
            class_exists('hearth\CHANNEL'), class_exists('\Hearth\Mutex'), enum_exists('Hearth\Pool\State'), class_exists('Hearth\Nothing'),
            is_a('Hearth\ChannelClosed', RuntimeException::class, true), is_subclass_of('Hearth\Pool\BorrowTimeout', 'Hearth\Pool\PoolException'),
            function_exists('Hearth\parallel'), is_callable('hearth\RACE'), ('Hearth\par' . 'allel')(['k' => fn () => 1]),
            call_user_func_array('Hearth\parallel', ['callables' => [fn () => 2], 'limit' => 1]),
            (string) (new ReflectionFunction('Hearth\parallel'))->getParameters()[1],
            (string) (new ReflectionFunction('Hearth\every'))->getReturnType(),
            unserialize('O:12:"Hearth\Local":0:{}') instanceof Hearth\Local,
        ]);
        abstract class Base extends Hearth\TimeoutError {}
        class Limited extends Base {}
        try { throw new Limited('x'); } catch (Hearth\TimeoutError $e) { echo get_class($e); }
        try { Hearth\parallel(1); } catch (TypeError $e) { echo $e->getMessage(); }
        try { Hearth\timeout(1, 'no_such_function'); } catch (TypeError $e) { echo $e->getMessage(); }"#;
    let output = run(directory.path(), "hearth", &["-r", code]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[true,true,true,false,true,true,true,true,{\"k\":1},[2],\"Parameter #1 [ <optional> ?int $limit = null ]\",\"Hearth\\\\Timer\",true]\
         Limited\
         Hearth\\parallel(): Argument #1 ($callables) must be of type array, int given\
         Hearth\\timeout(): Argument #2 ($fn) must be a valid callback, function \"no_such_function\" not found or invalid function name",
        "{output:?}"
    );
}

/// The app's autoloaders are its own, and they are asked for what is not ours.
#[test]
fn the_apps_autoloaders_are_asked_for_the_rest() {
    let directory = testkit::temporary();
    let code = "spl_autoload_register(function (string $class) { echo \"[$class]\"; });
        var_dump(class_exists('Hearth\\Channel'), class_exists('Hearth\\Other'), class_exists('Hearthstone\\X'));";
    let output = run(directory.path(), "hearth", &["-r", code]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[Hearth\\Other][Hearthstone\\X]bool(true)\nbool(false)\nbool(false)\n"
    );
}

#[test]
fn an_app_in_a_server_does_not_pay_for_it() {
    let server = Server::script(
        "$boot = memory_get_usage(); return fn () => [$boot, memory_get_usage(true), get_defined_functions()['user'], spl_autoload_functions()];",
    )
    .args(["--workers", "1", "--ini", "memory_limit=2M"])
    .start();
    let text = ok(&server.get("/"));
    let boot = text.trim_start_matches('[').split(',').next();
    let boot: usize = boot.and_then(|n| n.parse().ok()).expect("a number");
    assert!(boot < 500_000, "{text}");
    assert!(text.ends_with(",2097152,[],[]]"), "{text}");
    server.stop();
}

/// What is first named in a request is compiled in that worker, beside what the others do.
#[test]
fn requests_that_name_it_first_find_it() {
    let server = Server::script(
        "return function () {
            $limit = new Hearth\\Semaphore(2);
            $pool = new Hearth\\Pool\\Pool(fn () => new ArrayObject(), size: 2);
            $results = Hearth\\parallel(array_fill(0, 5, fn () => $limit->with(fn () => $pool->with(function ($connection) { usleep(1000); return 1; }))));
            $pool->close();
            return [array_sum($results), (string) (new ReflectionProperty('Hearth\\Pool\\Entry', 'state'))->getType()];
        };",
    )
    .args(["--workers", "2", "--ini", "opcache.file_update_protection=0"])
    .start();
    let paths = vec!["/"; 40];
    for answer in crate::support::at_once(&server, &paths).0 {
        assert_eq!(ok(&answer), "[5,\"Hearth\\\\Pool\\\\State\"]");
    }
    server.stop();
}
