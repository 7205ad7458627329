//! Values that options accept.

use super::*;

#[test]
fn a_log_goes_to_a_file_or_to_the_system() {
    let of = |target: &str| {
        let gathered = gathered(None, &[], &["app.php", "--access-log", target]);
        (gathered.settings().access_log, gathered.dir)
    };
    let (file, dir) = of("logs/access.log");
    let path = dir.path().join("logs/access.log");
    assert_eq!(file, Some(LogTarget::File(path)));
    for (text, target) in [
        ("off", None),
        ("stderr", Some(LogTarget::Stderr)),
        ("syslog", Some(LogTarget::Syslog("/dev/log".into()))),
        (
            "syslog:/run/log",
            Some(LogTarget::Syslog("/run/log".into())),
        ),
    ] {
        assert_eq!(of(text).0, target, "{text}");
    }
    for (text, expected) in [
        (".", "is a directory; name a file in it"),
        ("syslog:", "lacks the path, as in syslog:/dev/log"),
    ] {
        let problems = gathered(None, &[], &["app.php", "--access-log", text]).problems();
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_number_of_workers_is_fixed_or_between_two() {
    let workers = |flags: &[&str]| {
        let mut words = vec!["app.php"];
        words.extend(flags);
        gathered(None, &[], &words).settings()
    };
    let elastic = workers(&["--workers-min", "2"]);
    let (least, most) = (2, None);
    assert_eq!(elastic.workers, Workers::Between { least, most });
    assert_eq!(elastic.dispatch(256), Dispatch::Balanced);
    let (least, most) = (2, Some(9));
    let both = workers(&["--workers-min", "2", "--workers-max", "9"]);
    assert_eq!(both.workers, Workers::Between { least, most });
    let one = workers(&["--workers-max", "1"]);
    assert_eq!(one.workers, Workers::Count(1), "fewer than processors");
    let same = workers(&[
        "--workers-min",
        "3",
        "--workers-max",
        "3",
        "--dispatch",
        "direct",
    ]);
    assert_eq!(same.workers, Workers::Count(3));
}

#[test]
fn what_is_said_of_workers_must_not_contradict() {
    for (flags, expected) in [
        (
            ["--workers", "4", "--workers-max", "8"].as_slice(),
            "workers.count = 4 is a fixed number",
        ),
        (
            &["--workers-min", "9", "--workers-max", "8"],
            "workers.min = 9 is more than workers.max = 8",
        ),
        (
            &["--workers-max", "auto", "--dispatch", "direct"],
            "with direct dispatch the number of workers is fixed",
        ),
    ] {
        let mut words = vec!["app.php"];
        words.extend(flags);
        let problems = gathered(None, &[], &words).problems();
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_variable_of_the_environment_has_a_name_and_a_text() {
    let file =
        "app = 'a.php'\n[env]\n'A-B' = 'x'\nDEBUG = true\nNUL = \"\\u0000\"\n[env.X]\ny = 1\n";
    let gathered = gathered(Some(file), &[], &["--env", "APP_ENV"]);
    assert_eq!(
        gathered.problems(),
        "\
5 mistakes in the configuration:
  DIR/hearth.toml:4: env.DEBUG is a boolean; an environment variable must be a string, such as \"1\", or a number
  DIR/hearth.toml:6: env.X is a table; an environment variable must be a string, such as \"1\", or a number
  DIR/hearth.toml:3: env: \"A-B=x\" is not NAME=VALUE, such as APP_ENV=prod
  DIR/hearth.toml:5: env: the value of NUL contains a NUL
  --env: \"APP_ENV\" is not NAME=VALUE, such as APP_ENV=prod"
    );
}

#[test]
fn a_mode_has_octal_digits() {
    let socket = |flags: &[&str]| {
        let words = [&["app.php", "--listen", "unix:a"], flags].concat();
        gathered(None, &[], &words).settings().socket
    };
    assert_eq!((socket(&[]).mode, socket(&[]).group), (0o660, None));
    let given = socket(&["--socket-mode", "666", "--socket-group", "www-data"]);
    assert_eq!(
        (given.mode, given.group.as_deref()),
        (0o666, Some("www-data"))
    );
    for wrong in ["", "0o660", "0680", "1660", "0440", "432", "rw"] {
        let gathered = gathered(None, &[], &["app.php", "--socket-mode", wrong]);
        assert!(gathered.problems().contains("such as \"0660\""), "{wrong}");
    }
}

#[test]
fn proxies_are_addresses_networks_or_words() {
    let file = "app = 'a.php'\n[http]\ntrusted_proxies = ['10.0.0.0/8', 'unix']\n";
    let trusts = |gathered: &Gathered, address: Option<&str>| {
        let address = address.map(|text| text.parse().expect("an address"));
        gathered.settings().trusted_proxies.trusts(address)
    };
    let from_file = gathered(Some(file), &[], &[]);
    assert!(trusts(&from_file, Some("10.1.2.3")) && trusts(&from_file, None));
    let env = [("HEARTH_HTTP_TRUSTED_PROXIES", "private, 192.0.2.1")];
    let from_environment = gathered(Some(file), &env, &[]);
    assert!(trusts(&from_environment, Some("192.0.2.1")) && !trusts(&from_environment, None));
    let wrong = gathered(None, &[], &["a.php", "--trusted-proxies", "localhost"]);
    assert_eq!(
        wrong.problems(),
        "--trusted-proxies: \"localhost\" is not an address, a network such as 10.0.0.0/8, \"private\" or \"unix\""
    );
}

#[test]
fn an_ini_setting_has_a_value_on_one_line() {
    assert_eq!(
        gathered(
            Some("app = 'a.php'\n[php.ini]\nx = \"1\\ny=2\"\nz = \"1\\ry=2\"\n"),
            &[("HEARTH_PHP_INI", "a=1;html_errors")],
            &["--ini", "memory_limit"],
        )
        .problems(),
        "4 mistakes in the configuration:
  DIR/hearth.toml:3: php.ini: the value of x has more than one line
  DIR/hearth.toml:4: php.ini: the value of z has more than one line
  HEARTH_PHP_INI: \"html_errors\" is not KEY=VALUE, such as memory_limit=256M
  --ini: \"memory_limit\" is not KEY=VALUE, such as memory_limit=256M"
    );
}

#[test]
fn no_quote_of_an_ini_setting_is_left_open() {
    for (value, good) in [
        ("it's", false),
        ("it's; it's", true),
        ("/it's", true),
        ("/a\"b", false),
        ("/a\\", true),
        ("/a\\\"b", true),
        ("\"a", false),
        ("\"a\\\"b\"", true),
        ("\"it's\"", true),
        ("'a", false),
        ("'a\"b'", true),
        ("a\"b\"c", true),
        ("a ; it's", true),
        ("", true),
    ] {
        let gathered = gathered(None, &[], &["a.php", "--ini", &format!("x={value}")]);
        let mistake = format!("a quote in the value of x is not closed: {value}");
        match good {
            true => assert_eq!(
                gathered.settings().ini,
                [("x".to_owned(), value.to_owned())]
            ),
            false => assert!(gathered.problems().contains(&mistake), "{value}"),
        }
    }
}
