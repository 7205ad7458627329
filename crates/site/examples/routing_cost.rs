//! What routing one request costs: `cargo run --release -p site --example routing_cost [DIR]`.
//!
//! `strace -c` on it counts the system calls per request.
use std::hint::black_box;
use std::time::Instant;

use site::{Route, Site};

const ROUNDS: u32 = 200_000;

fn main() -> std::io::Result<()> {
    let root = std::env::temp_dir().join(format!("routing_cost.{}", std::process::id()));
    std::fs::create_dir_all(root.join("wp-admin"))?;
    for name in [
        "index.php",
        "wp-admin/index.php",
        "wp-admin/edit.php",
        "style.css",
    ] {
        std::fs::write(root.join(name), "<?php")?;
    }
    std::os::unix::fs::symlink("style.css", root.join("link.css"))?;
    let site = Site::new(&root, "index.php")?;
    for target in [
        "/wp-admin/edit.php",
        "/index.php/a/b",
        "/",
        "/wp-admin/",
        "/2026/11/a-pretty-address",
        "/style.css",
        "/link.css",
        "/.git/config",
    ] {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            let route: Route = site.route(black_box(target));
            black_box(&route);
        }
        let each = start.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
        println!("{each:7.0} ns  {target}");
    }
    std::fs::remove_dir_all(root)
}
