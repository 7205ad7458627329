//! The first day: new projects of Laravel and Symfony, served with what the guide says of them and nothing else.

use std::process::Command;

use testkit::{Server, ServerBuilder};

use super::check::check;
use super::skeletons::Project;
use crate::support::user_agent::UserAgent;
use crate::support::{example, ok};

fn serve(app: std::path::PathBuf) -> ServerBuilder {
    Server::app(app).args(["--workers", "1"])
}

/// `app.php` as the pages have it.
fn entry(project: &Project) -> ServerBuilder {
    let guide = example("docs/guide/frameworks.md", "laravel");
    let code = |text: &str| text.lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(code(&guide), code(&example("README.md", "laravel")));
    project.write("app.php", &guide);
    serve(project.path().join("app.php"))
}

fn artisan(project: &Project, command: &str) {
    let status = Command::new("php")
        .args(["artisan", command])
        .current_dir(project.path())
        .status()
        .expect("php starts");
    assert!(status.success(), "artisan {command}: {status}");
}

#[test]
fn a_new_laravel_project_answers() {
    let project = Project::laravel();
    let server = entry(&project).start();
    for _ in 0..2 {
        let page = server.get("/");
        assert!(
            ok(&page).contains("<title>Laravel</title>"),
            "{}",
            page.text()
        );
        let cookies = page.header("set-cookie").expect("a session");
        assert!(cookies.contains("XSRF-TOKEN="), "{cookies}");
    }
    assert!(ok(&server.get("/robots.txt")).starts_with("User-agent: *"));
    let icon = server.get("/favicon.ico");
    assert_eq!(
        (icon.status, icon.header("content-type")),
        (200, Some("image/x-icon"))
    );
    let mut browser = UserAgent::new(server.address());
    assert_eq!(browser.get("/nowhere").status, 404);
    assert_eq!(browser.post("/", "name=x").status, 405);
    artisan(&project, "down");
    assert_eq!(browser.get("/").status, 503);
    artisan(&project, "up");
    ok(&browser.get("/"));
    server.stop();
}

#[test]
fn a_laravel_project_with_routes_of_its_own() {
    let project = Project::laravel();
    project.write(
        "routes/web.php",
        "<?php\nuse Illuminate\\Support\\Facades\\Route;\n\
         Route::get('/count', function () { session(['n' => session('n', 0) + 1]); return 'seen ' . session('n'); });\n",
    );
    let server = entry(&project).start();
    let (mut ada, mut bob) = (
        UserAgent::new(server.address()),
        UserAgent::new(server.address()),
    );
    assert_eq!(ok(&ada.get("/count")), "seen 1");
    assert_eq!(ok(&ada.get("/count")), "seen 2");
    assert_eq!(ok(&bob.get("/count")), "seen 1");
    server.stop();
}

const CONTROLLER: &str = "<?php\nnamespace App\\Controller;\n\
    use Symfony\\Component\\HttpFoundation\\Response;\n\
    final class HomeController { public function home(): Response { return new Response('home'); } }\n";

#[test]
fn a_new_symfony_project_answers() {
    for environment in ["dev", "prod"] {
        let project = Project::symfony();
        let server = serve(project.path().join("public/index.php"))
            .env("APP_ENV", environment)
            .start();
        for _ in 0..2 {
            let page = server.get("/");
            let welcome = page.text().contains("Welcome to Symfony");
            assert_eq!(
                (page.status, welcome),
                (404, environment == "dev"),
                "{}",
                page.text()
            );
        }
        server.stop();
    }
}

#[test]
fn a_symfony_project_with_a_controller() {
    let project = Project::symfony();
    project.write("src/Controller/HomeController.php", CONTROLLER);
    project.write(
        "config/routes.yaml",
        "home:\n    path: /home\n    controller: App\\Controller\\HomeController::home\n",
    );
    project.write("public/css/app.css", "body {}");
    let server = serve(project.path().join("public/index.php")).start();
    assert_eq!(ok(&server.get("/home")), "home");
    let css = server.get("/css/app.css");
    assert_eq!(
        (ok(&css).as_str(), css.header("content-type")),
        ("body {}", Some("text/css"))
    );
    server.stop();
}

/// What it recommends is what it has booted, and nothing is left in the project.
#[test]
fn check_boots_what_it_recommends() {
    let laravel = Project::laravel();
    let (content, text) = check(&laravel.path());
    assert!(
        content && text.contains("require __DIR__ . '/vendor/autoload.php';"),
        "{text}"
    );
    assert!(!laravel.path().join("app.php").exists());
    laravel.write("routes/web.php", "<?php\nnot_a_function();\n");
    let (content, text) = check(&laravel.path());
    assert!(
        !content && text.contains("undefined function not_a_function()") && !text.contains("ok: "),
        "{text}"
    );

    let symfony = Project::symfony();
    let (content, text) = check(&symfony.path());
    assert!(
        content && text.contains("/public/index.php boots on PHP"),
        "{text}"
    );
    symfony.write(
        "src/Controller/HomeController.php",
        &CONTROLLER.replace("final", "abstract static"),
    );
    let (content, text) = check(&symfony.path());
    assert!(
        !content && text.contains("HomeController.php") && !text.contains("ok: "),
        "{text}"
    );
}

#[test]
fn an_app_without_its_autoloader_is_told_the_line() {
    let project = Project::laravel();
    project.write(
        "app.php",
        "<?php\nreturn require __DIR__ . '/bootstrap/app.php';\n",
    );
    for app in [project.path().join("app.php"), project.path()] {
        let (content, text) = check(&app);
        assert!(
            !content && text.contains("hint: load Composer's autoloader first: require __DIR__ . '/vendor/autoload.php';"),
            "{text}"
        );
    }
}
