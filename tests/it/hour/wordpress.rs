//! WordPress: installed by its installer, a post written with an image, and found at the address that was chosen for it.

use super::Hour;
use crate::sites::wordpress::{choose_post_name, see_post, visit};
use crate::sites::{database, wordpress_files};

#[test]
fn wordpress_behind_nginx() {
    let root = wordpress_files();
    let hour = Hour::begin("wordpress", root.path());
    let post = visit(
        &hour.browser,
        &hour.site,
        "wordpress_hour",
        database("wordpress_hour"),
    );
    see_post(&hour.browser, &hour.site, &post);
    choose_post_name(&hour.browser, &hour.site);
    let post = format!("{}/the-first-entry-more/", hour.site);
    see_post(&hour.browser, &hour.site, &post);
    hour.logged(&[
        ("GET", "/wp-admin/setup-config.php", 200),
        ("POST", "/wp-admin/install.php", 200),
        ("POST", "/wp-login.php", 302),
        ("POST", "/wp-admin/async-upload.php", 200),
        ("POST", "/wp-admin/options-permalink.php", 302),
        ("GET", "/the-first-entry-more/", 200),
        ("GET", "/wp-includes/css/buttons.min.css", 200),
    ]);
    hour.measured("/wp-content/*", 1);
    hour.end();
}
