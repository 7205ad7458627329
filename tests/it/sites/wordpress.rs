//! WordPress in a browser: installed by its installer, a post written with an image, and read. The test is that of the first hour.

use testkit::service::{Browser, Fpm, MariaDb};

use super::{database, unpacked};

const TITLE: &str = "The first \u{e9}ntry & more";

/// Without Debian's wp-config.php, which reads /etc: the installer asks, and writes the authors' own.
pub(crate) fn wordpress_files() -> tempfile::TempDir {
    unpacked(&[("/usr/share/wordpress", "")], &["wp-config.php"])
}

/// Its installer, a login, an image and a post; the post's address. `site` is without a slash at its end.
pub(crate) fn visit(browser: &Browser, site: &str, name: &str, database: &MariaDb) -> String {
    install_wordpress(browser, site, &format!("127.0.0.1:{}", database.port), name);
    browser.fill(&[
        ("#user_login", "admin"),
        ("#user_pass", "correct horse battery"),
    ]);
    browser.find("#wp-submit").click();
    assert!(
        browser
            .find("#wpbody-content h1")
            .text()
            .contains("Dashboard"),
        "{}",
        browser.url()
    );
    let image = upload_image(browser, site);
    write_post(browser, site, &image)
}

fn install_wordpress(browser: &Browser, site: &str, host: &str, name: &str) {
    browser.open(&format!("{site}/"));
    assert!(
        browser.url().contains("/wp-admin/setup-config.php"),
        "{}",
        browser.url()
    );
    browser.find("p.step a.button").click();
    browser.fill(&[
        ("#dbname", name),
        ("#uname", name),
        ("#pwd", name),
        ("#dbhost", host),
    ]);
    browser.find("p.step input[name=submit]").click();
    browser.find("p.step a.button").click();
    browser.wait_for("return Boolean(document.querySelector('#pass1')?.value)");
    browser.fill(&[
        ("#weblog_title", "A real site"),
        ("#user_login", "admin"),
        ("#pass1", "correct horse battery"),
        ("#admin_email", "admin@example.test"),
    ]);
    browser.find("#submit").click();
    browser.wait_for("return document.querySelector('h1')?.textContent === 'Success!'");
    browser.find("p.step a").click();
}

/// Through the uploader with its script; the image's address.
fn upload_image(browser: &Browser, site: &str) -> String {
    let place = testkit::temporary();
    let file = place.path().join("photo.png");
    std::fs::copy(
        "/usr/share/wordpress/wp-includes/images/w-logo-blue-white-bg.png",
        &file,
    )
    .expect("the package has this image");
    browser.open(&format!("{site}/wp-admin/media-new.php"));
    browser
        .find(".moxie-shim input[type=file]")
        .type_in(&file.display().to_string());
    let item = browser.wait_for(
        "const item = document.querySelector('#media-items .media-item'); \
         return item && !item.querySelector('.progress') && item.innerHTML",
    );
    assert!(item.to_string().contains("edit-attachment"), "{item}");
    browser.open(&format!("{site}/wp-admin/upload.php?mode=list"));
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
fn write_post(browser: &Browser, site: &str, image: &str) -> String {
    browser.open(&format!("{site}/wp-admin/post-new.php"));
    browser.wait_for(
        "return window.wp && wp.data && wp.data.select('core/editor').getCurrentPostId()",
    );
    browser.run("wp.data.dispatch('core/edit-post').toggleFeature('welcomeGuide')");
    // The page that is being written is a frame, in newer versions.
    let canvas = browser.wait_for(
        "const frame = document.querySelector('iframe[name=editor-canvas]'); \
         return frame ? 'frame' : document.querySelector('.editor-post-title__input') && 'page'",
    );
    if canvas == "frame" {
        browser.enter("iframe[name=editor-canvas]");
    }
    browser.find(".editor-post-title__input").type_in(TITLE);
    browser.leave();
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

/// At that address, with its image, and on the front page.
pub(crate) fn see_post(browser: &Browser, site: &str, post: &str) {
    browser.open(post);
    assert_eq!(browser.find("h1.wp-block-post-title").text(), TITLE);
    browser.wait_for("return [...document.images].some(image => image.src.includes('photo') && image.naturalWidth > 0)");
    browser.open(&format!("{site}/"));
    let link = browser.find("main .wp-block-post-title a");
    assert_eq!(
        (link.text().as_str(), link.attribute("href").as_str()),
        (TITLE, post)
    );
}

/// Settings, Permalinks, as a person finds it.
pub(crate) fn choose_post_name(browser: &Browser, site: &str) {
    browser.open(&format!("{site}/wp-admin/options-permalink.php"));
    browser
        .find("input[name=selection][value='/%postname%/']")
        .click();
    browser.find("#submit").click();
    let message = browser.find("#setting-error-settings_updated").text();
    assert!(
        message.contains("Permalink structure updated."),
        "{message}"
    );
}

#[test]
#[ignore = "under php-fpm"]
fn wordpress_under_php_fpm() {
    let root = wordpress_files();
    let fpm = Fpm::start(root.path(), &[], "");
    let (browser, site) = (Browser::start(), format!("http://{}", fpm.address()));
    let post = visit(&browser, &site, "wordpress_fpm", database("wordpress_fpm"));
    see_post(&browser, &site, &post);
}
