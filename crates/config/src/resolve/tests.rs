mod site;
mod values;

use super::*;
use crate::flags::{app_argument, flags, matches_to_given};
use crate::settings::{Dispatch, Mode, Workers};

struct Gathered {
    dir: tempfile::TempDir,
    raw: Raw,
}

fn gathered(file: Option<&str>, env: &[(&str, &str)], args: &[&str]) -> Gathered {
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
    Gathered { dir, raw }
}

impl Gathered {
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
    let gathered = gathered(None, &[], &["app.php"]);
    let settings = gathered.settings();
    assert_eq!(settings.app, gathered.dir.path().join("app.php"));
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
fn flags_win_over_environment_and_that_over_the_file() {
    let file =
        "app = 'from/file.php'\n[workers]\ncount = 2\nconcurrency = 10\n[request]\ntimeout = 1.5\n";
    let env = [
        ("HEARTH_WORKERS_COUNT", "3"),
        ("HEARTH_WORKERS_CONCURRENCY", "20"),
    ];
    let gathered = gathered(Some(file), &env, &["--workers", "4"]);
    let settings = gathered.settings();
    assert_eq!(settings.workers, Workers::Count(4));
    assert_eq!(settings.concurrency, Some(20));
    assert_eq!(settings.request_timeout, Duration::from_millis(1500));
    assert_eq!(settings.app, gathered.dir.path().join("from/file.php"));
    let sources: Vec<String> = crate::effective(&gathered.raw, None)
        .into_iter()
        .filter(|e| e.source != Source::Default)
        .map(|e| {
            format!(
                "{} = {} ({})",
                e.key,
                e.value,
                e.source
                    .to_string()
                    .replace(gathered.dir.path().to_str().unwrap(), "DIR")
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
    let in_file = gathered(Some(file), &[], &[]);
    let unix = Listen::Unix(in_file.dir.path().join("run/a.sock"));
    assert_eq!(
        in_file.settings().listen,
        [Listen::Tcp("127.0.0.1:1".parse().unwrap()), unix]
    );
    let env = [("HEARTH_LISTEN", "localhost:2, [::1]:3")];
    let listen = gathered(Some(file), &env, &[]).settings().listen;
    assert_eq!(
        listen.iter().map(Listen::to_string).collect::<Vec<_>>(),
        ["127.0.0.1:2", "[::1]:3"]
    );
    assert_eq!(
        gathered(Some(file), &env, &["--listen", "0.0.0.0:4"])
            .settings()
            .listen
            .len(),
        1
    );
}

#[test]
fn ini_settings_add_up() {
    let file = "app = 'a.php'\n[php.ini]\nmemory_limit = '64M'\nopcache.enable = true\n'x.y' = 7\n";
    let gathered = gathered(
        Some(file),
        &[("HEARTH_PHP_INI", "a=1;b=2")],
        &["--ini", "memory_limit=1G", "--ini", "html_errors=on"],
    );
    let ini: Vec<String> = gathered
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
    let gathered = gathered(Some(file), &env, &["--env", "APP_ENV=prod"]);
    let expected = [
        ("PORT", "3306"),
        ("EMPTY", ""),
        ("QUERY", "a=b"),
        ("APP_ENV", "prod"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(gathered.settings().env, expected);
}

#[test]
fn an_option_that_was_replaced_names_its_successors() {
    let file = "app = 'a.php'\n[http]\nstall_timeout = 5\n";
    let text = gathered(Some(file), &[("HEARTH_HTTP_STALL_TIMEOUT", "5")], &[]).problems();
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
        gathered(Some(file), &env, &args).problems(),
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
        gathered(None, &[], &[]).problems(),
        "APP: no app given: name a script (`hearth serve app.php`) or a folder (`hearth serve .`), or set `app` in hearth.toml"
    );
    assert_eq!(
        gathered(Some("app = 'a.php'\nlisten = [\n"), &[], &["a.php"]).problems(),
        "DIR/hearth.toml:2: unclosed array, expected `]`, in: listen = ["
    );
    // The file may name the app, so a missing app is no mistake of its own.
    assert_eq!(
        gathered(Some("app = app.php\n"), &[], &[]).problems(),
        "DIR/hearth.toml:1: string values must be quoted, expected literal string, in: app = app.php"
    );
    assert_eq!(
        gathered(None, &[], &["a.php", "--config", "other.toml"]).problems(),
        "--config: cannot read DIR/other.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn a_directory_is_classic_and_a_script_resident_unless_told_otherwise() {
    let mode = |args: &[&str]| {
        let settings = gathered(None, &[], args).settings();
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
        gathered(None, &[], &[".", "--mode", "resident"]).problems(),
        "--mode: DIR/. is a directory; resident mode needs the script that returns a handler"
    );
    assert_eq!(
        gathered(None, &[], &[".", "--concurrency", "8"]).problems(),
        "--concurrency: classic mode serves one request at a time in each worker; raise workers.count instead"
    );
}

#[test]
fn recycling_counts_requests_and_bytes() {
    let settings = gathered(
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
        gathered(None, &[], &["a.php", "--max-memory", "256 MB"]).problems(),
        "--max-memory: \"256 MB\" is not a number of bytes, such as 268435456 or 256M"
    );
}

#[test]
fn what_changes_nothing_is_told() {
    let texts = |env: &[(&str, &str)], args: &[&str]| {
        let gathered = gathered(None, env, args);
        let warnings = crate::warnings(&gathered.raw, &gathered.settings()).into_iter();
        warnings
            .map(|warning| warning.to_string())
            .collect::<Vec<_>>()
    };
    let words = ["a.php", "--deny", "/data", "--idle-timeout", "3"];
    assert_eq!(
        texts(&[("HEARTH_SITE_FOLLOW", "/")], &words),
        [
            "HEARTH_SITE_FOLLOW: site.follow has no effect: this resident app answers every path itself; name the folder of its files with site.root",
            "--deny: site.deny has no effect: this resident app answers every path itself; name the folder of its files with site.root",
            "--idle-timeout: workers.idle_timeout has no effect: the number of workers is fixed; set workers.max to let it follow the load",
        ]
    );
    let words = ["a.php", "--dispatch", "direct", "--front-threads", "2"];
    assert_eq!(
        texts(&[], &words),
        ["--front-threads: front.threads has no effect: with direct dispatch there is no front"]
    );
    assert!(texts(&[], &[".", "--deny", "/data"]).is_empty());
    assert!(texts(&[], &["a.php", "--deny", "/data", "--root", "."]).is_empty());
    assert_eq!(
        texts(&[], &[".", "--root", "."]),
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
    let gathered = gathered(None, &names, &["a.php"]);
    let texts = crate::warnings(&gathered.raw, &gathered.settings()).into_iter();
    assert_eq!(
        texts.map(|warning| warning.to_string()).collect::<Vec<_>>(),
        [
            "HEARTH_VERSION: is set, but Hearth has no such option; did you mean HEARTH_PHP_VERSION?",
            "HEARTH_WORKER: is set, but Hearth has no such option; did you mean HEARTH_WORKERS_COUNT?",
            "HEARTH_IMAGE: is set, but Hearth has no such option",
        ]
    );
}

#[test]
fn an_ini_setting_has_the_flag_of_php_too() {
    let settings = gathered(
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
    let gathered = gathered(
        Some("app = 'a.php'\ncontrol = 'c.sock'\nbogus = 1\n"),
        &[],
        &[],
    );
    let dir = gathered.dir.path();
    assert_eq!(
        control_paths(&gathered.raw, dir).unwrap(),
        (Some(dir.join("a.php")), Some(dir.join("c.sock")))
    );
}

#[test]
fn every_default_is_valid_and_every_option_is_on_the_page() {
    gathered(None, &[], &["a.php"]).settings();
    let page = crate::reference();
    for option in OPTIONS {
        assert!(page.contains(&format!("### `{}`", option.key)));
        assert!(page.contains(&option.env()));
    }
}
