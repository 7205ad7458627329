//! DokuWiki: installed, a page written, and read by another visitor.

use std::path::Path;
use std::process::Command;

use testkit::service::Fpm;

use super::{hearth, unpacked};
use crate::support::ok;
use crate::support::user_agent::{UserAgent, field};

/// Without Debian's preload.php, which reads /etc; its configuration and pages beside it, as the authors lay them out.
pub(super) fn dokuwiki_files() -> tempfile::TempDir {
    let root = unpacked(
        &[
            ("/usr/share/dokuwiki", ""),
            ("/var/lib/dokuwiki/data", "data"),
            ("/usr/share/doc/dokuwiki/examples", "examples"),
        ],
        &["inc/preload.php"],
    );
    let conf = root.path().join("conf");
    std::fs::create_dir(&conf).expect("a directory can be made");
    for entry in std::fs::read_dir("/etc/dokuwiki")
        .expect("the package is installed")
        .flatten()
    {
        let name = entry.file_name().into_string().expect("a plain name");
        // Not what Debian's own installation has decided already.
        if !["local.php", "acl.auth.php", "users.auth.php"].contains(&name.as_str())
            && entry.path().is_file()
        {
            std::fs::copy(entry.path(), conf.join(name)).expect("a file can be copied");
        }
    }
    let status = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(&conf)
        .status()
        .expect("chmod starts");
    assert!(status.success());
    root
}

/// By its installer, where the package has it: Debian 13's does not.
fn install(agent: &mut UserAgent, root: &Path) {
    if !root.join("install.php").exists() {
        return configure(&root.join("conf"));
    }
    let form = ok(&agent.get("/install.php"));
    assert!(form.contains("name=\"d[superuser]\""), "{form}");
    let done = ok(&agent.post(
        "/install.php",
        "l=en&d%5Btitle%5D=A+wiki&d%5Bacl%5D=on&d%5Bsuperuser%5D=admin&d%5Bfullname%5D=Ada&d%5Bemail%5D=a%40example.test&\
         d%5Bpassword%5D=correct-horse&d%5Bconfirm%5D=correct-horse&d%5Bpolicy%5D=0&d%5Blicense%5D=cc-by-sa&submit=Save",
    ));
    assert!(done.contains("finished successfully"), "{done}");
}

/// What the installer would write for the same answers.
fn configure(conf: &Path) {
    let hash = Command::new("php")
        .args([
            "-r",
            "echo password_hash('correct-horse', PASSWORD_BCRYPT);",
        ])
        .output()
        .expect("php starts");
    let hash = String::from_utf8(hash.stdout).expect("a hash is plain text");
    for (name, content) in [
        (
            "local.php",
            "<?php\n$conf['title'] = 'A wiki';\n$conf['license'] = 'cc-by-sa';\n$conf['useacl'] = 1;\n$conf['superuser'] = '@admin';\n",
        ),
        ("acl.auth.php", "*\t@ALL\t8\n"),
        (
            "users.auth.php",
            &format!("admin:{hash}:Ada:a@example.test:admin,user\n"),
        ),
    ] {
        std::fs::write(conf.join(name), content).expect("a file can be written");
    }
}

fn dokuwiki(address: &str, root: &Path) {
    let mut agent = UserAgent::new(address);
    install(&mut agent, root);
    let login = ok(&agent.get("/doku.php?id=start&do=login"));
    let token = field(&login, "sectok");
    let inside = agent.post(
        "/doku.php?id=start",
        &format!("sectok={token}&id=start&do=login&u=admin&p=correct-horse"),
    );
    let inside = if inside.status == 302 {
        agent.follow(&inside)
    } else {
        inside
    };
    assert!(ok(&inside).contains("do=logout"), "{}", inside.text());
    let edit = ok(&agent.get("/doku.php?id=birds:swift&do=edit"));
    let hidden: String = ["sectok", "date", "prefix", "suffix", "changecheck"]
        .iter()
        .map(|name| format!("{name}={}&", field(&edit, name)))
        .collect();
    let saved = agent.post(
        "/doku.php?id=birds:swift",
        &format!("{hidden}id=birds%3Aswift&rev=0&target=section&wikitext=%3D%3D%3D%3D%3D%3D+The+swift+%3D%3D%3D%3D%3D%3D%0D%0AIt+**sleeps**+on+the+wing.&summary=&do%5Bsave%5D=1"),
    );
    assert!(ok(&agent.follow(&saved)).contains("It <strong>sleeps</strong> on the wing."));
    let mut stranger = UserAgent::new(address);
    assert!(ok(&stranger.get("/doku.php?id=birds:swift")).contains("<strong>sleeps</strong>"));
    let style = stranger.get("/lib/exe/css.php?t=dokuwiki");
    assert!(
        style
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/css"))
    );
    let image = stranger.get("/lib/tpl/dokuwiki/images/logo.png");
    assert_eq!(
        (image.status, image.header("content-type")),
        (200, Some("image/png"))
    );
}

#[test]
fn dokuwiki_is_installed_and_edited() {
    let root = dokuwiki_files();
    let server = hearth(root.path(), &[]);
    dokuwiki(&server.address(), root.path());
    server.stop();
}

#[test]
#[ignore = "under php-fpm"]
fn dokuwiki_under_php_fpm() {
    let root = dokuwiki_files();
    let fpm = Fpm::start(root.path(), &[], "");
    dokuwiki(&fpm.address(), root.path());
}
