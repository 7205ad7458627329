//! `.htaccess` files of real apps.

use super::*;

const ALL: Effect = Effect::Denies { but_some: false };

fn rewrites(place: &str, words: &str) -> Effect {
    Effect::Rewrites(place.into(), words.into())
}

#[test]
fn denials() {
    for (text, expected) in [
        ("Require all denied\n", vec![ALL]),
        ("# all\norder allow,deny\nDENY FROM ALL\n", vec![ALL]),
        (
            "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>\n",
            vec![ALL],
        ),
        (
            "<Files *.db>\nDeny from all\n</Files>",
            vec![Effect::DeniesFiles("^.*\\.db$".into())],
        ),
        (
            "<FilesMatch \"\\.(sql|log)$\">\nRequire all denied\n</FilesMatch>",
            vec![Effect::DeniesFiles("\\.(sql|log)$".into())],
        ),
        (
            "Deny from all\n<FilesMatch \"\\.js$\">\nAllow from all\n</FilesMatch>",
            vec![Effect::Denies { but_some: true }],
        ),
        (
            "AuthType Basic\nRequire valid-user\n",
            vec![Effect::Password],
        ),
        ("php_flag engine off\n", vec![Effect::NoScripts]),
        ("<Limit PUT>\nDeny from all\n</Limit>", vec![]),
        (
            "RedirectMatch 404 /\\.git\n",
            vec![rewrites("~ /\\.git", "=404")],
        ),
        (
            "Options -Indexes\nExpiresActive on\nRequire all granted\n",
            vec![],
        ),
    ] {
        assert_eq!(effects(text, "/x"), expected, "{text}");
    }
}

/// The files of WordPress, Laravel and Symfony contain only what applies here anyway.
#[test]
fn front_controllers_need_no_rule() {
    for text in [
        "RewriteEngine On\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteBase /\n\
         RewriteRule ^index\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\n\
         RewriteRule . /index.php [L]\n",
        "<IfModule mod_rewrite.c>\nRewriteEngine On\nRewriteCond %{HTTP:Authorization} .\n\
         RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\nRewriteCond %{REQUEST_FILENAME} !-d\n\
         RewriteCond %{REQUEST_URI} (.+)/$\nRewriteRule ^ %1 [L,R=301]\nRewriteCond %{REQUEST_FILENAME} !-d\n\
         RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ index.php [L]\n</IfModule>\n",
        "RewriteEngine On\nRewriteCond %{REQUEST_URI}::$0 ^(/.+)/(.*)::\\2$\nRewriteRule .* - [E=BASE:%1]\n\
         RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ %{ENV:BASE}/index.php [L]\n",
        "FallbackResource /index.php\n",
        "RewriteEngine off\nRewriteRule ^a b\n",
    ] {
        assert_eq!(effects(text, ""), [], "{text}");
    }
}

#[test]
fn rules_are_translated() {
    for (rule, expected) in [
        (
            "RewriteRule ^_media/(.*) lib/exe/fetch.php?media=$1 [QSA,L]",
            rewrites(
                "~ ^/wiki/_media/(.*)",
                "/wiki/lib/exe/fetch.php?media=$1&$args",
            ),
        ),
        (
            "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule ^(.*)$ doku.php?id=$1 [QSA,L]",
            rewrites("~ ^/wiki/(.*)$", "$uri $uri/ /wiki/doku.php?id=$1&$args"),
        ),
        (
            "RewriteRule old/(\\d+)\\.html$ /new.php [L]",
            rewrites("~ ^/wiki/.*old/(\\d+)\\.html$", "/new.php$is_args$args"),
        ),
        (
            "RewriteRule ^from$ /to [R=302,L]",
            rewrites("~ ^/wiki/from$", "=302 /to$is_args$args"),
        ),
        (
            "RewriteRule ^(bin|conf)(/|$) - [F]",
            Effect::DeniesPath("~ ^/wiki/(bin|conf)(/|$)".into()),
        ),
        (
            "RewriteRule ^/?(bin|conf) - [NC,F]",
            Effect::DeniesPath("~* ^/wiki/(bin|conf)".into()),
        ),
        (
            "RewriteRule ^gone$ - [G]",
            rewrites("~ ^/wiki/gone$", "=410"),
        ),
        (
            "RewriteCond %{HTTP_HOST} ^www\nRewriteRule ^(.*)$ https://x/$1 [R]",
            Effect::Unknown("RewriteRule ^(.*)$ https://x/$1 [R]".into()),
        ),
    ] {
        let text = format!("RewriteEngine on\n{rule}\n");
        assert_eq!(effects(&text, "/wiki"), [expected], "{rule}");
    }
}

fn denied(path: &str) -> Vec<Effect> {
    vec![Effect::DeniesPath(path.into())]
}

#[track_caller]
fn in_app(cases: &[(&str, Vec<Effect>)]) {
    for (text, expected) in cases {
        let text = format!("RewriteEngine on\n{text}\n");
        assert_eq!(effects(&text, "/app"), *expected, "{text}");
    }
}

/// Patterns of Drupal, Nextcloud, Roundcube and TYPO3: refusals without a target, and sections for paths and for modules
/// that are not loaded.
#[test]
fn refusals_of_large_apps() {
    in_app(&[
        (
            "RewriteRule ^(?:lib|tests)/.* - [R=404,L]",
            vec![rewrites("~ ^/app/(?:lib|tests)/.*", "=404")],
        ),
        ("RewriteRule ^old - [R=403]", denied("~ ^/app/old")),
        (
            "RewriteRule ^(?:\\.(?!well-known)|occ).* - [R=404,L]",
            vec![rewrites("~ ^/app/(?:\\.[^w]|occ).*", "=404")],
        ),
        ("RewriteRule \"/\\.|^\\.(?!well-known/)\" - [F]", vec![]),
        (
            "RewriteCond %{REQUEST_URI} \"!/\\.well-known/\" [NC]\nRewriteCond %{SCRIPT_FILENAME} -d [OR]\n\
             RewriteCond %{SCRIPT_FILENAME} -f\nRewriteRule (?:^|/)\\. - [F]",
            vec![],
        ),
        (
            "<If \"%{REQUEST_URI} =~ m#(?i:/composer\\.json|\\.sql)$#\">\nRequire all denied\n</If>",
            denied("~ (?i:/composer\\.json|\\.sql)$"),
        ),
        (
            "<IfModule !mod_authz_core.c>\n<FilesMatch \"\\.sql$\">\nDeny from all\n</FilesMatch>\n</IfModule>",
            vec![],
        ),
        (
            "RewriteRule ^from$ - [S=1]",
            vec![Effect::Unknown("RewriteRule ^from$ - [S=1]".into())],
        ),
        (
            "RewriteCond %{REQUEST_URI} !/core/[^/]*$\nRewriteRule \\.php$ - [F]",
            vec![Effect::Unknown("RewriteRule \\.php$ - [F]".into())],
        ),
        // Look-ahead is not supported.
        (
            "RewriteRule ^(?!installer)([^.]+)$ - [F]",
            vec![Effect::Unknown(
                "RewriteRule ^(?!installer)([^.]+)$ - [F]".into(),
            )],
        ),
    ]);
}

/// The site's folder comes from a variable, and compressed files are sent without a rule.
#[test]
fn rewrites_of_large_apps() {
    in_app(&[
        (
            "RewriteRule ^(?:files|temp)/ - [L]",
            vec![rewrites("~ ^/app/(?:files|temp)/", "$uri $uri/ =404")],
        ),
        (
            "RewriteCond %{REQUEST_FILENAME} -f [OR]\nRewriteCond %{REQUEST_FILENAME} -d\nRewriteRule ^ - [L]",
            vec![],
        ),
        (
            "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^(.+)\\.(\\d+)\\.(js|css)$ %{ENV:CWD}$1.$3 [L]",
            vec![rewrites(
                "~ ^/app/(.+)\\.(\\d+)\\.(js|css)$",
                "$uri /app/$1.$3$is_args$args",
            )],
        ),
        (
            "RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^.*$ %{ENV:CWD}index.php [QSA,L]",
            vec![],
        ),
        (
            "RewriteRule ^\\.well-known/(?!acme-challenge) /index.php [L]",
            vec![],
        ),
        (
            "RewriteCond %{REQUEST_URI} ^(.*)/setup\\.php\nRewriteRule ^ %1/core/setup.php [L,R=301]",
            vec![rewrites(
                "~ ^(.*)/setup\\.php",
                "=301 $1/core/setup.php$is_args$args",
            )],
        ),
        (
            "RewriteCond %{HTTP:Accept-encoding} gzip\nRewriteCond %{REQUEST_FILENAME}\\.gz -s\n\
             RewriteRule ^(.*)\\.css$ $1\\.css\\.gz [QSA]\nRewriteRule \\.css\\.gz$ - [T=text/css]",
            vec![],
        ),
    ]);
}
