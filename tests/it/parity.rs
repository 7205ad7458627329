//! Classic mode tells a script about its request what mod_php and php-fpm tell it: one probe, many shapes of request.
//!
//! Every fact that is not the same under all three must be in the list of [`explained`] differences; an entry that no
//! longer explains anything fails as well.

mod explained;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use testkit::Server;
use testkit::http::{Broken, Client, Response};
use testkit::service::{Apache, Fpm};

use self::explained::{EXPLAINED, Explained, FRONT};
use self::shapes::Shape;

const PROBE: &str = include_str!("parity/probe.php");

/// The same for all: what decides over requests, and limits small enough to be passed.
const INI: [(&str, &str); 12] = [
    ("variables_order", "GPCS"),
    ("request_order", "GP"),
    ("register_argc_argv", "0"),
    ("display_errors", "0"),
    ("log_errors", "0"),
    ("html_errors", "0"),
    ("post_max_size", "20K"),
    ("upload_max_filesize", "10K"),
    ("max_file_uploads", "3"),
    ("max_input_vars", "20"),
    ("output_buffering", "4096"),
    ("expose_php", "1"),
];

/// What one server made of one request.
type Facts = BTreeMap<String, String>;

fn site() -> tempfile::TempDir {
    let root = testkit::document_root();
    let write = |name: &str, text: &str| {
        std::fs::write(root.path().join(name), text).expect("a file can be written");
    };
    std::fs::create_dir(root.path().join("dir")).expect("a directory can be made");
    for name in [
        "probe.php",
        "index.php",
        "dir/index.php",
        "dir/inner.php",
        "with space.php",
    ] {
        write(name, PROBE);
    }
    root
}

fn request(address: &str, root: &Path, shape: &Shape) -> Facts {
    let mut client = Client::connect(address);
    client.send(&shape.bytes);
    let head = shape.bytes.starts_with(b"HEAD ");
    let answer = loop {
        match client.try_response(head) {
            Ok(response) if response.status == 100 => {}
            other => break other,
        }
    };
    match answer {
        Ok(response) => facts(&response, address, root),
        Err(Broken::Closed(bytes)) => Facts::from([(
            "status".to_owned(),
            format!("closed after {} bytes", bytes.len()),
        )]),
        Err(Broken::Cut(response)) => {
            Facts::from([("status".to_owned(), format!("{}, cut off", response.status))])
        }
        Err(Broken::Io(error)) => Facts::from([("status".to_owned(), error.kind().to_string())]),
    }
}

fn facts(response: &Response, address: &str, root: &Path) -> Facts {
    let mut facts = Facts::from([("status".to_owned(), response.status.to_string())]);
    if let Some(location) = response.header("location") {
        facts.insert("location".to_owned(), location.replace(address, "SERVER"));
    }
    // What servers say in their own names says nothing about PHP.
    if response.header("x-probe").is_none() {
        return facts;
    }
    for (name, value) in &response.headers {
        if ![
            "date",
            "server",
            "connection",
            "transfer-encoding",
            "content-length",
            "keep-alive",
        ]
        .contains(&name.as_str())
        {
            facts.insert(format!("response {name}"), value.clone());
        }
    }
    let port = address.rsplit(':').next().unwrap_or_default();
    let root = root.display().to_string();
    for line in response.text().lines() {
        let (name, value) = line.split_once(" = ").unwrap_or((line, ""));
        let value = value.replace(&root, "ROOT").replace(port, "PORT");
        facts.insert(name.to_owned(), value);
    }
    facts
}

/// What the two peers made of each shape: asked once for all tests.
fn peers() -> &'static Vec<(Facts, Facts)> {
    static PEERS: OnceLock<Vec<(Facts, Facts)>> = OnceLock::new();
    PEERS.get_or_init(|| {
        let root = site();
        let apache = Apache::start(
            root.path(),
            &INI,
            "FallbackResource /index.php\n<Directory />\nCGIPassAuth On\n</Directory>\n",
        );
        let fpm = Fpm::start(root.path(), &INI, "");
        shapes::all()
            .iter()
            .map(|shape| {
                (
                    request(&apache.address(), root.path(), shape),
                    request(&fpm.address(), root.path(), shape),
                )
            })
            .collect()
    })
}

/// Compares with both peers; every difference that nothing explains, and every explanation without a difference.
fn compare(dispatch: &str) {
    let root = site();
    let behind_front = dispatch == "balanced";
    let mut server = Server::app(root.path()).args(["--workers", "2", "--dispatch", dispatch]);
    for (name, value) in INI {
        server = server.arg("--ini").arg(format!("{name}={value}"));
    }
    let server = server.start();
    let mut used = BTreeSet::new();
    let mut problems = Vec::new();
    for (shape, (apache, fpm)) in shapes::all().iter().zip(peers()) {
        let hearth = request(&server.address(), root.path(), shape);
        for name in names([&hearth, fpm, apache]) {
            let all = [hearth.get(name), fpm.get(name), apache.get(name)];
            if all.iter().all(|one| *one == all[0]) {
                continue;
            }
            match explained::find(shape.name, name, all, behind_front) {
                Some(index) => {
                    used.insert(index);
                }
                None => problems.push(describe(shape.name, name, all)),
            }
        }
    }
    server.stop();
    let mine = if behind_front { EXPLAINED.len() } else { 0 };
    let idle: Vec<&Explained> = EXPLAINED
        .iter()
        .chain(if behind_front { FRONT } else { &[] })
        .enumerate()
        .filter(|(index, one)| *index >= mine && one.applies() && !used.contains(index))
        .map(|(_, explained)| explained)
        .collect();
    assert!(
        problems.is_empty() && idle.is_empty(),
        "{} differences without a reason:\n{}\nreasons without a difference: {idle:#?}",
        problems.len(),
        problems.join("\n")
    );
}

/// What is to be compared: every fact, or only the answers' own when they are different answers.
fn names(all: [&Facts; 3]) -> BTreeSet<&str> {
    let probed = all.iter().all(|facts| {
        facts.get("status") == all[0].get("status") && facts.contains_key("response x-probe")
    });
    all.into_iter()
        .flat_map(BTreeMap::keys)
        .map(String::as_str)
        .filter(|name| probed || ["status", "location"].contains(name))
        .collect()
}

fn describe(shape: &str, name: &str, [hearth, fpm, apache]: [Option<&String>; 3]) -> String {
    let show = |value: Option<&String>| {
        value.map_or("(not there)".to_owned(), |text| {
            text.chars().take(300).collect()
        })
    };
    format!(
        "{shape}: {name}\n    hearth {}\n    fpm    {}\n    apache {}",
        show(hearth),
        show(fpm),
        show(apache)
    )
}

#[test]
fn a_request_looks_the_same_as_under_the_usual_servers() {
    compare("direct");
}

#[test]
fn a_request_looks_the_same_behind_the_front() {
    compare("balanced");
}

#[test]
#[ignore = "a look at the peers alone"]
fn the_peers_alone() {
    for (shape, (apache, fpm)) in shapes::all().iter().zip(peers()) {
        for name in names([fpm, fpm, apache]) {
            if apache.get(name) != fpm.get(name) {
                eprintln!(
                    "{}",
                    describe(shape.name, name, [None, fpm.get(name), apache.get(name)])
                );
            }
        }
    }
}
