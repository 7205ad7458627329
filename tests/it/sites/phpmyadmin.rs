//! phpMyAdmin in a browser: a table made and exported.

use std::path::Path;

use testkit::service::{Browser, Fpm, MariaDb};

use super::{database, hearth};

/// Where it is installed, with Debian's configuration; MariaDB is where MySQL's client library looks for it.
const PHPMYADMIN: &str = "/usr/share/phpmyadmin";

fn phpmyadmin_settings(database: &MariaDb) -> [(&str, &str); 1] {
    let socket = database.socket.to_str().expect("a plain path");
    [("mysqli.default_socket", socket)]
}

fn phpmyadmin(address: &str, name: &str) {
    let browser = Browser::start();
    browser.open(&format!("http://{address}/index.php"));
    browser.fill(&[("#input_username", name), ("#input_password", name)]);
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
    browser.fill(&[(
        "#createTableMinimalForm input[name=table], #create_table_form_minimal input[name=table]",
        "birds",
    )]);
    browser.find("#createTableMinimalForm input[type=submit], #create_table_form_minimal input[type=submit]").click();
    browser.fill(&[("#field_0_1", "id"), ("#field_1_1", "wingspan")]);
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

#[test]
fn phpmyadmin_makes_and_exports_a_table() {
    let database = database("pma");
    let server = hearth(Path::new(PHPMYADMIN), &phpmyadmin_settings(database));
    phpmyadmin(&server.address(), "pma");
    server.stop();
}

#[test]
#[ignore = "under php-fpm"]
fn phpmyadmin_under_php_fpm() {
    let database = database("pma_fpm");
    let fpm = Fpm::start(Path::new(PHPMYADMIN), &phpmyadmin_settings(database), "");
    phpmyadmin(&fpm.address(), "pma_fpm");
}
