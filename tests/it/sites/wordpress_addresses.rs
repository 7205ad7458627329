//! WordPress's addresses: permalinks, a blog in a sub-directory, and work that it asks of itself.

use std::path::Path;

use testkit::{Server, ServerBuilder};

use super::database;
use super::wordpress::wordpress_files;
use crate::support::user_agent::{UserAgent, field};
use crate::support::{eventually, example, ok};

/// What its installer would write into wp-config.php, with these constants.
pub(crate) fn configure(root: &Path, name: &str, constants: &str) {
    let port = database(name).port;
    let code = format!(
        "<?php\ndefine('DB_NAME', '{name}');\ndefine('DB_USER', '{name}');\ndefine('DB_PASSWORD', '{name}');\n\
         define('DB_HOST', '127.0.0.1:{port}');\n$table_prefix = 'wp_';\n\
         define('WP_HTTP_BLOCK_EXTERNAL', true);\n{constants}\n\
         defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');\nrequire_once ABSPATH . 'wp-settings.php';\n"
    );
    std::fs::write(root.join("wp-config.php"), code).expect("a file");
}

/// Its installer's form, and a login; the address of the site is that of the request.
pub(crate) fn installed(address: &str, place: &str) -> UserAgent {
    installed_by(UserAgent::new(address), place)
}

fn installed_by(mut agent: UserAgent, place: &str) -> UserAgent {
    let done = agent.post(
        &format!("{place}/wp-admin/install.php?step=2"),
        "weblog_title=A+site&user_name=admin&admin_password=correct-horse-battery&admin_password2=correct-horse-battery&\
         pw_weak=on&admin_email=a%40example.test&blog_public=0&language=",
    );
    assert!(ok(&done).contains("Success!"), "{}", done.text());
    log_in(&mut agent, place);
    agent
}

fn log_in(agent: &mut UserAgent, place: &str) {
    let page = format!("{place}/wp-login.php");
    agent.get(&page);
    let login = agent.post(&page, "log=admin&pwd=correct-horse-battery&testcookie=1");
    assert_eq!(login.status, 302, "{}", login.text());
}

fn serve(root: &Path) -> ServerBuilder {
    Server::app(root)
}

/// "Post name" of Settings, Permalinks, as the page offers it.
fn choose_post_name(agent: &mut UserAgent, place: &str) {
    let page = format!("{place}/wp-admin/options-permalink.php");
    let form = ok(&agent.get(&page));
    assert!(
        !form.contains("/index.php/%") && form.contains("value=\"/%postname%/\""),
        "{form}"
    );
    let saved = agent.post(
        &page,
        &format!(
            "_wpnonce={}&_wp_http_referer=x&selection=%2F%25postname%25%2F&permalink_structure=%2F%25postname%25%2F&submit=x",
            field(&form, "_wpnonce")
        ),
    );
    assert!(ok(&agent.follow(&saved)).contains("Permalink structure updated"));
}

#[test]
fn a_blog_in_a_sub_directory_has_addresses_of_its_own() {
    let root = testkit::document_root();
    std::fs::write(root.path().join("index.php"), "<?php echo 'the root';").expect("a file");
    let blog = root.path().join("blog");
    std::fs::rename(wordpress_files().keep(), &blog).expect("in one file system");
    configure(&blog, "wordpress_addresses", "");
    let server = serve(root.path()).start();
    let mut agent = installed(&server.address(), "/blog");
    choose_post_name(&mut agent, "/blog");
    let mut visitor = UserAgent::new(server.address());
    let front = ok(&visitor.get("/blog/"));
    let post = format!("http://{}/blog/hello-world/", server.address());
    assert!(front.contains(&post), "{front}");
    assert!(ok(&visitor.get("/blog/hello-world/")).contains("Welcome to WordPress"));
    assert_eq!(visitor.get("/blog/nowhere/").status, 404);
    assert_eq!(visitor.get("/blog/wp-content/uploads/none.jpg").status, 404);
    assert_eq!(ok(&visitor.get("/nowhere/")), "the root");
    server.stop();
}

/// One worker: WordPress asks it for its cron within a request, and does not wait for an answer.
#[test]
fn what_is_due_runs_with_one_worker() {
    for dispatch in ["balanced", "direct"] {
        let root = wordpress_files();
        let name = format!("wordpress_cron_{dispatch}");
        configure(
            root.path(),
            &name,
            "define('DISABLE_WP_CRON', !isset($_GET['plan']));",
        );
        let server = Server::app(root.path())
            .args(["--workers", "1", "--dispatch", dispatch])
            .start();
        let mut agent = installed(&server.address(), "");
        let plugins = root.path().join("wp-content/mu-plugins");
        std::fs::create_dir_all(&plugins).expect("a folder");
        std::fs::write(plugins.join("plan.php"), PLAN).expect("a file");
        assert_eq!(ok(&agent.get("/?plan")), "planned");
        eventually("the event runs", || root.path().join("has-run").exists());
        server.stop();
    }
}

/// An event that is due before all others; the request that begins it goes on until its own request for the cron was given up.
const PLAN: &str = "<?php
add_action('a_job', fn () => touch(ABSPATH . 'has-run'));
if (isset($_GET['plan'])) {
    add_action('init', fn () => wp_schedule_single_event(1, 'a_job'), 1);
    add_action('wp_loaded', function () { sleep(1); exit('planned'); }, 99);
}
";

/// A network whose sites are in sub-directories that are not there; WordPress wants no port in its name.
#[test]
fn a_network_of_sites_has_the_rules_of_the_guide() {
    let root = wordpress_files();
    let network = root.path().join("network");
    configure(root.path(), "wordpress_network", NETWORK);
    let rules = example("docs/guide/sites.md", "network");
    std::fs::write(root.path().join("hearth.toml"), rules).expect("a file");
    let server = serve(root.path()).start();
    let agent = UserAgent::of_host(server.address(), "example.test");
    let mut agent = installed_by(agent, "");
    let form = ok(&agent.get("/wp-admin/network.php"));
    let made = agent.post(
        "/wp-admin/network.php",
        &format!(
            "_wpnonce={}&sitename=A+network&email=a%40example.test&subdomain_install=0&submit=x",
            field(&form, "_wpnonce")
        ),
    );
    assert!(
        ok(&made).contains("Enabling the Network"),
        "{}",
        made.text()
    );
    std::fs::write(network, "").expect("a file");
    log_in(&mut agent, "");
    let form = ok(&agent.get("/wp-admin/network/site-new.php"));
    let added = agent.post(
        "/wp-admin/network/site-new.php?action=add-site",
        &format!(
            "_wpnonce_add-blog={}&blog%5Bdomain%5D=second&blog%5Btitle%5D=The+second&blog%5Bemail%5D=a%40example.test",
            field(&form, "_wpnonce_add-blog")
        ),
    );
    assert_eq!(added.status, 302, "{}", added.text());
    assert!(ok(&agent.get("/second/")).contains("<title>The second"));
    let slash = agent.get("/second/wp-admin");
    assert_eq!(
        (slash.status, slash.header("location")),
        (301, Some("/second/wp-admin/"))
    );
    let dashboard = ok(&agent.get("/second/wp-admin/edit.php?post_type=page"));
    assert!(
        dashboard.contains("The second") && dashboard.contains("Pages"),
        "{dashboard}"
    );
    let mut visitor = UserAgent::of_host(server.address(), "example.test");
    assert!(ok(&visitor.get("/second/wp-login.php")).contains("loginform"));
    let script = agent.get("/second/wp-includes/js/jquery/jquery.min.js");
    assert_eq!(script.header("content-type"), Some("text/javascript"));
    assert_eq!(agent.get("/second/nowhere/").status, 404);
    server.stop();
}

/// What its page says to add, once there is a file of that name.
const NETWORK: &str = "define('WP_ALLOW_MULTISITE', true);
define('DISABLE_WP_CRON', true);
if (file_exists(__DIR__ . '/network')) {
    define('MULTISITE', true);
    define('SUBDOMAIN_INSTALL', false);
    define('DOMAIN_CURRENT_SITE', 'example.test');
    define('PATH_CURRENT_SITE', '/');
    define('SITE_ID_CURRENT_SITE', 1);
    define('BLOG_ID_CURRENT_SITE', 1);
}";
