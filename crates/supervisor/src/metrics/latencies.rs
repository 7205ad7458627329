//! Histograms of the time that requests took.

use super::Page;
use crate::latency::Latency;

pub(super) fn latencies(page: &mut Page, latencies: &[Latency]) {
    let name = "hearth_request_seconds";
    let help = "From the end of a request's head to the end of its response.";
    page.head(name, "histogram", help);
    for latency in latencies {
        let labels = format!("route=\"{}\",class=\"{}\"", latency.route, latency.class);
        for (bound, below) in latency.cumulative() {
            let labels = format!("{labels},le=\"{bound}\"");
            page.line(&format!("{name}_bucket"), &labels, below);
        }
        page.line(&format!("{name}_sum"), &labels, latency.seconds);
        page.line(&format!("{name}_count"), &labels, latency.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_of_each_route_and_class() {
        let mut page = Page(String::new());
        latencies(&mut page, &[crate::latency::tests::sample()]);
        let labels = r#"route="/blog/{slug}",class="2xx""#;
        for line in [
            format!("bucket{{{labels},le=\"0.0025\"}} 7\n"),
            format!("bucket{{{labels},le=\"+Inf\"}} 8\n"),
            format!("sum{{{labels}}} 61.5\n"),
            format!("count{{{labels}}} 8\n"),
        ] {
            let line = format!("hearth_request_seconds_{line}");
            assert!(page.0.contains(&line), "{line} not in {}", page.0);
        }
    }
}
