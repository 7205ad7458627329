//! Real sites from Debian's packages, unmodified, in classic mode: what people point a server for PHP at.
//!
//! Each site is one function over an address, so that the same visit can be made under nginx and php-fpm (the tests that
//! are ignored by default): what fails there too is no bug of ours.

use std::path::Path;
use std::process::Command;

use testkit::Server;
use testkit::service::{Browser, Fpm, MariaDb};

use crate::support::{Visitor, ok};

/// A copy of the package's files, links resolved, as unpacked from the authors' own archive; the web server's to write.
fn unpacked(packages: &[(&str, &str)], without: &[&str]) -> tempfile::TempDir {
    let root = testkit::document_root();
    for (from, to) in packages {
        let to = root.path().join(to);
        std::fs::create_dir_all(&to).expect("a directory can be made");
        let status = Command::new("cp")
            .args(["-rL", "--no-preserve=ownership"])
            .arg(format!("{from}/."))
            .arg(&to)
            .status()
            .expect("cp starts");
        assert!(status.success(), "cp {from}: {status}");
    }
    for name in without {
        let path = root.path().join(name);
        assert!(path.exists(), "the package has no {name}");
        std::fs::remove_file(path).expect("a file can be removed");
    }
    let status = Command::new("chmod")
        .args(["-R", "a+rwX"])
        .arg(root.path())
        .status()
        .expect("chmod starts");
    assert!(status.success(), "chmod: {status}");
    root
}

fn hearth(root: &Path, ini: &[(&str, &str)]) -> Server {
    let mut server = Server::app(root);
    for (name, value) in ini {
        server = server.arg("--ini").arg(format!("{name}={value}"));
    }
    server.start()
}

/// Without Debian's wp-config.php, which reads /etc: the installer asks, and writes the authors' own.
fn wordpress_files() -> tempfile::TempDir {
    unpacked(&[("/usr/share/wordpress", "")], &["wp-config.php"])
}

/// A database of its own in the shared server; its name is also that of its user, and the password.
fn database(name: &str) -> &'static MariaDb {
    let server = MariaDb::shared();
    server.run(&format!(
        "CREATE DATABASE {name}; CREATE USER '{name}'@'%' IDENTIFIED BY '{name}'; GRANT ALL ON {name}.* TO '{name}'@'%';"
    ));
    server
}

fn wordpress(address: &str, name: &str) {
    let database = database(name);
    let browser = Browser::start();
    install_wordpress(
        &browser,
        address,
        &format!("127.0.0.1:{}", database.port),
        name,
    );
    browser.find("#user_login").fill("admin");
    browser.find("#user_pass").fill("correct horse battery");
    browser.find("#wp-submit").click();
    assert!(
        browser
            .find("#wpbody-content h1")
            .text()
            .contains("Dashboard"),
        "{}",
        browser.url()
    );
    let image = upload_image(&browser, address);
    let post = write_post(&browser, address, &image);
    see_post(&browser, address, &post);
}

fn install_wordpress(browser: &Browser, address: &str, host: &str, name: &str) {
    browser.open(&format!("http://{address}/"));
    assert!(
        browser.url().contains("/wp-admin/setup-config.php"),
        "{}",
        browser.url()
    );
    browser.find("p.step a.button").click();
    for (field, value) in [
        ("dbname", name),
        ("uname", name),
        ("pwd", name),
        ("dbhost", host),
    ] {
        browser.find(&format!("#{field}")).fill(value);
    }
    browser.find("p.step input[name=submit]").click();
    browser.find("p.step a.button").click();
    browser.find("#weblog_title").fill("A real site");
    browser.find("#user_login").fill("admin");
    browser.wait_for("return document.querySelector('#pass1').value !== ''");
    browser.find("#pass1").fill("correct horse battery");
    browser.find("#admin_email").fill("admin@example.test");
    browser.find("#submit").click();
    browser.wait_for("return document.querySelector('h1')?.textContent === 'Success!'");
    browser.find("p.step a.button").click();
}

/// Through the uploader with its script; the image's address.
fn upload_image(browser: &Browser, address: &str) -> String {
    let place = testkit::temporary();
    let file = place.path().join("photo.png");
    std::fs::copy(
        "/usr/share/wordpress/wp-includes/images/w-logo-blue-white-bg.png",
        &file,
    )
    .expect("the package has this image");
    browser.open(&format!("http://{address}/wp-admin/media-new.php"));
    browser
        .find(".moxie-shim input[type=file]")
        .type_in(&file.display().to_string());
    let item = browser.wait_for(
        "const item = document.querySelector('#media-items .media-item'); \
         return item && !item.querySelector('.progress') && item.innerHTML",
    );
    assert!(item.to_string().contains("edit-attachment"), "{item}");
    browser.open(&format!("http://{address}/wp-admin/upload.php?mode=list"));
    browser
        .find("td.title .row-actions, td.title strong a")
        .attribute("href");
    let image = browser.wait_for(
        "return document.querySelector('td.title img') && document.querySelector('td.title img').src",
    );
    let image = image.as_str().expect("an address").to_owned();
    assert!(
        image.contains("/wp-content/uploads/") && image.contains("photo"),
        "{image}"
    );
    image
}

/// In the block editor, as a person does; the post's address.
fn write_post(browser: &Browser, address: &str, image: &str) -> String {
    browser.open(&format!("http://{address}/wp-admin/post-new.php"));
    browser.wait_for(
        "return window.wp && wp.data && wp.data.select('core/editor').getCurrentPostId()",
    );
    browser.run("wp.data.dispatch('core/edit-post').toggleFeature('welcomeGuide')");
    browser
        .find(".editor-post-title__input")
        .type_in("The first \u{e9}ntry & more");
    browser.run(&format!(
        "wp.data.dispatch('core/block-editor').insertBlocks(wp.blocks.createBlock('core/image', {{ url: '{image}' }}))"
    ));
    browser
        .find("button.editor-post-publish-button__button")
        .click();
    browser
        .find(".editor-post-publish-panel__header-publish-button button")
        .click();
    let link = browser.find(".post-publish-panel__postpublish-header a");
    link.attribute("href")
}

fn see_post(browser: &Browser, address: &str, post: &str) {
    browser.open(post);
    assert_eq!(
        browser.find("h1.wp-block-post-title").text(),
        "The first \u{e9}ntry & more"
    );
    browser.wait_for("return [...document.images].some(image => image.src.includes('photo') && image.naturalWidth > 0)");
    let mut visitor = Visitor::new(address);
    let front = ok(&visitor.get("/"));
    assert!(
        front.contains("The first \u{e9}ntry &#038; more"),
        "{front}"
    );
}

/// Where it is installed, with Debian's configuration; MariaDB is where MySQL's client library looks for it.
const PHPMYADMIN: &str = "/usr/share/phpmyadmin";

fn phpmyadmin_settings(database: &MariaDb) -> [(&str, &str); 1] {
    let socket = database.socket.to_str().expect("a plain path");
    [("mysqli.default_socket", socket)]
}

fn phpmyadmin(address: &str, name: &str) {
    let browser = Browser::start();
    browser.open(&format!("http://{address}/index.php"));
    browser.find("#input_username").fill(name);
    browser.find("#input_password").fill(name);
    browser.find("#input_go").click();
    assert!(
        browser
            .find("#server-breadcrumb")
            .text()
            .contains("localhost")
    );
    browser.open(&format!(
        "http://{address}/index.php?route=/database/structure&db={name}"
    ));
    browser.find("#createTableMinimalForm input[name=table], #create_table_form_minimal input[name=table]").type_in("birds");
    browser.find("#createTableMinimalForm input[type=submit], #create_table_form_minimal input[type=submit]").click();
    browser.find("#field_0_1").type_in("id");
    browser.find("#field_1_1").type_in("wingspan");
    browser.find("input[name=do_save_data]").click();
    browser.wait_for("return [...document.querySelectorAll('a')].some(link => link.textContent.trim() === 'birds')");
    browser.open(&format!(
        "http://{address}/index.php?route=/table/export&db={name}&table=birds&single_table=true"
    ));
    browser.find("#radio_custom_export").click();
    browser.find("#radio_view_as_text").click();
    browser.find("#buttonGo").click();
    let dump = browser
        .wait_for("const dump = document.querySelector('#textSQLDUMP'); return dump && dump.value");
    let dump = dump.as_str().expect("text");
    assert!(
        dump.contains("CREATE TABLE `birds`") && dump.contains("`wingspan`"),
        "{dump}"
    );
}

/// Without Debian's preload.php, which reads /etc; its configuration and pages beside it, as the authors lay them out.
fn dokuwiki_files() -> tempfile::TempDir {
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

fn dokuwiki(address: &str) {
    let mut visitor = Visitor::new(address);
    let form = ok(&visitor.get("/install.php"));
    assert!(form.contains("name=\"d[superuser]\""), "{form}");
    let done = ok(&visitor.post(
        "/install.php",
        "l=en&d%5Btitle%5D=A+wiki&d%5Bacl%5D=on&d%5Bsuperuser%5D=admin&d%5Bfullname%5D=Ada&d%5Bemail%5D=a%40example.test&\
         d%5Bpassword%5D=correct-horse&d%5Bconfirm%5D=correct-horse&d%5Bpolicy%5D=0&d%5Blicense%5D=cc-by-sa&submit=Save",
    ));
    assert!(done.contains("finished successfully"), "{done}");
    let login = ok(&visitor.get("/doku.php?id=start&do=login"));
    let token = field(&login, "sectok");
    let inside = visitor.post(
        "/doku.php?id=start",
        &format!("sectok={token}&id=start&do=login&u=admin&p=correct-horse"),
    );
    let inside = if inside.status == 302 {
        visitor.follow(&inside)
    } else {
        inside
    };
    assert!(ok(&inside).contains("do=logout"), "{}", inside.text());
    let edit = ok(&visitor.get("/doku.php?id=birds:swift&do=edit"));
    let hidden: String = ["sectok", "date", "prefix", "suffix", "changecheck"]
        .iter()
        .map(|name| format!("{name}={}&", field(&edit, name)))
        .collect();
    let saved = visitor.post(
        "/doku.php?id=birds:swift",
        &format!("{hidden}id=birds%3Aswift&rev=0&target=section&wikitext=%3D%3D%3D%3D%3D%3D+The+swift+%3D%3D%3D%3D%3D%3D%0D%0AIt+**sleeps**+on+the+wing.&summary=&do%5Bsave%5D=1"),
    );
    assert!(ok(&visitor.follow(&saved)).contains("It <strong>sleeps</strong> on the wing."));
    let mut stranger = Visitor::new(address);
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

/// The value of a form's field.
#[track_caller]
fn field(page: &str, name: &str) -> String {
    let tag = page
        .split('<')
        .find(|tag| tag.starts_with("input") && tag.contains(&format!("name=\"{name}\"")))
        .unwrap_or_else(|| panic!("no field {name} in {page}"));
    tag.split("value=\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned()
}

fn adminer(address: &str, database: &MariaDb, name: &str) {
    let mut visitor = Visitor::new(address);
    let form = ok(&visitor.get("/adminer.php"));
    assert!(
        form.contains("name=\"auth[driver]\"") || form.contains("name='auth[driver]'"),
        "{form}"
    );
    let server = format!("127.0.0.1:{}", database.port).replace(':', "%3A");
    let inside = visitor.post(
        "/adminer.php",
        &format!("auth%5Bdriver%5D=server&auth%5Bserver%5D={server}&auth%5Busername%5D={name}&auth%5Bpassword%5D={name}&auth%5Bdb%5D={name}"),
    );
    let there = format!("/{}", inside.header("location").expect("a redirect"));
    assert!(
        ok(&visitor.follow(&inside)).contains("Create table"),
        "{there}"
    );
    let page = ok(&visitor.get(&format!("{there}&sql=")));
    let token = page
        .split("name=\"token\" value=\"")
        .nth(1)
        .or_else(|| page.split("name='token' value='").nth(1))
        .and_then(|rest| rest.split(['"', '\'']).next())
        .expect("a token")
        .to_owned();
    let answer = ok(&visitor.post(
        &format!("{there}&sql="),
        &format!("query=CREATE+TABLE+nests+%28eggs+INT%29%3B+INSERT+INTO+nests+VALUES+%286%29%2C%287%29%3B+SELECT+eggs+*+eggs+AS+squared+FROM+nests&token={token}"),
    ));
    assert!(
        answer.contains("squared") && answer.contains("<td>36") && answer.contains("<td>49"),
        "{answer}"
    );
}

#[test]
fn wordpress_is_installed_written_and_read() {
    let root = wordpress_files();
    let server = hearth(root.path(), &[]);
    wordpress(&server.address(), "wordpress");
    server.stop();
}

#[test]
fn phpmyadmin_makes_and_exports_a_table() {
    let database = database("pma");
    let server = hearth(Path::new(PHPMYADMIN), &phpmyadmin_settings(database));
    phpmyadmin(&server.address(), "pma");
    server.stop();
}

#[test]
fn dokuwiki_is_installed_and_edited() {
    let root = dokuwiki_files();
    let server = hearth(root.path(), &[]);
    dokuwiki(&server.address());
    server.stop();
}

#[test]
fn adminer_runs_statements() {
    let database = database("adminer");
    let server = hearth(Path::new("/usr/share/adminer"), &[]);
    adminer(&server.address(), database, "adminer");
    server.stop();
}

#[test]
#[ignore = "under php-fpm"]
fn wordpress_under_php_fpm() {
    let root = wordpress_files();
    let fpm = Fpm::start(root.path(), &[], "");
    wordpress(&fpm.address(), "wordpress_fpm");
}

#[test]
#[ignore = "under php-fpm"]
fn phpmyadmin_under_php_fpm() {
    let database = database("pma_fpm");
    let fpm = Fpm::start(Path::new(PHPMYADMIN), &phpmyadmin_settings(database), "");
    phpmyadmin(&fpm.address(), "pma_fpm");
}

#[test]
#[ignore = "under php-fpm"]
fn dokuwiki_under_php_fpm() {
    let root = dokuwiki_files();
    dokuwiki(&Fpm::start(root.path(), &[], "").address());
}

#[test]
#[ignore = "under php-fpm"]
fn adminer_under_php_fpm() {
    let database = database("adminer_fpm");
    adminer(
        &Fpm::start(Path::new("/usr/share/adminer"), &[], "").address(),
        database,
        "adminer_fpm",
    );
}
