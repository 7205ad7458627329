//! HttpArena's profiles: each with its validations and its load, on servers that are really started.

use super::Bench;

const PROFILES: [&str; 8] = [
    "arena_baseline",
    "arena_pipelined",
    "arena_limited_conn",
    "arena_json",
    "arena_upload",
    "arena_static",
    "arena_async_db",
    "arena_crud",
];

#[test]
fn every_profile_keeps_its_rules_and_is_measured() {
    let done = Bench::short(&["arena_*", "--quick", "--against", "hearth,fpm"]).run();
    assert_eq!(done.code, Some(0), "{}{}", done.out, done.err);
    done.measured(&["hearth"]);
    // Files are nginx's own business: php-fpm spends nothing on them.
    for cell in done.of("fpm") {
        assert_eq!(cell["status"]["is"], "measured", "{}", cell["status"]);
        let counts = &cell["repeats"][0]["load"]["counts"];
        assert!(
            counts["good"].as_u64() > Some(0) && counts["failed"] == 0,
            "{counts}"
        );
    }
    let scenarios = done.result["scenarios"].as_array().expect("a list");
    let names: Vec<_> = scenarios.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, PROFILES);
    let load = |name: &str| {
        let at = PROFILES.iter().position(|one| *one == name);
        let cells = &scenarios[at.expect("a profile")]["cells"];
        cells[0]["repeats"][0]["load"].clone()
    };
    // Pipelining, connections that are closed early, bodies that are sent: the load is the profile's.
    assert_eq!(load("arena_pipelined")["setup"]["streams"], 16);
    let limited = load("arena_limited_conn");
    let closed = &limited["connections"]["requests_per_connection"];
    assert!(closed["10"].as_u64() > Some(0), "{closed}");
    let sent = &load("arena_upload")["bytes"]["sent"];
    assert!(sent.as_u64() > Some(500_000), "{sent}");
    let kinds = load("arena_crud")["setup"]["requests"].clone();
    let kinds = kinds.to_string();
    for method in ["GET", "PUT", "POST"] {
        assert!(kinds.contains(method), "{method}: {kinds}");
    }
}
