//! State that PHP and its extensions keep between two lines of code: no request sees what another one left there.

use testkit::Server;

use crate::support::{eventually, ok};

/// The probes of `tests/apps/state`, served with so many requests in flight per worker.
struct Probes {
    server: Server,
    names: Vec<String>,
}

impl Probes {
    fn start(concurrency: &str) -> Self {
        let handler = testkit::checkout().join("tests/apps/state/handler.php");
        let server = Server::script(&format!("return require '{}';", handler.display()))
            .args(["--workers", "1", "--concurrency", concurrency])
            .start();
        let names = ok(&server.get("/")).lines().map(str::to_owned).collect();
        Self { server, names }
    }

    fn target(name: &str, rest: &str) -> String {
        format!("/?probe={}{rest}", name.replace(' ', "%20"))
    }

    fn see(&self, name: &str) -> String {
        ok(&self.server.get(&Self::target(name, "&do=see")))
    }

    /// A request changes the state and ends; returns what it saw.
    fn set(&self, name: &str) -> String {
        ok(&self.server.get(&Self::target(name, "")))
    }

    /// A request changes the state and waits; what another one sees meanwhile, and what the first saw before and after.
    fn set_and_wait(&self, number: usize, name: &str) -> (String, String) {
        let go = self.server.directory().join(format!("go-{number}"));
        let waits = go.with_extension("waits");
        let mut first = self.server.connect();
        first.send(format!(
            "GET {} HTTP/1.1\r\nHost: x\r\n\r\n",
            Self::target(name, &format!("&go={}", go.display()))
        ));
        eventually("the request waits", || waits.exists());
        let other = self.see(name);
        std::fs::write(&go, "").expect("a file");
        (other, ok(&first.response()))
    }
}

/// `[a,a]`, as the handler answers with what it saw before and after its wait.
fn twice(seen: &str) -> Option<&str> {
    let inner = seen.strip_prefix('[')?.strip_suffix(']')?;
    let half = inner.get(..inner.len() / 2)?;
    (inner == format!("{half},{half}")).then_some(half)
}

#[test]
fn what_a_waiting_request_has_set_is_its_own() {
    let probes = Probes::start("64");
    let mut wrong = Vec::new();
    for (number, name) in probes.names.iter().enumerate() {
        let fresh = probes.see(name);
        let (other, own) = probes.set_and_wait(number, name);
        if other != fresh {
            wrong.push(format!("{name}: another request saw {other}, not {fresh}"));
        }
        match twice(&own) {
            None => wrong.push(format!("{name}: not the same after the wait: {own}")),
            Some(own) if own == fresh && name != "stat cache" => {
                wrong.push(format!("{name}: the probe changes nothing: {own}"));
            }
            Some(_) => {}
        }
        let after = probes.see(name);
        if after != fresh {
            wrong.push(format!("{name}: a later request saw {after}, not {fresh}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    probes.server.stop();
}

fn nothing_is_left(concurrency: &str) {
    let probes = Probes::start(concurrency);
    let mut wrong = Vec::new();
    for name in &probes.names {
        let fresh = probes.see(name);
        let first = probes.set(name);
        let second = probes.set(name);
        let after = probes.see(name);
        if after != fresh {
            wrong.push(format!("{name}: a later request saw {after}, not {fresh}"));
        }
        if first != second {
            wrong.push(format!(
                "{name}: one request saw {first}, the next {second}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    probes.server.stop();
}

#[test]
fn nothing_is_left_of_a_request() {
    nothing_is_left("64");
}

#[test]
fn nothing_is_left_of_a_request_one_at_a_time() {
    nothing_is_left("1");
}

/// Compiles `tests/apps/state/unknown.c` as the extension `name`.
fn extension(folder: &std::path::Path, name: &str, defines: &[&str]) -> String {
    let names = ["php-config8.4", "php-config8.2", "php-config"];
    let includes = names.iter().find_map(|name| {
        let asked = std::process::Command::new(name).arg("--includes").output();
        String::from_utf8(asked.ok()?.stdout).ok()
    });
    let includes = includes.expect("php-config");
    let library = folder.join(format!("{name}.so"));
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-DCOMPILE_DL_PROBE", "-o"])
        .arg(&library)
        .arg(format!("-DNAME={name}"))
        .args(defines)
        .args(includes.split_whitespace())
        .arg(testkit::checkout().join("tests/apps/state/unknown.c"))
        .status()
        .expect("cc");
    assert!(compiled.success());
    library.display().to_string()
}

/// A handler that sets the extension's text, waits while it is told to, and answers what the extension has.
const UNKNOWN: &str = r"return function (Hearth\Request $request) {
    if ($text = $request->query('set')) { NAME_set($text); }
    $request->query('wait') && usleep(300000);
    return json_encode(NAME_get());
};";

#[test]
fn what_an_unknown_extension_keeps_of_a_request_is_its_own() {
    let folder = testkit::temporary();
    let library = extension(folder.path(), "unknown", &[]);
    for concurrency in ["64", "1"] {
        let server = Server::script(&UNKNOWN.replace("NAME", "unknown"))
            .args(["--workers", "1", "--concurrency", concurrency])
            .args(["--ini", &format!("extension={library}")])
            .start();
        server.expect_log("extension state is unknown");
        let (answers, _) = crate::support::at_once(
            &server,
            &["/?set=first&wait=1", "/?set=second&wait=1", "/", "/?wait=1"],
        );
        let texts: Vec<String> = answers.iter().map(ok).collect();
        assert_eq!(
            texts,
            [
                r#"[1,"first"]"#,
                r#"[1,"second"]"#,
                r#"[0,""]"#,
                r#"[0,""]"#
            ],
            "concurrency {concurrency}"
        );
        server.stop();
    }
}

#[test]
fn what_an_unknown_extension_keeps_of_the_process_is_left_alone() {
    let folder = testkit::temporary();
    let library = extension(folder.path(), "shared", &["-DSHARED"]);
    let server = Server::script(&UNKNOWN.replace("NAME", "shared"))
        .args(["--workers", "1", "--ini", &format!("extension={library}")])
        .start();
    assert_eq!(ok(&server.get("/?set=first")), r#"[1,"first"]"#);
    server.expect_log("extension state is shared by requests");
    assert_eq!(ok(&server.get("/?set=second")), r#"[2,"second"]"#);
    assert_eq!(ok(&server.get("/")), r#"[2,"second"]"#);
    server.stop();
}
