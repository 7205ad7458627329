//! Advice for an app that did not boot, found in the engine's message.

use std::path::Path;

/// Extensions that Debian has as packages of their own: the name, how names of their functions begin, and their classes.
const EXTENSIONS: [(&str, &[&str], &[&str]); 23] = [
    ("amqp", &[], &["AMQPConnection"]),
    ("apcu", &["apcu_"], &["APCUIterator"]),
    (
        "bcmath",
        &[
            "bcadd", "bcsub", "bcmul", "bcdiv", "bccomp", "bcpow", "bcmod", "bcscale", "bcsqrt",
        ],
        &["BcMath\\Number"],
    ),
    ("curl", &["curl_"], &["CURLFile", "CurlHandle"]),
    (
        "gd",
        &[
            "gd_info",
            "imagecolor",
            "imagecopy",
            "imagecreate",
            "imagejpeg",
            "imagepng",
            "imagescale",
            "imagettf",
        ],
        &["GdImage"],
    ),
    ("gmp", &["gmp_"], &["GMP"]),
    ("igbinary", &["igbinary_"], &[]),
    ("imagick", &[], &["Imagick", "ImagickDraw", "ImagickPixel"]),
    ("imap", &["imap_"], &[]),
    (
        "intl",
        &[
            "collator_",
            "datefmt_",
            "grapheme_",
            "idn_to_",
            "intl_",
            "intlcal_",
            "locale_",
            "msgfmt_",
            "normalizer_",
            "numfmt_",
        ],
        &[
            "Collator",
            "IntlChar",
            "IntlDateFormatter",
            "IntlTimeZone",
            "Locale",
            "MessageFormatter",
            "Normalizer",
            "NumberFormatter",
            "Transliterator",
        ],
    ),
    ("ldap", &["ldap_"], &[]),
    ("mbstring", &["mb_"], &[]),
    ("memcached", &[], &["Memcached"]),
    ("mongodb", &[], &["MongoDB\\Driver\\Manager"]),
    ("mysql", &["mysqli_"], &["mysqli"]),
    ("pgsql", &["pg_"], &["PgSql\\Connection"]),
    ("redis", &[], &["Redis", "RedisCluster"]),
    ("soap", &[], &["SoapClient", "SoapServer"]),
    ("sqlite3", &[], &["SQLite3"]),
    ("tidy", &["tidy_"], &["tidy"]),
    (
        "xml",
        &["dom_import_", "simplexml_", "xml_", "xmlwriter_"],
        &[
            "DOMDocument",
            "DOMXPath",
            "SimpleXMLElement",
            "XMLReader",
            "XMLWriter",
            "XSLTProcessor",
        ],
    ),
    ("xdebug", &["xdebug_"], &[]),
    ("zip", &["zip_"], &["ZipArchive"]),
];

const AUTOLOADER: &str = "/vendor/autoload.php";

/// Returns the advice for a message of the engine. `series` is as in the names of packages: `8.2`.
pub(crate) fn hint(
    app: &Path,
    reported: &str,
    series: &str,
    has_extension: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if lacks_autoloader(app, reported) {
        return Some(
            "load Composer's autoloader first: require __DIR__ . '/vendor/autoload.php';".into(),
        );
    }
    if let Some(folder) = lacks_packages(reported) {
        return Some(format!(
            "install the app's packages: composer install --working-dir {folder}"
        ));
    }
    if reported.contains("Composer dependencies require a PHP version") {
        return Some(format!(
            "Hearth runs the PHP of this Debian, {series}: `composer update` chooses packages for it, or serve the app on a Debian with a later PHP (13 has 8.4)"
        ));
    }
    let packages = lacking_packages(reported, has_extension)?;
    Some(
        format!("install the extension: apt install {packages}")
            .replace("php-", &format!("php{series}-")),
    )
}

/// Whether a class was not found, Composer's packages are beside the script, and the script does not name their autoloader.
fn lacks_autoloader(app: &Path, reported: &str) -> bool {
    let code = std::fs::read_to_string(app).unwrap_or_default();
    reported.contains("Class \"")
        && reported.contains("\" not found")
        && app.with_file_name(&AUTOLOADER[1..]).is_file()
        && !code.contains("autoload")
}

/// The folder of the app whose Composer packages are not installed.
fn lacks_packages(reported: &str) -> Option<&str> {
    let (_, path) = reported.split_once("Failed opening required '")?;
    let (folder, _) = path.split_once('\'')?.0.rsplit_once(AUTOLOADER)?;
    Some(folder)
}

/// The Debian packages that have what was not found.
fn lacking_packages(reported: &str, has_extension: &dyn Fn(&str) -> bool) -> Option<String> {
    if reported.contains("could not find driver") {
        return Some(
            "php-mysql, php-pgsql or php-sqlite3, whichever has the driver of the DSN".into(),
        );
    }
    if reported.contains("PHP extensions to be installed: ") {
        let (_, list) = reported.split_once("to be installed: ")?;
        let names = list.split(['\n', '.']).next()?.split(", ");
        return Some(
            names
                .map(|name| format!("php-{}", package(name.trim())))
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    let between = |begin: &str, end: &str| Some(reported.split_once(begin)?.1.split_once(end)?.0);
    let (function, class) = (
        between("Call to undefined function ", "()").unwrap_or_default(),
        between("Class \"", "\" not found").unwrap_or_default(),
    );
    // In a namespace, PHP falls back to the engine's function of that name, so only the last part counts.
    let (function, class) = (
        function.rsplit('\\').next()?,
        class.trim_start_matches('\\'),
    );
    let found = EXTENSIONS.iter().find(|(_, functions, classes)| {
        let has_function =
            !function.is_empty() && functions.iter().any(|begin| function.starts_with(begin));
        has_function
            || classes
                .iter()
                .any(|known| known.eq_ignore_ascii_case(class))
    });
    let (name, ..) = found?;
    // The names of extension and package differ in this case only.
    let loaded = has_extension(if *name == "mysql" { "mysqli" } else { name });
    (!loaded).then(|| format!("php-{name}"))
}

/// The Debian package of an extension.
fn package(extension: &str) -> &str {
    match extension {
        "dom" | "simplexml" | "xmlreader" | "xmlwriter" | "xsl" => "xml",
        "mysqli" | "pdo_mysql" => "mysql",
        "pdo_pgsql" => "pgsql",
        "pdo_sqlite" => "sqlite3",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_brings_it() {
        for (reported, expected) in [
            (
                "Uncaught Error: Call to undefined function mb_strlen() in a.php:1",
                "apt install php8.2-mbstring",
            ),
            (
                "Call to undefined function App\\Text\\mb_strlen() in a.php:1",
                "apt install php8.2-mbstring",
            ),
            (
                "Call to undefined function imagecreatetruecolor()",
                "apt install php8.2-gd",
            ),
            (
                "Uncaught Error: Class \"NumberFormatter\" not found in a.php:1",
                "apt install php8.2-intl",
            ),
            (
                "Uncaught Error: Class \"redis\" not found",
                "apt install php8.2-redis",
            ),
            (
                "PDOException: could not find driver in a.php:1",
                "php8.2-mysql, php8.2-pgsql or php8.2-sqlite3",
            ),
            (
                "Your Composer dependencies require the following PHP extensions to be installed: dom, mbstring.\n",
                "apt install php8.2-xml php8.2-mbstring",
            ),
            (
                "Failed opening required '/srv/shop/vendor/autoload.php' (include_path='.') in /srv/shop/app.php:1",
                "composer install --working-dir /srv/shop",
            ),
            (
                "Your Composer dependencies require a PHP version \">= 8.3.0\". You are running 8.2.36.",
                "the PHP of this Debian, 8.2",
            ),
        ] {
            let text = hint(Path::new("/nowhere/app.php"), reported, "8.2", &|_| false)
                .unwrap_or_default();
            assert!(text.contains(expected), "{reported}: {text:?}");
        }
    }

    #[test]
    fn mistakes_of_the_app_get_no_advice() {
        for reported in [
            "Uncaught Error: Call to undefined function shop_total() in a.php:1",
            "Uncaught Error: Class \"App\\Redis\" not found in a.php:1",
            "Uncaught RuntimeException: no database",
            "",
        ] {
            assert_eq!(
                hint(Path::new("/nowhere/app.php"), reported, "8.2", &|_| false),
                None,
                "{reported}"
            );
        }
    }

    #[test]
    fn what_is_there_is_not_to_be_installed() {
        let reported = "Call to undefined function mb_no_such()";
        assert_eq!(
            hint(Path::new("/nowhere/app.php"), reported, "8.2", &|name| name
                == "mbstring"),
            None
        );
    }
}
