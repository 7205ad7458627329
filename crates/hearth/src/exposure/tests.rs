//! A site with findings of all kinds.

use super::*;

fn site(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn a_site_is_told_what_it_shows_and_what_to_set() {
    let root = site(&[
        ("index.php", "<?php echo 1;"),
        ("data/.htaccess", "Require all denied\n"),
        ("data/wiki.sqlite", "x"),
        ("logs/errors.log", "x"),
        ("logs/other.log", "x"),
        ("dump's.sql", "x"),
        ("style.css", "x"),
        (".env", "x"),
        (
            ".htaccess",
            "RewriteEngine on\nRewriteRule ^(bin|SQL)(/|$) - [F]\nRewriteRule ^p/(.*)$ index.php?page=$1 [L]\n",
        ),
    ]);
    let mut settings = SiteSettings::default();
    let exposure = Exposure::of(root.path(), &settings);
    assert_eq!(
        exposure.to_string(),
        "clients can read:\n  - /dump's.sql\n  - /data/wiki.sqlite\n  - /logs/errors.log, and 1 more beside it\n\
         not read, because Hearth reads no .htaccess:\n  - /.htaccess denies paths in /\n  - /.htaccess rewrites paths in /\n  \
         - /data/.htaccess denies everything in /data\n\
         proposed, in hearth.toml:\n    [site]\n    deny = [\n        '/data',\n        '/logs',\n        '~ ^/(bin|SQL)(/|$)',\n        \
         '~* \\.(sql)$',\n    ]\n    [site.rewrite]\n    '~ ^/p/(.*)$' = '/index.php?page=$1'\n"
    );
    settings.deny = exposure.deny.iter().cloned().collect();
    settings.rewrite = exposure.rewrite;
    let again = Exposure::of(root.path(), &settings);
    assert!(again.is_empty(), "{again}");
}

#[test]
fn a_project_is_told_its_document_root() {
    let root = site(&[
        ("public/index.php", "<?php echo 1;"),
        ("composer.json", "{}"),
    ]);
    let exposure = Exposure::of(root.path(), &SiteSettings::default());
    let lines = exposure.warnings(root.path());
    assert!(lines[0].contains("/public; `hearth check "), "{lines:?}");
}
