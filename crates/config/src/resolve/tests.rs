use super::*;
use crate::flags::{app_argument, flags, matches_to_given};
use crate::settings::{Dispatch, Mode};

struct Said {
    dir: tempfile::TempDir,
    raw: Raw,
}

fn said(file: Option<&str>, env: &[(&str, &str)], args: &[&str]) -> Said {
    let dir = tempfile::tempdir().unwrap();
    if let Some(text) = file {
        std::fs::write(dir.path().join("hearth.toml"), text).unwrap();
    }
    let command = clap::Command::new("serve")
        .no_binary_name(true)
        .arg(app_argument())
        .args(flags(None));
    let matches = command.try_get_matches_from(args).unwrap();
    let env = env.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    let raw = Raw::gather(matches_to_given(&matches), env, dir.path());
    Said { dir, raw }
}

impl Said {
    fn settings(&self) -> Settings {
        resolve(&self.raw, self.dir.path()).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn problems(&self) -> String {
        let text = resolve(&self.raw, self.dir.path()).unwrap_err().to_string();
        text.replace(self.dir.path().to_str().unwrap(), "DIR")
    }
}

#[test]
fn defaults_are_enough() {
    let said = said(None, &[], &["app.php"]);
    let settings = said.settings();
    assert_eq!(settings.app, said.dir.path().join("app.php"));
    assert_eq!(
        settings.listen,
        [Listen::Tcp("127.0.0.1:8080".parse().unwrap())]
    );
    assert_eq!(settings.concurrency, None);
    assert_eq!(settings.request_timeout, Duration::from_secs(60));
    assert_eq!(settings.http.keepalive_timeout, Duration::from_secs(75));
    assert_eq!(
        (settings.workers, settings.php, settings.admin),
        (Workers::Auto, None, None)
    );
}

#[test]
fn a_log_goes_to_a_file_or_to_the_system() {
    let of = |target: &str| {
        let said = said(None, &[], &["app.php", "--access-log", target]);
        (said.settings().access_log, said.dir)
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
        let problems = said(None, &[], &["app.php", "--access-log", text]).problems();
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_number_of_workers_is_fixed_or_between_two() {
    let workers = |flags: &[&str]| {
        let mut words = vec!["app.php"];
        words.extend(flags);
        said(None, &[], &words).settings()
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
        let problems = said(None, &[], &words).problems();
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn flags_win_over_environment_and_that_over_the_file() {
    let file =
        "app = 'from/file.php'\n[workers]\ncount = 2\nconcurrency = 10\n[request]\ntimeout = 1.5\n";
    let env = [
        ("HEARTH_WORKERS_COUNT", "3"),
        ("HEARTH_WORKERS_CONCURRENCY", "20"),
    ];
    let said = said(Some(file), &env, &["--workers", "4"]);
    let settings = said.settings();
    assert_eq!(settings.workers, Workers::Count(4));
    assert_eq!(settings.concurrency, Some(20));
    assert_eq!(settings.request_timeout, Duration::from_millis(1500));
    assert_eq!(settings.app, said.dir.path().join("from/file.php"));
    let sources: Vec<String> = crate::effective(&said.raw, None)
        .into_iter()
        .filter(|e| e.source != Source::Default)
        .map(|e| {
            format!(
                "{} = {} ({})",
                e.key,
                e.value,
                e.source
                    .to_string()
                    .replace(said.dir.path().to_str().unwrap(), "DIR")
            )
        })
        .collect();
    assert_eq!(
        sources,
        [
            "app = from/file.php (DIR/hearth.toml:1)",
            "workers.count = 4 (--workers)",
            "workers.concurrency = 20 (HEARTH_WORKERS_CONCURRENCY)",
            "request.timeout = 1.5 (DIR/hearth.toml:6)",
        ]
    );
}

#[test]
fn the_strongest_source_replaces_all_listens() {
    let file = "app = 'a.php'\nlisten = ['127.0.0.1:1', 'unix:run/a.sock']\n";
    let said_file = said(Some(file), &[], &[]);
    let unix = Listen::Unix(said_file.dir.path().join("run/a.sock"));
    assert_eq!(
        said_file.settings().listen,
        [Listen::Tcp("127.0.0.1:1".parse().unwrap()), unix]
    );
    let env = [("HEARTH_LISTEN", "localhost:2, [::1]:3")];
    let listen = said(Some(file), &env, &[]).settings().listen;
    assert_eq!(
        listen.iter().map(Listen::to_string).collect::<Vec<_>>(),
        ["127.0.0.1:2", "[::1]:3"]
    );
    assert_eq!(
        said(Some(file), &env, &["--listen", "0.0.0.0:4"])
            .settings()
            .listen
            .len(),
        1
    );
}

#[test]
fn ini_settings_add_up() {
    let file = "app = 'a.php'\n[php.ini]\nmemory_limit = '64M'\nopcache.enable = true\n'x.y' = 7\n";
    let said = said(
        Some(file),
        &[("HEARTH_PHP_INI", "a=1;b=2")],
        &["--ini", "memory_limit=1G", "--ini", "html_errors=on"],
    );
    let ini: Vec<String> = said
        .settings()
        .ini
        .into_iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    assert_eq!(
        ini,
        [
            "opcache.enable=1",
            "x.y=7",
            "a=1",
            "b=2",
            "memory_limit=1G",
            "html_errors=on"
        ]
    );
}

#[test]
fn variables_of_the_environment_add_up() {
    let file = "app = 'a.php'\n[env]\nAPP_ENV = 'dev'\nPORT = 3306\nEMPTY = ''\n";
    let env = [("HEARTH_ENV", "APP_ENV=stage;QUERY=a=b")];
    let said = said(Some(file), &env, &["--env", "APP_ENV=prod"]);
    let expected = [
        ("PORT", "3306"),
        ("EMPTY", ""),
        ("QUERY", "a=b"),
        ("APP_ENV", "prod"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(said.settings().env, expected);
}

#[test]
fn a_variable_of_the_environment_has_a_name_and_a_text() {
    let file =
        "app = 'a.php'\n[env]\n'A-B' = 'x'\nDEBUG = true\nNUL = \"\\u0000\"\n[env.X]\ny = 1\n";
    let said = said(Some(file), &[], &["--env", "APP_ENV"]);
    assert_eq!(
        said.problems(),
        "\
5 mistakes in the configuration:
  DIR/hearth.toml:4: env.DEBUG is a boolean; an environment variable is a text, such as \"1\", or a number
  DIR/hearth.toml:6: env.X is a table; an environment variable is a text, such as \"1\", or a number
  DIR/hearth.toml:3: env: \"A-B=x\" is not NAME=VALUE, such as APP_ENV=prod
  DIR/hearth.toml:5: env: the value of NUL contains a NUL
  --env: \"APP_ENV\" is not NAME=VALUE, such as APP_ENV=prod"
    );
}

#[test]
fn a_mode_has_octal_digits() {
    let socket = |flags: &[&str]| {
        let words = [&["app.php", "--listen", "unix:a"], flags].concat();
        said(None, &[], &words).settings().socket
    };
    assert_eq!((socket(&[]).mode, socket(&[]).group), (0o660, None));
    let given = socket(&["--socket-mode", "666", "--socket-group", "www-data"]);
    assert_eq!(
        (given.mode, given.group.as_deref()),
        (0o666, Some("www-data"))
    );
    for wrong in ["", "0o660", "0680", "1660", "0440", "432", "rw"] {
        let said = said(None, &[], &["app.php", "--socket-mode", wrong]);
        assert!(said.problems().contains("such as \"0660\""), "{wrong}");
    }
}

#[test]
fn proxies_are_addresses_networks_or_words() {
    let file = "app = 'a.php'\n[http]\ntrusted_proxies = ['10.0.0.0/8', 'unix']\n";
    let trusts = |said: &Said, address: Option<&str>| {
        let address = address.map(|text| text.parse().expect("an address"));
        said.settings().trusted_proxies.trusts(address)
    };
    let from_file = said(Some(file), &[], &[]);
    assert!(trusts(&from_file, Some("10.1.2.3")) && trusts(&from_file, None));
    let env = [("HEARTH_HTTP_TRUSTED_PROXIES", "private, 192.0.2.1")];
    let from_environment = said(Some(file), &env, &[]);
    assert!(trusts(&from_environment, Some("192.0.2.1")) && !trusts(&from_environment, None));
    let wrong = said(None, &[], &["a.php", "--trusted-proxies", "localhost"]);
    assert_eq!(
        wrong.problems(),
        "--trusted-proxies: \"localhost\" is not an address, a network such as 10.0.0.0/8, \"private\" or \"unix\""
    );
}

#[test]
fn an_ini_setting_has_a_value_on_one_line() {
    assert_eq!(
        said(
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
        let said = said(None, &[], &["a.php", "--ini", &format!("x={value}")]);
        let mistake = format!("a quote in the value of x is not closed: {value}");
        match good {
            true => assert_eq!(said.settings().ini, [("x".to_owned(), value.to_owned())]),
            false => assert!(said.problems().contains(&mistake), "{value}"),
        }
    }
}

#[test]
fn an_option_that_was_replaced_names_its_successors() {
    let file = "app = 'a.php'\n[http]\nstall_timeout = 5\n";
    let text = said(Some(file), &[("HEARTH_HTTP_STALL_TIMEOUT", "5")], &[]).problems();
    for part in [
        r#"HEARTH_HTTP_STALL_TIMEOUT: "HEARTH_HTTP_STALL_TIMEOUT" is now HEARTH_HTTP_BODY_TIMEOUT and HEARTH_HTTP_SEND_TIMEOUT"#,
        r#"DIR/hearth.toml:3: "http.stall_timeout" is now http.body_timeout and http.send_timeout"#,
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let file = "app = 'a.php'\n\n[workers]\nconccurency = 3\ncount = 0\n[http]\nkeepalive_timeout = -1\n[php]\nini = 3\nversion = 8.4\n[nonsense]\nx = 1\n";
    let env = [
        ("HEARTH_WORKRES_COUNT", "3"),
        ("HEARTH_ADMIN", "9000"),
        ("HEARTH_PORT_80_TCP", "tcp://1.2.3.4:80"),
    ];
    let args = [
        "--listen",
        "/run/x.sock",
        "--listen",
        "8080",
        "--mode",
        "clasic",
        "--log-level",
        "loud",
        "--request-timeout",
        "1h",
    ];
    assert_eq!(
        said(Some(file), &env, &args).problems(),
        r#"12 mistakes in the configuration:
  HEARTH_WORKRES_COUNT: there is no environment variable "HEARTH_WORKRES_COUNT"; did you mean "HEARTH_WORKERS_COUNT"?
  DIR/hearth.toml:4: there is no option "workers.conccurency"; did you mean "workers.concurrency"?
  DIR/hearth.toml:9: php.ini is a table: write [php.ini] and below it memory_limit = "256M"
  DIR/hearth.toml:11: there is no option "nonsense"; `hearth config` lists all
  --mode: "clasic" is not one of resident, classic
  --listen: "/run/x.sock" is not ADDR:PORT; for a Unix socket write unix:/run/x.sock
  --listen: "8080" lacks the address; write 127.0.0.1:8080 for this machine only, 0.0.0.0:8080 for all addresses
  DIR/hearth.toml:5: workers.count: "0" is not a whole number from 1 to 1024, nor "auto"
  --request-timeout: "1h" is not a number of seconds, 0 or more, such as 30 or 0.5
  DIR/hearth.toml:7: http.keepalive_timeout: "-1" is not a number of seconds, 0 or more, such as 30 or 0.5
  HEARTH_ADMIN: "9000" lacks the address; write 127.0.0.1:9000 for this machine only, 0.0.0.0:9000 for all addresses
  --log-level: "loud" is not one of debug, info, warn, error"#
    );
}

#[test]
fn no_app_broken_toml_and_a_missing_file_are_clear() {
    assert_eq!(
        said(None, &[], &[]).problems(),
        "APP: no app given: name a script (`hearth serve app.php`) or a folder (`hearth serve .`), or set `app` in hearth.toml"
    );
    assert_eq!(
        said(Some("app = 'a.php'\nlisten = [\n"), &[], &["a.php"]).problems(),
        "DIR/hearth.toml:2: unclosed array, expected `]`, in: listen = ["
    );
    // What the file names may be the app: its absence is no mistake of its own.
    assert_eq!(
        said(Some("app = app.php\n"), &[], &[]).problems(),
        "DIR/hearth.toml:1: string values must be quoted, expected literal string, in: app = app.php"
    );
    assert_eq!(
        said(None, &[], &["a.php", "--config", "other.toml"]).problems(),
        "--config: cannot read DIR/other.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn a_directory_is_classic_and_a_script_resident_unless_told_otherwise() {
    let mode = |args: &[&str]| {
        let settings = said(None, &[], args).settings();
        (
            settings.mode,
            settings.concurrency,
            settings.dispatch(settings.concurrency.unwrap_or(256)),
        )
    };
    assert_eq!(mode(&["."]), (Mode::Classic, Some(1), Dispatch::Balanced));
    assert_eq!(
        mode(&["a.php", "--workers", "2"]),
        (Mode::Resident, None, Dispatch::Balanced)
    );
    assert_eq!(
        mode(&["a.php", "--workers", "1"]),
        (Mode::Resident, None, Dispatch::Direct)
    );
    assert_eq!(
        mode(&["a.php", "--mode", "classic", "--dispatch", "direct"]),
        (Mode::Classic, Some(1), Dispatch::Direct)
    );
    assert_eq!(
        mode(&["a.php", "--concurrency", "1"]),
        (Mode::Resident, Some(1), Dispatch::Balanced)
    );
    assert_eq!(
        said(None, &[], &[".", "--mode", "resident"]).problems(),
        "--mode: DIR/. is a directory; resident mode needs the script that returns a handler"
    );
    assert_eq!(
        said(None, &[], &[".", "--concurrency", "8"]).problems(),
        "--concurrency: classic mode serves one request at a time in each worker; raise workers.count instead"
    );
}

#[test]
fn recycling_counts_requests_and_bytes() {
    let settings = said(
        Some("app = 'a.php'\n[workers]\nmax_requests = 500\nmax_memory = '256M'\nqueue = 0\n"),
        &[],
        &[],
    )
    .settings();
    assert_eq!(
        (settings.max_requests, settings.max_memory, settings.queue),
        (500, 256 << 20, 0)
    );
    assert_eq!(
        said(None, &[], &["a.php", "--max-memory", "256 MB"]).problems(),
        "--max-memory: \"256 MB\" is not a number of bytes, such as 268435456 or 256M"
    );
}

#[test]
fn what_changes_nothing_is_told() {
    let told = |env: &[(&str, &str)], args: &[&str]| {
        let said = said(None, env, args);
        let warnings = crate::warnings(&said.raw, &said.settings()).into_iter();
        warnings
            .map(|warning| warning.to_string())
            .collect::<Vec<_>>()
    };
    let words = ["a.php", "--deny", "/data", "--idle-timeout", "3"];
    assert_eq!(
        told(&[("HEARTH_SITE_FOLLOW", "/")], &words),
        [
            "HEARTH_SITE_FOLLOW: site.follow has no effect: this resident app answers every path itself; name the folder of its files with site.root",
            "--deny: site.deny has no effect: this resident app answers every path itself; name the folder of its files with site.root",
            "--idle-timeout: workers.idle_timeout has no effect: the number of workers is fixed; set workers.max to let it follow the load",
        ]
    );
    let words = ["a.php", "--dispatch", "direct", "--front-threads", "2"];
    assert_eq!(
        told(&[], &words),
        ["--front-threads: front.threads has no effect: with direct dispatch there is no front"]
    );
    assert!(told(&[], &[".", "--deny", "/data"]).is_empty());
    assert!(told(&[], &["a.php", "--deny", "/data", "--root", "."]).is_empty());
    assert_eq!(
        told(&[], &[".", "--root", "."]),
        ["--root: site.root has no effect: in classic mode APP is the document root"]
    );
}

#[test]
fn variables_of_others_keep_no_server_from_starting() {
    let names = [
        ("HEARTH_PORT", "tcp://10.0.0.1:80"),
        ("HEARTH_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("HEARTH_SERVICE_HOST", "10.0.0.1"),
        ("HEARTH_WEB_SERVICE_PORT_HTTP", "80"),
        ("HEARTH_WEB_PORT", "tcp://10.0.0.1:80"),
        ("HEARTH_WEB_PORT_53_UDP", "udp://10.0.0.1:53"),
        ("HEARTH_VERSION", "1"),
        ("HEARTH_WORKER", "3"),
        ("HEARTH_IMAGE", "x"),
    ];
    let said = said(None, &names, &["a.php"]);
    let told = crate::warnings(&said.raw, &said.settings()).into_iter();
    assert_eq!(
        told.map(|warning| warning.to_string()).collect::<Vec<_>>(),
        [
            "HEARTH_VERSION: is set, but Hearth has no such option; did you mean HEARTH_PHP_VERSION?",
            "HEARTH_WORKER: is set, but Hearth has no such option; did you mean HEARTH_WORKERS_COUNT?",
            "HEARTH_IMAGE: is set, but Hearth has no such option",
        ]
    );
}

#[test]
fn an_ini_setting_has_the_flag_of_php_too() {
    let settings = said(
        None,
        &[],
        &["a.php", "-d", "memory_limit=1G", "-dhtml_errors=on"],
    )
    .settings();
    let ini = settings
        .ini
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    assert_eq!(
        ini.collect::<Vec<_>>(),
        ["memory_limit=1G", "html_errors=on"]
    );
}

#[test]
fn control_socket_is_found_despite_other_mistakes() {
    let said = said(
        Some("app = 'a.php'\ncontrol = 'c.sock'\nbogus = 1\n"),
        &[],
        &[],
    );
    let dir = said.dir.path();
    assert_eq!(
        control_paths(&said.raw, dir).unwrap(),
        (Some(dir.join("a.php")), Some(dir.join("c.sock")))
    );
}

#[test]
fn every_default_is_valid_and_every_option_is_on_the_page() {
    said(None, &[], &["a.php"]).settings();
    let page = crate::reference();
    for option in OPTIONS {
        assert!(page.contains(&format!("### `{}`", option.key)));
        assert!(page.contains(&option.env()));
    }
}

#[test]
fn what_a_site_follows_and_denies() {
    let follow = |args: &[&str]| said(None, &[], args).settings().site.follow;
    assert_eq!(follow(&["a.php"]), [Path::new("/")]);
    assert_eq!(
        follow(&["a.php", "--follow", "/usr", "--follow", "/etc"]),
        [Path::new("/usr"), Path::new("/etc")]
    );
    assert!(follow(&["a.php", "--follow", ""]).is_empty());
    let in_file = said(Some("[site]\nfollow = ['.', '/usr']"), &[], &["a.php"]);
    assert_eq!(
        in_file.settings().site.follow,
        [in_file.dir.path(), Path::new("/usr")]
    );
    let environment = said(None, &[("HEARTH_SITE_FOLLOW", "/usr:/etc")], &["a.php"]);
    assert_eq!(
        environment.settings().site.follow,
        [Path::new("/usr"), Path::new("/etc")]
    );
    let deny = |args: &[&str]| said(None, &[], args).settings().site.deny;
    assert_eq!(deny(&["a.php", "--deny", "/data"]), ["/data"]);
    assert!(deny(&["a.php"]).is_empty());
    let wrong = said(None, &[], &["a.php", "--deny", "data"]);
    assert!(
        wrong.problems().contains("--deny: \"data\" is not a path"),
        "{}",
        wrong.problems()
    );
    let wrong = said(None, &[], &["a.php", "--follow", "nowhere"]);
    assert!(
        wrong
            .problems()
            .contains("--follow: DIR/nowhere is not a directory"),
        "{}",
        wrong.problems()
    );
}

#[test]
fn the_files_of_a_resident_app() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["app/public/public", "bare"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let root = |words: &[(&str, &str)]| {
        let given = words.iter().map(|(key, text)| {
            let source = Source::Argument;
            (
                option(key),
                Given {
                    text: (*text).into(),
                    source,
                },
            )
        });
        let raw = Raw::gather(given.collect(), [], dir.path());
        let settings = resolve(&raw, dir.path()).map_err(|problems| problems.to_string());
        settings.map(|settings| {
            let root = settings.site.root?;
            Some(root.strip_prefix(dir.path()).unwrap().to_owned())
        })
    };
    let folder = |path: &str| Ok(Some(path.into()));
    assert_eq!(root(&[("app", "app/app.php")]), folder("app/public"));
    assert_eq!(
        root(&[("app", "app/public/index.php")]),
        folder("app/public")
    );
    assert_eq!(root(&[("app", "bare/app.php")]), Ok(None));
    let named = [("app", "app/app.php"), ("site.root", "bare")];
    assert_eq!(root(&named), folder("bare"));
    assert_eq!(root(&[("app", "app/app.php"), ("site.root", "")]), Ok(None));
    assert_eq!(root(&[("app", "app")]), Ok(None));
    let wrong = root(&[("app", "app/app.php"), ("site.root", "nowhere")]);
    assert!(wrong.unwrap_err().contains("nowhere is not a directory"));
}

#[test]
fn cache_control_has_patterns_in_order() {
    let file = "app = '.'\n[site.cache_control]\n'*' = 'no-cache'\n'/build/*' = 'max-age=60'\n";
    let said = said(Some(file), &[], &["--cache-control", "*=max-age=1, public"]);
    let expected = [("/build/*", "max-age=60"), ("*", "max-age=1, public")];
    let expected = expected.map(|(pattern, value)| (pattern.to_owned(), value.to_owned()));
    assert_eq!(said.settings().site.cache_control, expected);
    let wrong = |text| super::tests::said(None, &[], &[".", "--cache-control", text]).problems();
    assert_eq!(
        wrong("build/*=x"),
        "--cache-control: \"build/*=x\" is not PATTERN=VALUE with a pattern that begins with / or *, such as /build/*=max-age=3600"
    );
    assert_eq!(
        wrong("/a=\u{e9}"),
        "--cache-control: the value for /a has characters that no header may have"
    );
    let file = "app = '.'\n[site]\ncache_control = 'no-cache'\n";
    assert_eq!(
        super::tests::said(Some(file), &[], &[]).problems(),
        "DIR/hearth.toml:3: site.cache_control is a table: write [site.cache_control] and below it \"/build/*\" = \"max-age=3600\""
    );
}

#[test]
fn folders_of_which_php_has_files_sent() {
    let file = "app = '.'\n[site.sendfile]\n'/files' = '.'\n'/tmp' = '/usr'\n";
    let settings = said(Some(file), &[], &["--sendfile", "/tmp=/etc"]);
    let expected = [
        ("/files", settings.dir.path().join(".")),
        ("/tmp", "/etc".into()),
    ];
    let expected = expected.map(|(prefix, folder)| (prefix.to_owned(), folder));
    assert_eq!(settings.settings().site.sendfile, expected);
    let wrong = |text| said(None, &[], &[".", "--sendfile", text]).problems();
    assert_eq!(
        wrong("/files=nowhere"),
        "--sendfile: DIR/nowhere is not a directory"
    );
    assert_eq!(
        wrong("storage"),
        "--sendfile: \"storage\" is not PREFIX=DIR with a prefix that begins with /, such as /files=storage"
    );
}

#[test]
fn the_page_of_a_single_page_app_is_there() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.html"), "").unwrap();
    let fallback = |words: &[(&str, &str)]| {
        let given = words.iter().map(|(key, text)| {
            let source = Source::Argument;
            (
                option(key),
                Given {
                    text: (*text).into(),
                    source,
                },
            )
        });
        let raw = Raw::gather(given.collect(), [], dir.path());
        let settings = resolve(&raw, dir.path());
        settings
            .map(|settings| settings.site.fallback)
            .map_err(|problems| problems.to_string())
    };
    let resident = [("app", "app.php"), ("site.root", ".")];
    let page = ("site.fallback", "/index.html");
    assert_eq!(
        fallback(&[resident[0], resident[1], page]),
        Ok(Some("/index.html".into()))
    );
    assert_eq!(
        fallback(&[("app", "."), page]),
        Ok(Some("/index.html".into()))
    );
    assert_eq!(fallback(&[("app", "."), ("site.fallback", "")]), Ok(None));
    let missing = fallback(&[("app", "."), ("site.fallback", "/app.html")]).unwrap_err();
    assert!(missing.ends_with("app.html is not a file"), "{missing}");
    let wrong = fallback(&[("app", "."), ("site.fallback", "index.html")]).unwrap_err();
    assert!(wrong.contains("is not a path of the site"), "{wrong}");
}

#[test]
fn rules_of_a_site() {
    let file = "app = '.'\n[site]\ndeny = ['/data', '~* \\.sql$']\n[site.rewrite]\n\
        '~ ^/wiki/(.*)$' = '/index.php?title=$1&$args'\n'/old' = '=301 /new$is_args$args'\n";
    let site = said(Some(file), &[], &["--rewrite", "/=$uri =404"])
        .settings()
        .site;
    assert_eq!(site.deny, ["/data", "~* \\.sql$"]);
    let expected = [
        ("~ ^/wiki/(.*)$", "/index.php?title=$1&$args"),
        ("/old", "=301 /new$is_args$args"),
        ("/", "$uri =404"),
    ];
    let expected = expected.map(|(place, words)| (place.to_owned(), words.to_owned()));
    assert_eq!(site.rewrite, expected);
    for (rule, mistake) in [
        (
            "x",
            "\"x\" is not LOCATION=WORDS, such as /app=$uri /app/index.php?$args",
        ),
        ("/x=", "there is nothing that answers at /x"),
        (
            "x=/y",
            "\"x\" is not a path of the site that begins with /, such as /data, nor an expression, such as ~ \\.sql$",
        ),
        ("~ (=/y", "\"~ (\" is no regular expression: unclosed group"),
        (
            "/x=y",
            "\"y\" is no path that begins with /, and no variable",
        ),
        (
            "~ ^/(x)=/$2",
            "there is no $2 in \"/$2\": known are $uri, $args, $is_args, and as many of $1 to $9 as the expression has groups",
        ),
        (
            "/x=$uri =500",
            "a rule ends with a path, with one of =403, =404 and =410, or with =301 (302, 307, 308) and one path; not with =500",
        ),
        (
            "/x==301",
            "a rule ends with a path, with one of =403, =404 and =410, or with =301 (302, 307, 308) and one path; not with =301",
        ),
    ] {
        let said = said(None, &[], &[".", "--rewrite", rule]).problems();
        assert_eq!(said, format!("--rewrite: {mistake}"));
    }
    let said = said(None, &[], &[".", "--deny", "~ ["]).problems();
    assert_eq!(
        said,
        "--deny: \"~ [\" is no regular expression: unclosed character class"
    );
}
