//! Options of a site.

use super::*;

#[test]
fn what_a_site_follows_and_denies() {
    let follow = |args: &[&str]| gathered(None, &[], args).settings().site.follow;
    assert_eq!(follow(&["a.php"]), [Path::new("/")]);
    assert_eq!(
        follow(&["a.php", "--follow", "/usr", "--follow", "/etc"]),
        [Path::new("/usr"), Path::new("/etc")]
    );
    assert!(follow(&["a.php", "--follow", ""]).is_empty());
    let in_file = gathered(Some("[site]\nfollow = ['.', '/usr']"), &[], &["a.php"]);
    assert_eq!(
        in_file.settings().site.follow,
        [in_file.dir.path(), Path::new("/usr")]
    );
    let environment = gathered(None, &[("HEARTH_SITE_FOLLOW", "/usr:/etc")], &["a.php"]);
    assert_eq!(
        environment.settings().site.follow,
        [Path::new("/usr"), Path::new("/etc")]
    );
    let deny = |args: &[&str]| gathered(None, &[], args).settings().site.deny;
    assert_eq!(deny(&["a.php", "--deny", "/data"]), ["/data"]);
    assert!(deny(&["a.php"]).is_empty());
    let wrong = gathered(None, &[], &["a.php", "--deny", "data"]);
    assert!(
        wrong.problems().contains("--deny: \"data\" is not a path"),
        "{}",
        wrong.problems()
    );
    let wrong = gathered(None, &[], &["a.php", "--follow", "nowhere"]);
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
        let raw = Raw::of(words.iter().copied(), dir.path());
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
    let gathered = gathered(Some(file), &[], &["--cache-control", "*=max-age=1, public"]);
    let expected = [("/build/*", "max-age=60"), ("*", "max-age=1, public")];
    let expected = expected.map(|(pattern, value)| (pattern.to_owned(), value.to_owned()));
    assert_eq!(gathered.settings().site.cache_control, expected);
    let wrong =
        |text| super::tests::gathered(None, &[], &[".", "--cache-control", text]).problems();
    assert_eq!(
        wrong("build/*=x"),
        "--cache-control: \"build/*=x\" is not PATTERN=VALUE with a pattern that begins with / or *, such as /build/*=max-age=3600"
    );
    assert_eq!(
        wrong("/a=\u{e9}"),
        "--cache-control: the value for /a contains characters that a header field must not contain"
    );
    let file = "app = '.'\n[site]\ncache_control = 'no-cache'\n";
    assert_eq!(
        super::tests::gathered(Some(file), &[], &[]).problems(),
        "DIR/hearth.toml:3: site.cache_control is a table: write [site.cache_control] and below it \"/build/*\" = \"max-age=3600\""
    );
}

#[test]
fn folders_of_which_php_has_files_sent() {
    let file = "app = '.'\n[site.sendfile]\n'/files' = '.'\n'/tmp' = '/usr'\n";
    let settings = gathered(Some(file), &[], &["--sendfile", "/tmp=/etc"]);
    let expected = [
        ("/files", settings.dir.path().join(".")),
        ("/tmp", "/etc".into()),
    ];
    let expected = expected.map(|(prefix, folder)| (prefix.to_owned(), folder));
    assert_eq!(settings.settings().site.sendfile, expected);
    let wrong = |text| gathered(None, &[], &[".", "--sendfile", text]).problems();
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
        let raw = Raw::of(words.iter().copied(), dir.path());
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
    let site = gathered(Some(file), &[], &["--rewrite", "/=$uri =404"])
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
        ("/x=", "no word says what answers at /x; write /x=WORDS"),
        (
            "x=/y",
            "\"x\" is not a path of the site that begins with /, such as /data, nor an expression, such as ~ \\.sql$",
        ),
        (
            "~ (=/y",
            "\"~ (\" is not a regular expression: unclosed group",
        ),
        (
            "/x=y",
            "\"y\" is neither a path that begins with / nor a variable",
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
        let gathered = gathered(None, &[], &[".", "--rewrite", rule]).problems();
        assert_eq!(gathered, format!("--rewrite: {mistake}"));
    }
    let gathered = gathered(None, &[], &[".", "--deny", "~ ["]).problems();
    assert_eq!(
        gathered,
        "--deny: \"~ [\" is not a regular expression: unclosed character class"
    );
}
