//! Adminer: statements run.

use std::path::Path;

use regex::Regex;
use testkit::service::{Fpm, MariaDb};

use super::{database, hearth};
use crate::support::ok;
use crate::support::user_agent::{UserAgent, field};

fn adminer(address: &str, database: &MariaDb, name: &str) {
    let mut agent = UserAgent::new(address);
    let form = ok(&agent.get("/adminer.php"));
    assert!(
        form.contains("name=\"auth[driver]\"") || form.contains("name='auth[driver]'"),
        "{form}"
    );
    let server = format!("127.0.0.1:{}", database.port).replace(':', "%3A");
    let inside = agent.post(
        "/adminer.php",
        &format!("auth%5Bdriver%5D=server&auth%5Bserver%5D={server}&auth%5Busername%5D={name}&auth%5Bpassword%5D={name}&auth%5Bdb%5D={name}"),
    );
    let there = format!("/{}", inside.header("location").expect("a redirect"));
    assert!(
        ok(&agent.follow(&inside)).contains("Create table"),
        "{there}"
    );
    let page = ok(&agent.get(&format!("{there}&sql=")));
    let token = field(&page, "token");
    let answer = ok(&agent.post(
        &format!("{there}&sql="),
        &format!("query=CREATE+TABLE+nests+%28eggs+INT%29%3B+INSERT+INTO+nests+VALUES+%286%29%2C%287%29%3B+SELECT+eggs+*+eggs+AS+squared+FROM+nests&token={token}"),
    ));
    let cells = Regex::new("<t[hd][^>]*>(squared|[0-9]+)").expect("a pattern");
    let cells: Vec<&str> = cells
        .captures_iter(&answer)
        .map(|cell| cell.extract::<1>().1[0])
        .collect();
    assert!(cells.starts_with(&["squared", "36", "49"]), "{answer}");
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
fn adminer_under_php_fpm() {
    let database = database("adminer_fpm");
    adminer(
        &Fpm::start(Path::new("/usr/share/adminer"), &[], "").address(),
        database,
        "adminer_fpm",
    );
}
