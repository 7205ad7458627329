//! The first hour of three newcomers: WordPress, a new Laravel and a new Symfony project, served with the settings of the guide's page on
//! production, behind nginx as that configures it, in a browser, and then looked for in the access log and in the metrics.

mod laravel;
mod symfony;
mod wordpress;

use std::path::Path;

use serde_json::Value;
use testkit::Server;
use testkit::service::{Browser, Front, ReverseProxy};

use crate::front::metric;
use crate::support::{eventually, example};

/// A site behind nginx, and a browser before it.
struct Hour {
    server: Server,
    _proxy: ReverseProxy,
    browser: Browser,
    /// Where the browser finds it, without a slash at the end.
    site: String,
    /// Settings and logs.
    place: tempfile::TempDir,
}

const PAGE: &str = "docs/guide/production.md";

impl Hour {
    /// With the example `settings` of the page, but for its places.
    fn begin(settings: &str, app: &Path) -> Hour {
        let place = testkit::temporary();
        let lines = example(PAGE, settings);
        let lines = lines.lines().map(|line| match line.split_once(" = ") {
            Some(("app", _)) => format!("app = {:?}", app.display().to_string()),
            Some((key @ ("listen" | "admin"), _)) => format!("{key} = \"127.0.0.1:0\""),
            _ => line.replace("/var/log/hearth", &place.path().display().to_string()),
        });
        let config = place.path().join("site.toml");
        std::fs::write(&config, lines.collect::<Vec<_>>().join("\n")).expect("a file");
        let config = config.display().to_string();
        let server = Server::app(app).args(["--config", &config]).start();
        let nginx = example(PAGE, "nginx");
        assert_eq!(nginx, example("docs/guide/proxies.md", "nginx"));
        let proxy = ReverseProxy::start(Front::Nginx, &nginx, &server.address());
        Hour {
            site: format!("https://127.0.0.1:{}", proxy.port),
            _proxy: proxy,
            browser: Browser::start(),
            server,
            place,
        }
    }

    fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.site));
    }

    /// The path of the page.
    fn path(&self) -> String {
        let url = self.browser.url();
        let path = url.strip_prefix(&self.site);
        path.unwrap_or_else(|| panic!("left {} for {url}", self.site))
            .to_owned()
    }

    /// The log has a line for each of these: method, path without its query, and status; and none of a request that failed.
    #[track_caller]
    fn logged(&self, expected: &[(&str, &str, u64)]) {
        let mut missing: Vec<_> = expected.to_vec();
        eventually("lines of the access log", || {
            let lines = self.lines();
            missing.retain(|known| !lines.iter().any(|line| &facts(line) == known));
            missing.is_empty()
        });
        for line in self.lines() {
            let whose = (line["client"].as_str(), line["host"].as_str());
            let host = self.site.strip_prefix("https://");
            assert_eq!(whose, (Some("127.0.0.1"), host), "{line}");
            assert!(facts(&line).2 < 500, "{line}");
        }
    }

    fn lines(&self) -> Vec<Value> {
        let logs = std::fs::read_dir(self.place.path()).expect("a folder");
        let mut logs = logs.map(|entry| entry.expect("an entry").path());
        let is_access_log = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".log") && !name.ends_with(".slow.log")
        };
        let log = logs.find(is_access_log).expect("an access log");
        let text = std::fs::read_to_string(log).expect("text");
        let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
        let lines = whole.lines().map(serde_json::from_str);
        lines.map(|line| line.expect("JSON")).collect()
    }

    /// Prometheus sees each response of the log; and what the pattern of `route` counts.
    #[track_caller]
    fn measured(&self, route: &str, least: u64) {
        let of = |class: &str| {
            let name = format!("hearth_responses_total{{class=\"{class}\"}}");
            metric(&self.server, &name)
        };
        // A page that is left ends its requests before their responses, or amid them.
        let is_whole = |line: &&Value| line["complete"] != false && facts(line).2 != 499;
        let logged = self.lines().iter().filter(is_whole).count();
        eventually("the responses of the log are counted", || {
            of("2xx") + of("3xx") + of("4xx") >= logged as u64
        });
        assert_eq!(of("5xx"), 0);
        let name = format!("hearth_request_seconds_count{{route=\"{route}\",class=\"2xx\"}}");
        let counted = metric(&self.server, &name);
        assert!(counted >= least, "{counted} times {route}");
    }

    fn end(self) {
        drop(self.browser);
        self.server.stop();
    }
}

fn facts(line: &Value) -> (&str, &str, u64) {
    let text = |key: &str| line[key].as_str().unwrap_or_default();
    let path = text("target").split('?').next().unwrap_or_default();
    (
        text("method"),
        path,
        line["status"].as_u64().unwrap_or_default(),
    )
}
