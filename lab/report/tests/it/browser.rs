//! The page in a real browser: nothing is missing, nothing is cut off, on a screen and on a phone, light and dark.

use crate::sample;
use testkit::service::Browser;

/// Writes the page where Chromium reads it; `REPORT_PAGE=/tmp/report.html` keeps it for a look with one's own eyes.
fn page(folder: &std::path::Path) -> String {
    let html = report::html(&sample::run());
    if let Some(path) = std::env::var_os("REPORT_PAGE") {
        std::fs::write(path, &html).unwrap();
    }
    let path = folder.join("report.html");
    std::fs::write(&path, html).unwrap();
    format!("file://{}", path.display())
}

#[test]
fn charts_are_drawn_and_nothing_is_wider_than_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let url = page(folder.path());
    let browser = Browser::start();
    browser.open(&url);
    let number = |script: &str| browser.run(script).as_f64().unwrap_or(-1.0);
    assert!(number("return document.querySelectorAll('figure').length") > 20.0);
    // Each bar of the first chart is drawn with a width, in the colour of its server.
    assert!(
        number("return document.querySelector('.bars .fill').getBoundingClientRect().width")
            > 300.0
    );
    let colours = "return new Set([...document.querySelectorAll('#s-basic-class-load .bars .fill')].map(e => getComputedStyle(e).fill)).size";
    assert!(number(colours) >= 5.0);
    let lines = "return [...document.querySelectorAll('.plot polyline.line')].filter(e => e.getBoundingClientRect().width > 100).length";
    assert!(number(lines) > 15.0);
    assert_eq!(
        number("return document.scripts.length"),
        0.0,
        "it needs no script"
    );
    let outside = "return performance.getEntriesByType('resource').length";
    assert_eq!(number(outside), 0.0, "it needs no second file");
    // Both schemes have a rule of their own.
    let dark = "return [...document.styleSheets[0].cssRules].filter(r => r.conditionText && r.conditionText.includes('dark')).length";
    assert_eq!(number(dark), 1.0);
    browser.run("window.page = document.documentElement.outerHTML");
    for (width, least) in [(390, 300.0), (1280, 900.0)] {
        // A frame of a phone's width, because a window has a smallest width of its own.
        browser.run(&format!(
            "document.body.innerHTML = '<iframe style=\"width:{width}px;height:900px;border:0\"></iframe>'; document.querySelector('iframe').srcdoc = window.page"
        ));
        let wide = "const d = document.querySelector('iframe').contentDocument; return d && d.readyState === 'complete' && d.querySelector('footer') && d.documentElement.scrollWidth <= d.documentElement.clientWidth && d.documentElement.clientWidth";
        let shown = browser.wait_for(wide).as_f64().unwrap();
        assert!(
            shown >= least && shown <= f64::from(width),
            "{shown} of {width}"
        );
        // Nor does a table of figures or a chart have to be moved sideways.
        let cut_off = "const d = document.querySelector('iframe').contentDocument; \
             return [...d.querySelectorAll('table.figures, figure, .claim')].filter(e => e.scrollWidth > e.clientWidth + 1 || \
             e.getBoundingClientRect().right > d.documentElement.clientWidth).map(e => e.innerText.slice(0, 80))";
        assert_eq!(browser.run(cut_off), serde_json::json!([]), "at {width}");
    }
}
