//! Symfony: an entry script that returns the kernel, and Symfony Runtime's own `public/index.php`.

use std::process::Command;

use super::skeletons::Project;
use super::{copy, everyday, fields, memory_is_flat, no_token, one_at_a_time, serve, sessions};
use crate::support::ok;
use crate::support::user_agent::UserAgent;

/// The entry script that returns the kernel, and the unchanged `public/index.php` of Symfony Runtime.
pub(super) const ENTRIES: [&str; 2] = ["app.php", "public/index.php"];

/// The app as Composer leaves it: Symfony asks Composer's own class for what is installed.
pub(crate) fn project() -> tempfile::TempDir {
    let root = copy("symfony");
    let composer = Command::new("composer")
        .args(["install", "--no-interaction", "--working-dir"])
        .arg(root.path())
        .env("COMPOSER_HOME", root.path().join("composer"))
        .env("COMPOSER_ALLOW_SUPERUSER", "1")
        .output()
        .expect("composer starts");
    assert!(
        composer.status.success(),
        "{}",
        String::from_utf8_lossy(&composer.stderr)
    );
    root
}

#[test]
fn symfony_answers() {
    let project = project();
    for entry in ENTRIES {
        let server = serve(project.path().join(entry)).start();
        one_at_a_time(&server, "a Symfony kernel");
        everyday(&server, no_token);
        sessions(&server, no_token);
        fields(&server);
        let mut browser = UserAgent::new(server.address());
        browser.get("/redirect");
        assert_eq!(ok(&browser.get("/flash")), "seen once");
        assert_eq!(ok(&browser.get("/flash")), "none");
        let part = browser.request("GET /download HTTP/1.1\r\nRange: bytes=0-4\r\n", b"");
        assert_eq!((part.status, part.text().as_str()), (206, "<?php"));
        server.stop();
    }
}

#[test]
fn symfony_forgets_what_a_request_changed() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    let clean = ok(&server.get("/state"));
    for expected in [
        r#""locale":"en""#,
        r#""attribute":null"#,
        r#""tray":[]"#,
        r#""env":false"#,
        r#""cwd":false"#,
        r#""encoding":"UTF-8""#,
        r#""predictable":false"#,
        r#""stack":true"#,
    ] {
        assert!(clean.contains(expected), "{expected} in {clean}");
    }
    for _ in 0..3 {
        assert_eq!(ok(&server.get("/mutate")), r#"["kept"]"#);
        assert_eq!(ok(&server.get("/state")), clean);
        assert_eq!(ok(&server.get("/exit")), "and out");
        assert_eq!(ok(&server.get("/state")), clean);
    }
    server.stop();
}

/// A bridge has no options of its own: those of PHP hold in its first request, and so in all.
#[test]
fn the_bridge_to_a_session_of_php_leaves_its_settings() {
    let project = project();
    let kernel = project.path().join("src/Kernel.php");
    let code = std::fs::read_to_string(&kernel).expect("the kernel");
    let bridged = code.replace(
        "session.storage.factory.native",
        "session.storage.factory.php_bridge",
    );
    assert_ne!(code, bridged);
    std::fs::write(&kernel, bridged).expect("a file can be written");
    let server = serve(project.path().join(ENTRIES[0])).start();
    for _ in 0..3 {
        assert_eq!(
            ok(&server.get("/owner")),
            r#"[null,null,"PHPSESSID","0","sessions"]"#
        );
    }
    server.stop();
}

/// F9: begun beside Doctrine, which takes itself to be outside.
#[test]
fn a_transaction_on_the_pdo_of_doctrine_is_rolled_back() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    let mut kept = String::new();
    for how in ["pdo", "sql"] {
        assert_eq!(ok(&server.get(&format!("/begin/{how}"))), "begun");
        kept.push_str(" kept");
        assert_eq!(ok(&server.get("/insert")), kept.trim_start());
    }
    server
        .expect_log("a transaction was left open on the connection \"default\" and is rolled back");
    server.stop();
}

/// F12: as under php-fpm.
#[test]
fn what_a_symfony_app_echoes_comes_before_its_response() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    let page = server.get("/echo");
    assert_eq!(ok(&page), "<p>echoed</p><p>returned</p>");
    assert_eq!(page.header("content-length"), Some("28"));
    server.stop();
}

/// F22. A method of a service, which may have added it when it was made, stays, and once.
#[test]
fn listeners_and_settings_of_the_class_request_are_of_one_request() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    assert_eq!(ok(&server.get("/changes")), "[[],[],null]");
    for round in 0..3 {
        let changed = server.get("/change");
        assert_eq!(ok(&changed), "changed");
        let leaks = changed.header_all("x-leak").len();
        assert_eq!(leaks, 1, "round {round}");
        let next = server.get("/changes");
        assert_eq!(ok(&next), "[[],[],null]");
        let of = |name| next.header_all(name).len();
        assert_eq!((of("x-leak"), of("x-tray")), (0, 1), "round {round}");
    }
    server.stop();
}

/// Symfony 5.4 has one session object for all requests. As under php-fpm, a session is written at such an end, too.
#[test]
fn a_session_and_its_settings_are_of_one_request_however_it_ends() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    let seen = |owner: &str| format!(r#"[{owner},null,"APPSESSION","1","sessions"]"#);
    let visitor = || UserAgent::new(server.address());
    let (mut ann, mut bob) = (visitor(), visitor());
    for (agent, name) in [(&mut ann, "ann"), (&mut bob, "bob")] {
        let first = agent.get(&format!("/owner?name={name}"));
        assert_eq!(ok(&first), seen("null"));
    }
    for end in ["exit", "error", "leave"] {
        let path = format!("/owner?name=ann+{end}&end={end}");
        if end == "leave" {
            ann.leave(&path, || drop(server.expect_log("waits for its client")));
        } else {
            ann.get(&path);
        }
        assert_eq!(ok(&bob.get("/owner")), seen(r#""bob""#), "{end}");
        assert_eq!(ok(&visitor().get("/owner")), seen("null"), "{end}");
        let own = format!(r#""ann {end}""#);
        assert_eq!(ok(&ann.get("/owner")), seen(&own), "{end}");
    }
    server.stop();
}

/// F11: DebugBundle keeps what is dumped for a profile, which `dd()` does not come to.
#[test]
fn dump_and_die_shows_what_it_dumps() {
    let project = Project::symfony();
    let bundle = testkit::unpacked("php-symfony-debug-bundle")
        .join("usr/share/php/Symfony/Bundle/DebugBundle/");
    project.write(
        "config/bundles.php",
        &format!(
            "<?php\nspl_autoload_register(function ($class) {{\n\
             $file = '{}' . strtr(substr($class, 27), '\\\\', '/') . '.php';\n\
             str_starts_with($class, 'Symfony\\Bundle\\DebugBundle\\\\') && is_file($file) && require $file;\n}});\n\
             return [Symfony\\Bundle\\FrameworkBundle\\FrameworkBundle::class => ['all' => true],\n\
             Symfony\\Bundle\\DebugBundle\\DebugBundle::class => ['all' => true]];\n",
            bundle.display()
        ),
    );
    project.write(
        "src/Controller/HomeController.php",
        "<?php\nnamespace App\\Controller;\nuse Symfony\\Component\\HttpFoundation\\Response;\n\
         final class HomeController {\n\
         public function die(): Response { dd('the cause'); }\n\
         public function dump(): Response { dump('seen'); return new Response('home'); }\n\
         public function home(): Response { return new Response('home'); }\n}\n",
    );
    let route = |name: &str| {
        format!(
            "{name}:\n    path: /{name}\n    controller: App\\Controller\\HomeController::{name}\n"
        )
    };
    let routes: String = ["die", "dump", "home"].map(route).concat();
    project.write("config/routes.yaml", &routes);
    let server = serve(project.path().join("public/index.php"))
        .env("APP_ENV", "dev")
        .env("APP_DEBUG", "1")
        .start();
    for _ in 0..2 {
        let page = server.get("/die").text();
        assert!(
            page.contains("the cause") && page.contains("HomeController"),
            "{page}"
        );
        let page = server.get("/dump").text();
        assert!(page.contains("seen") && page.ends_with("home"), "{page}");
        assert_eq!(ok(&server.get("/home")), "home");
    }
    server.stop();
}

/// The container that a server before has compiled asks for them in each request; the environment has precedence.
#[test]
fn symfony_finds_what_dotenv_read() {
    let project = project();
    for entry in ENTRIES {
        for jit in ["1", "0"] {
            let server = serve(project.path().join(entry))
                .arg(format!("--ini=auto_globals_jit={jit}"))
                .start();
            for _ in 0..8 {
                assert_eq!(
                    ok(&server.get("/greeting")),
                    r#"["good morning","prod","good morning","good morning"]"#,
                    "{entry}, auto_globals_jit {jit}"
                );
            }
            server.stop();
        }
    }
}

#[test]
fn symfony_keeps_its_memory() {
    let project = project();
    let server = serve(project.path().join(ENTRIES[0])).start();
    memory_is_flat(
        &server,
        &["/", "/user/1", "/me", "/nowhere", "/stream", "/state"],
    );
    server.stop();
}

/// U5: `.env` says dev, the environment of the server says prod, and the environment wins.
#[test]
fn symfony_served_classically_has_the_environment() {
    let project = project();
    let public = project.path().join("public");
    std::fs::write(
        project.path().join("public/hearth.toml"),
        "[env]\nAPP_GREETING = 'from the file'\n",
    )
    .expect("a file can be written");
    let server = serve(public).start();
    let greeting = r#"["from the file","prod","from the file","from the file"]"#;
    assert_eq!(ok(&server.get("/greeting")), greeting);
    server.stop();
}
