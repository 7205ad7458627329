//! A new Symfony project with a page, its style, script and picture, and a counter in the session.

use super::Hour;
use crate::frameworks::skeletons::Project;

const CONTROLLER: &str = r#"<?php
namespace App\Controller;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;

final class HomeController
{
    public function home(Request $request): Response
    {
        $session = $request->getSession();
        $session->set('seen', $seen = $session->get('seen', 0) + 1);
        return new Response(<<<HTML
            <!doctype html><html><head><title>Shop</title>
            <link rel="stylesheet" href="{$request->getSchemeAndHttpHost()}/build/app.css">
            <script src="{$request->getBasePath()}/build/app.js" defer></script></head>
            <body><h1>Shop</h1><p id="seen">{$seen}</p><p id="secure">{$request->isSecure()}</p>
            <p id="client">{$request->getClientIp()}</p><img src="/build/one.svg"></body></html>
            HTML);
    }
}
"#;

fn project() -> Project {
    let project = Project::symfony();
    project.write("src/Controller/HomeController.php", CONTROLLER);
    project.write(
        "config/routes.yaml",
        "home:\n    path: /{page}\n    requirements: { page: '|home' }\n    controller: App\\Controller\\HomeController::home\n",
    );
    project.write("public/build/app.css", "h1 { color: rgb(1, 2, 3) }");
    project.write(
        "public/build/app.js",
        "document.body.dataset.script = 'ran'",
    );
    let picture = r#"<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>"#;
    project.write("public/build/one.svg", picture);
    project
}

#[test]
fn a_symfony_app_behind_nginx() {
    let project = project();
    let hour = Hour::begin("symfony", &project.path().join("public/index.php"));
    let browser = &hour.browser;
    for seen in ["1", "2"] {
        hour.open("/home");
        assert_eq!(browser.find("#seen").text(), seen);
    }
    let shown = "return getComputedStyle(document.querySelector('h1')).color";
    assert_eq!(browser.run(shown), "rgb(1, 2, 3)", "{}", browser.source());
    browser.wait_for("return document.body.dataset.script === 'ran'");
    browser.wait_for("return document.images[0].naturalWidth === 7");
    assert_eq!(browser.find("#secure").text(), "1");
    assert_eq!(browser.find("#client").text(), "127.0.0.1");
    // Not for scripts, and not without TLS.
    assert_eq!(browser.run("return document.cookie"), "");
    browser.forget_cookies();
    hour.open("/");
    assert_eq!(browser.find("#seen").text(), "1");
    // As under nginx with php-fpm, the script's own name in the address.
    hour.open("/index.php/home");
    assert_eq!(browser.find("#seen").text(), "2");
    hour.logged(&[
        ("GET", "/", 200),
        ("GET", "/home", 200),
        ("GET", "/build/app.css", 200),
        ("GET", "/build/app.js", 200),
        ("GET", "/build/one.svg", 200),
        ("GET", "/index.php/home", 200),
    ]);
    hour.measured("/home", 2);
    hour.measured("/build/*", 3);
    hour.end();
}
